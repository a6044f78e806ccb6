import type { Seen, SeenBlock } from "./seen.js";
import { wordingOf } from "./wording.js";

/** Where two requests part. */
export type Comparison = {
  /** How many bytes, frames aside, both begin with. */
  same: number;
  /** How many bytes, frames aside, come after that and cannot come from the provider's cache. */
  fresh: number;
  /** The first block that is not in the pinned request at this place; null when there is none. */
  first: SeenBlock | null;
  /** The pinned request is all there: this one only goes on. */
  extends: boolean;
};

/** What a request has in common with a pinned one, from its beginning. */
export function compare(pinned: Seen, seen: Seen): Comparison {
  const before = spoken(pinned);
  const now = spoken(seen);
  const at = now.findIndex((block, index) => !isSame(before[index], block));
  const common = at < 0 ? now.length : at;
  return {
    same: sizeOf(now.slice(0, common)),
    fresh: sizeOf(now.slice(common)),
    first: now[common] ?? null,
    extends: common === before.length,
  };
}

/** The JSON between blocks closes or goes on; that is no difference to a reader. */
function spoken(seen: Seen): SeenBlock[] {
  return seen.blocks.filter(({ kind }) => kind !== "frame");
}

/** Equal bytes, or equal words with a cache marker in another place. */
function isSame(a: SeenBlock | undefined, b: SeenBlock): boolean {
  if (!a || a.kind !== b.kind) return false;
  return (
    a.text === b.text ||
    JSON.stringify(wordingOf(a.kind, a.text)) === JSON.stringify(wordingOf(b.kind, b.text))
  );
}

function sizeOf(blocks: readonly SeenBlock[]): number {
  return blocks.reduce((sum, { size }) => sum + size, 0);
}
