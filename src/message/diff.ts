import { z } from "zod";
import { Block, Break, CallEnvelope } from "./receipt.js";

/** A block of a compared request, with where it stands and what it says. */
export const DiffBlock = Block.extend({
  index: z.int(),
  /** Null where it was erased, or where the answer would be too long: the request has it. */
  text: z.string().nullable(),
  /** Is the text only its beginning? */
  cut: z.boolean(),
});
export type DiffBlock = z.infer<typeof DiffBlock>;

export const BLOCK_CHANGES = ["added", "removed", "changed", "moved"] as const;

export const BlockChange = z.object({
  change: z.enum(BLOCK_CHANGES),
  before: DiffBlock.nullable(),
  after: DiffBlock.nullable(),
});
export type BlockChange = z.infer<typeof BlockChange>;

const reported = z
  .object({ input_tokens: z.int(), cache_read_tokens: z.int(), cache_write_tokens: z.int() })
  .nullable();

/** What a difference cost in the provider's cache. */
export const CacheCost = z.object({
  /** What the provider said of each call; null where it said nothing. */
  reported: z.object({ a: reported, b: reported }),
  /** What follows from the sizes of blocks: right about bytes, an estimate of tokens and of money. */
  estimated: z.object({
    bytes_per_token: z.number(),
    /** `usage`: by what the provider reported for these requests; `guess`: it reported nothing. */
    by: z.enum(["usage", "guess"]),
    /** What both begin with: a cache can give this. */
    shared_tokens: z.int(),
    /** What b sent again behind the difference, though a had sent it: no cache can give this. */
    lost_tokens: z.int(),
    /** What that costs more than reading it from a cache; null where the price is not known. */
    lost_usd: z.number().nullable(),
  }),
  /** The same in sentences. */
  says: z.array(z.string()),
});
export type CacheCost = z.infer<typeof CacheCost>;

/** Two calls, block by block. Frames, the JSON between blocks, do not count. */
export const CallDiff = z.object({
  a: CallEnvelope,
  b: CallEnvelope,
  /** What both requests begin with. */
  same: z.object({ blocks: z.int(), bytes: z.int() }),
  /** b has all of a, and goes on. */
  extends: z.boolean(),
  /** Where they part: the block of each; null where one has ended, or (both) where neither differs. */
  first: z.object({ a: DiffBlock.nullable(), b: DiffBlock.nullable() }),
  changes: z.array(BlockChange),
  /** How many changes are not listed. */
  more: z.int(),
  /** Why b does not simply go on from a, by the rule with which receipts are written. */
  breaks: z.array(Break),
  /** What b's receipt says of the request that was sent before it in its thread, which may be another than a. */
  declared: z.array(Break),
  cache: CacheCost,
});
export type CallDiff = z.infer<typeof CallDiff>;
