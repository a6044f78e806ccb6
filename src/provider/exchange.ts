import type { EncodedRequest, Fetch } from "./codec.js";
import type { Failure } from "./failure.js";

/** How long a server may take. */
export type Timeouts = {
  /**
   * From sending to the first byte of the answer, connecting included: fetch does not tell when a connection stands.
   * Node's own gives up by itself on one that does not after ten seconds, and on an answer after five minutes.
   */
  firstByteMs: number;
  /** Between two bytes. */
  idleMs: number;
};

/** Runs something later; gives back how to call it off. */
export type Timer = (ms: number, run: () => void) => () => void;

export type ExchangeOptions = {
  fetch: Fetch;
  signal: AbortSignal | undefined;
  timeouts: Timeouts;
  timer: Timer;
};

/** One HTTP exchange under way. Never throws: what went wrong is in `problem` once the bytes have ended. */
export type Exchange = {
  status: number;
  headers: Headers;
  bytes: AsyncGenerator<Uint8Array, void>;
  problem(): Failure | "aborted" | null;
};

/** More than any answer: a server that never stops talking must not fill our memory. */
const MAX_BYTES = 64 * 1024 * 1024;

export const systemTimer: Timer = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** Sends exactly the encoded bytes and gives back the bytes that come. */
export async function exchange(encoded: EncodedRequest, options: ExchangeOptions): Promise<Exchange> {
  const watch = startWatch(options);
  watch.expectWithin(options.timeouts.firstByteMs, "the server sent nothing");
  const answer = watch.problem() ? null : await request(encoded, options.fetch, watch);
  if (!answer) {
    watch.close();
    return { status: 0, headers: new Headers(), bytes: noBytes(), problem: watch.problem };
  }
  const bytes = readBytes(answer, watch, options.timeouts);
  return { status: answer.status, headers: answer.headers, bytes, problem: watch.problem };
}

async function* noBytes(): AsyncGenerator<Uint8Array, void> {}

type Watch = {
  signal: AbortSignal;
  /** Settles when someone stopped us. */
  stopped: Promise<null>;
  problem(): Failure | "aborted" | null;
  fail(failure: Failure): void;
  expectWithin(ms: number, otherwise: string): void;
  onStop(run: () => void): void;
  /** Ends the connection and every timer. */
  close(): void;
};

/** The caller's signal and our time limits, as one thing that can stop an exchange. */
function startWatch({ signal, timer }: ExchangeOptions): Watch {
  const controller = new AbortController();
  let problem: Failure | "aborted" | null = null;
  let callOff = (): void => {};
  let onStop = (): void => {};
  let settle = (_: null): void => {};
  const stopped = new Promise<null>((resolve) => {
    settle = resolve;
  });
  const stop = (why: Failure | "aborted"): void => {
    problem ??= why;
    callOff();
    settle(null);
    onStop();
    controller.abort();
  };
  const abort = (): void => stop("aborted");
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    stopped,
    problem: () => problem,
    fail: (failure) => {
      problem ??= failure;
    },
    expectWithin(ms, otherwise) {
      callOff();
      if (problem) return;
      callOff = timer(ms, () => stop({ kind: "timeout", text: `${otherwise} for ${ms / 1000} s` }));
    },
    onStop(run) {
      onStop = run;
    },
    close() {
      callOff();
      signal?.removeEventListener("abort", abort);
      controller.abort();
    },
  };
}

/** A redirect is not followed: it would take the conversation to a place nobody configured. */
async function request(encoded: EncodedRequest, fetch: Fetch, watch: Watch): Promise<Response | null> {
  const { url, headers, body } = encoded;
  try {
    const sent = fetch(url, { method: "POST", headers, body, redirect: "manual", signal: watch.signal });
    sent.catch(() => {});
    return await Promise.race([sent, watch.stopped]);
  } catch (error) {
    watch.fail(connectionFailure(error));
    return null;
  }
}

async function* readBytes(
  answer: Response,
  watch: Watch,
  timeouts: Timeouts,
): AsyncGenerator<Uint8Array, void> {
  const reader = answer.body?.getReader();
  const hangUp = (): void => void reader?.cancel().catch(() => {});
  watch.onStop(hangUp);
  let size = 0;
  try {
    while (reader && !watch.problem()) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.length;
      if (size > MAX_BYTES)
        return watch.fail({ kind: "unknown", text: `the answer is larger than ${MAX_BYTES} bytes` });
      watch.expectWithin(timeouts.idleMs, "the server went silent");
      yield value;
    }
  } catch (error) {
    watch.fail({ kind: "cut", text: `the connection broke off: ${reasonOf(error)}` });
  } finally {
    hangUp();
    watch.close();
  }
}

const TIMEOUT_CODES = /TIMEOUT|ETIMEDOUT/;

function connectionFailure(error: unknown): Failure {
  const reason = reasonOf(error);
  const kind = TIMEOUT_CODES.test(codeOf(error)) ? "timeout" : "network";
  return { kind, text: `could not reach the server: ${reason}` };
}

/** fetch says only "fetch failed"; what happened is in its cause. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}

function codeOf(error: unknown): string {
  const cause = causeOf(error);
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
}

function reasonOf(error: unknown): string {
  const cause = causeOf(error);
  const words = cause instanceof Error ? cause.message : String(cause);
  return words || codeOf(error) || "unknown reason";
}
