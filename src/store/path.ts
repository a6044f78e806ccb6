import type { PathEntry } from "./store.js";

/**
 * A walk from its oldest entry to its newest, as a reader wants it: the newest compaction first, because it speaks of
 * what came before, then what it kept. Earlier compactions are in its summary and are left out.
 */
export function windowOf(walked: readonly PathEntry[]): PathEntry[] {
  const compaction = walked.findLast((entry) => entry.kind === "compaction");
  if (!compaction) return [...walked];
  return [compaction, ...walked.filter((entry) => entry.kind !== "compaction")];
}
