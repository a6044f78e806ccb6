import { type Comparison as BlockComparison, compareBlocks } from "../../../message/compare.js";
import type { Seen, SeenBlock } from "./seen.js";

/** Where two requests part. */
export type Comparison = BlockComparison<SeenBlock>;

/** What a request has in common with a pinned one, from its beginning. */
export function compare(pinned: Seen, seen: Seen): Comparison {
  return compareBlocks(pinned.blocks, seen.blocks);
}
