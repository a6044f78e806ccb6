import type { PathEntry } from "./store.js";

/**
 * A walk from its oldest entry to its newest, as a reader wants it: the newest compaction first, because it speaks of
 * what came before, then what it kept. Earlier compactions are in its summary and are left out.
 */
export function windowOf(walked: readonly PathEntry[]): PathEntry[] {
  const compaction = walked.findLast(isReadable);
  if (!compaction) return [...walked];
  return [compaction, ...walked.filter((entry) => !isReadable(entry))];
}

/** A compaction with its summary. One that is erased stands for nothing: what it spoke of is read itself again. */
export function isReadable({ kind, data }: Pick<PathEntry, "kind" | "data">): boolean {
  return kind === "compaction" && data.erased === undefined;
}
