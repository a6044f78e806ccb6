import type { Fetch } from "../provider/codec.js";

/** A step of a life: the first, second, … of its kind. How many of other kinds come between depends on the moment. */
export type Point = { kind: string; nth: number };

/** The step at which a process dies: before it is done, or after it is done and before anybody hears of it. */
export type Fatal = Point & { side: "before" | "after" };

/**
 * One life of a process. Every step that leaves the process (a read, a write, a request, a tool) passes here and is
 * counted; at the fatal one the process dies. Where dying is only played, nothing is heard of and done afterwards.
 */
export class Life {
  /** Its steps, in order. */
  readonly points: Point[] = [];
  /** Resolves when it is over. */
  readonly ended: Promise<void>;
  private readonly counts = new Map<string, number>();
  private over = false;
  private end: () => void = () => {};

  constructor(
    private readonly fatal: Fatal | null,
    private readonly die: () => void = () => {},
  ) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  get isOver(): boolean {
    return this.over;
  }

  async step<T>(kind: string, run: () => Promise<T>): Promise<T> {
    if (this.over) return silence();
    const nth = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, nth);
    this.points.push({ kind, nth });
    const dies = this.fatal?.kind === kind && this.fatal.nth === nth ? this.fatal.side : null;
    if (dies === "before") return this.endHere();
    try {
      const result = await run();
      if (dies === "after" && !this.over) return this.endHere();
      return this.over ? silence() : result;
    } catch (error) {
      if (this.over) return silence();
      throw error;
    }
  }

  private endHere(): Promise<never> {
    this.die();
    this.over = true;
    this.end();
    return silence();
  }
}

/** What a process that is gone answers. */
export function silence(): Promise<never> {
  return new Promise(() => {});
}

type Told = (method: string, args: readonly unknown[]) => void;

/** A store as one life sees it: each of its methods is a step. `told` hears of those that were done. */
export function mortalStore<S extends object>(store: S, life: Life, told: Told = () => {}): S {
  const mortal = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(inner, name) {
        const member: unknown = Reflect.get(inner, name);
        if (name === "read" && typeof member === "object" && member !== null) return mortal(member);
        if (typeof member !== "function") return member;
        if (name === "subscribe") {
          return (listener: (news: unknown) => void) =>
            member.call(inner, (news: unknown) => life.isOver || listener(news));
        }
        return (...args: unknown[]) =>
          life.step(kindOf(String(name), args), async () => {
            const result: unknown = await member.apply(inner, args);
            told(String(name), args);
            return result;
          });
      },
    });
  return mortal(store);
}

/** Writes are told apart by what they write. */
function kindOf(method: string, [first]: readonly unknown[]): string {
  const facts =
    typeof first === "object" && first !== null && "facts" in first && Array.isArray(first.facts)
      ? first.facts
      : [];
  const types = new Set(facts.map((fact: { type: string }) => fact.type));
  return types.size === 0 ? method : `${method} ${[...types].join("+")}`;
}

/** A network as one life sees it: the request is a step, and so is every piece of its answer. */
export function mortalFetch(fetch: Fetch, life: Life): Fetch {
  return async (url, init) => {
    const response = await life.step("request", () => fetch(url, init));
    const reader = response.body?.getReader();
    if (!reader) return response;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const next = await life.step("piece", () => reader.read());
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

type Timekeeper = {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  every(ms: number, tick: () => void): () => void;
};

/** A clock as one life sees it: when that is over, no alarm rings any more. */
export function mortalClock<C extends Timekeeper>(clock: C, life: Life): C {
  return {
    ...clock,
    sleep: (ms: number, signal?: AbortSignal) =>
      clock.sleep(ms, signal).then(() => (life.isOver ? silence() : undefined)),
    every: (ms: number, tick: () => void) => {
      const stop = clock.every(ms, () => (life.isOver ? stop() : tick()));
      return stop;
    },
  };
}

/** Some points of a life: of those where a kind of step comes first or last, every so manieth. */
export function sampled(points: readonly Point[], every: number): Point[] {
  const counts = new Map(points.map(({ kind, nth }) => [kind, nth]));
  const telling = points.filter(({ kind, nth }) => nth === 1 || nth === counts.get(kind));
  return telling.filter((_, index) => index % every === 0);
}
