import { newId } from "../message/index.js";

/** Time, timers and ids: handed in, so that a test can hold them still. */
export type Clock = {
  now(): number;
  /**
   * Like `now` when the process started, and from then on only forwards, at the pace of time: for leases and for what
   * is to be done later. Somebody setting the machine's clock must not end a lease or wake work early.
   */
  steady(): number;
  newId(): string;
  /** Resolves after `ms`, or at once when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back every `ms`; returns how to stop. Does not keep a process alive. */
  every(ms: number, tick: () => void): () => void;
};

const startedAt = Date.now() - performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => Math.round(startedAt + performance.now()),
  newId: () => newId(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal?.addEventListener("abort", wake);
    }),
  every: (ms, tick) => {
    const timer = setInterval(tick, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** ISO-8601 UTC, as the database and the API write it. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
