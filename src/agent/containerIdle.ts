import type { AgentHost } from "./host.js";

/** Watches for silence. */
export type IdleWatch = {
  /** Something came: while we are at work on it ourselves, silence does not count. */
  busy(isBusy: boolean): void;
  end(): void;
};

/** Calls back, once, when nothing was heard for so long. */
export function watchIdle(time: Pick<AgentHost, "now" | "sleep">, ms: number, silent: () => void): IdleWatch {
  const over = new AbortController();
  let since = time.now();
  let isBusy = false;
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const left = isBusy ? ms : ms - (time.now() - since);
      if (left <= 0) return silent();
      await time.sleep(left, over.signal);
    }
  };
  // A sleep that is broken off may end either way.
  watch().catch(() => {});
  return {
    busy: (now) => {
      isBusy = now;
      since = time.now();
    },
    end: () => over.abort(),
  };
}
