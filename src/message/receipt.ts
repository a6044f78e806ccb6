import { z } from "zod";
import { ERROR_KINDS, STOP_REASONS } from "./message.js";
import { Usage } from "./usage.js";

export const BLOCK_KINDS = [
  "frame",
  "params",
  "system",
  "notice",
  "tools",
  "summary",
  "thread_context",
  "message",
] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number];

/** What a block came from: a message, the chat's prompt, a notice, a compaction, a tool, … */
export const Source = z.object({ type: z.string(), id: z.string() });
export type Source = z.infer<typeof Source>;

/** A stretch of the system prompt: the operator's prompt, or a notice of this turn. */
export type SystemPart = { kind: "system" | "notice"; text: string; sources: Source[] };

/** What a message of a request came from, and as what its block is listed. */
export type Origin = { kind: BlockKind; sources: Source[] };

/** A stretch of a request body. `size` is in bytes; sizes add up to the body. */
export const Block = z.object({
  id: z.string(),
  kind: z.enum(BLOCK_KINDS),
  size: z.int(),
  sources: z.array(Source),
});
export type Block = z.infer<typeof Block>;

/** Why something the chat shows was not in the request. */
export const LeftOut = z.object({ message_id: z.string(), reason: z.string() });
export type LeftOut = z.infer<typeof LeftOut>;

/** Where a request stopped extending the one before it, and why. */
export const Break = z.object({ block: z.int(), reason: z.string() });
export type Break = z.infer<typeof Break>;

export const CALL_STATUSES = ["running", "ok", "error", "aborted", "cut"] as const;
export const CALL_PURPOSES = ["turn", "compaction", "branch_summary", "replay"] as const;
export type CallStatus = (typeof CALL_STATUSES)[number];
export type CallPurpose = (typeof CALL_PURPOSES)[number];

const tokens = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  reasoning_tokens: z.int().nullable(),
});
const cost = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  total: z.number(),
});

/** The stored truth about one call, without its blocks. */
export const CallEnvelope = z.object({
  id: z.string(),
  chat_jid: z.string(),
  turn_id: z.string().nullable(),
  attempt: z.int(),
  purpose: z.enum(CALL_PURPOSES),
  provider: z.string(),
  api: z.string(),
  model: z.string(),
  status: z.enum(CALL_STATUSES),
  error_kind: z.enum(ERROR_KINDS).nullable(),
  /** What went wrong, in words. */
  error: z.string().nullable(),
  stop_reason: z.enum(STOP_REASONS).nullable(),
  started_at: z.string(),
  first_token_ms: z.int().nullable(),
  duration_ms: z.int().nullable(),
  usage: tokens.nullable(),
  cost: cost.nullable(),
  request_sha256: z.string(),
  request_size: z.int(),
  redacted: z.boolean(),
  /** The entry of the tree up to which it was read; older receipts do not say. */
  head: z.string().nullable().optional(),
  /** The call whose context this one was given again. */
  replay_of: z.string().optional(),
  /** Since when its request is kept no longer, and why; what it used and cost stays. */
  expired: z.object({ at: z.string(), reason: z.string() }).optional(),
});
export type CallEnvelope = z.infer<typeof CallEnvelope>;

/** A receipt as the API gives it. */
export const Call = CallEnvelope.extend({
  blocks: z.array(Block),
  left_out: z.array(LeftOut),
  breaks: z.array(Break),
});
export type Call = z.infer<typeof Call>;

type CallUsage = Pick<CallEnvelope, "usage" | "cost">;

/** Usage as a receipt spells it. */
export function callUsageOf({ cost, ...usage }: Usage): CallUsage {
  return {
    usage: {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      reasoning_tokens: usage.reasoningTokens ?? null,
    },
    cost: cost && {
      input: cost.input,
      output: cost.output,
      cache_read: cost.cacheRead,
      cache_write: cost.cacheWrite,
      total: cost.total,
    },
  };
}

/** A receipt's usage as messages spell it; a call that never reported any used nothing we know of. */
export function usageOfCall({ usage, cost }: CallUsage): Usage {
  if (!usage) return Usage.none();
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.cache_read_tokens,
    cacheWriteTokens: usage.cache_write_tokens,
    ...(usage.reasoning_tokens === null ? {} : { reasoningTokens: usage.reasoning_tokens }),
    cost: cost && {
      input: cost.input,
      output: cost.output,
      cacheRead: cost.cache_read,
      cacheWrite: cost.cache_write,
      total: cost.total,
    },
  };
}
