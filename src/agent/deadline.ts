import type { AgentHost } from "./host.js";

/** Timers take no more; a longer wait is three weeks and no wait at all in the eyes of `setTimeout`. */
const LONGEST_MS = 2 ** 31 - 1;

/** A signal that fires with another one or when time is over, whichever comes first. */
export type Deadline = {
  signal: AbortSignal;
  /** Time was over before the other signal fired. */
  isOver(): boolean;
  /** Milliseconds that are left. */
  left(): number;
  /** Nothing is waited for any more. The signal does not fire by this. */
  end(): void;
};

type Timekeeper = Pick<AgentHost, "now" | "sleep">;

/** Starts counting now. `ms` may be infinite. */
export function startDeadline(time: Timekeeper, ms: number, outer: AbortSignal): Deadline {
  const startedAt = time.now();
  const fired = new AbortController();
  const counting = new AbortController();
  let over = false;
  const stop = () => fired.abort(outer.reason);
  if (outer.aborted) stop();
  else outer.addEventListener("abort", stop, { once: true });
  if (Number.isFinite(ms) && !outer.aborted) {
    const ring = () => {
      if (counting.signal.aborted || fired.signal.aborted) return;
      over = true;
      fired.abort(new DOMException("time is over", "TimeoutError"));
    };
    // A run that has no time left must not begin anything.
    if (ms <= 0) ring();
    // A sleep that is broken off may end either way.
    else time.sleep(Math.min(Math.max(0, ms), LONGEST_MS), counting.signal).then(ring, () => {});
  }
  return {
    signal: fired.signal,
    isOver: () => over,
    left: () => Math.max(0, ms - (time.now() - startedAt)),
    end: () => {
      counting.abort();
      outer.removeEventListener("abort", stop);
    },
  };
}
