import type { StreamEvent } from "./answer.js";
import { ApiProblem } from "./problem.js";
import type { Requester } from "./request.js";
import { FrameReader } from "./sse.js";

export type EventsOptions = {
  /** Only this chat. */
  chat?: string;
  /** Go on after this cursor; without one the stream starts now. */
  after?: string;
  signal?: AbortSignal;
  /** Told when the stream is open (again), and when it was lost and is being opened anew. */
  onState?: (state: "open" | "lost") => void;
  /** Milliseconds of silence after which the connection counts as lost. */
  silenceMs?: number;
  /** Milliseconds to wait before the first new attempt; doubles up to half a minute. */
  backoffMs?: number;
};

/** An event with the cursor that goes on after it. */
export type CursoredEvent = StreamEvent & { cursor: string };

const LONGEST_WAIT = 30_000;

/**
 * Every event from now on, across lost connections, each stored one once.
 * Ends when `signal` is aborted; throws `ApiProblem` when the server says that asking again is no use.
 */
export async function* readEvents(
  request: Requester,
  options: EventsOptions = {},
): AsyncGenerator<CursoredEvent, void, void> {
  const { signal, onState, silenceMs = 60_000, backoffMs = 500 } = options;
  let cursor = options.after ?? "";
  let wait = backoffMs;
  while (!signal?.aborted) {
    let asked: number | null = null;
    const silence = new Silence(silenceMs, signal);
    try {
      const response = await connect(request, options.chat, cursor, silence.signal);
      onState?.("open");
      const reader = new FrameReader(cursor);
      for await (const bytes of chunks(response)) {
        silence.broken();
        for (const frame of reader.read(bytes)) {
          cursor = frame.id;
          wait = backoffMs;
          yield { ...(JSON.parse(frame.data) as StreamEvent), cursor };
        }
        cursor = reader.lastId;
        asked = reader.retry;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof ApiProblem && !worthRetrying(error)) throw error;
      if (error instanceof ApiProblem && error.retryAfter !== null) asked = error.retryAfter * 1000;
    } finally {
      // Also when the reader walks away in the middle: the connection is then of no use to anybody.
      silence.end();
    }
    if (signal?.aborted) return;
    onState?.("lost");
    await pause(Math.max(asked ?? 0, wait) * (1 + Math.random() / 4), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

function connect(request: Requester, chat: string | undefined, cursor: string, signal: AbortSignal) {
  return request.open("GET", "/v1/events", {
    query: { chat },
    headers: { accept: "text/event-stream", ...(cursor ? { "last-event-id": cursor } : {}) },
    signal,
  });
}

async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** A connection that a router forgot looks open forever; only silence betrays it. */
class Silence {
  readonly #abort = new AbortController();
  readonly #ms: number;
  readonly #outer: AbortSignal | undefined;
  readonly #end = () => this.end();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#ms = ms;
    this.#outer = outer;
    outer?.addEventListener("abort", this.#end);
    this.broken();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#end, this.#ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#end);
    this.#abort.abort();
  }
}

function worthRetrying(problem: ApiProblem): boolean {
  return problem.status >= 500 || problem.status === 429 || problem.status === 408;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}
