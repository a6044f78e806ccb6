import type { Cost, Usage } from "../message/index.js";
import { isRecord } from "./json.js";

/**
 * Token counts as disjoint classes. The API counts cached and cache-written tokens inside the prompt, and reasoning
 * inside the completion; servers differ in where they say so, and some say more cached than there was prompt.
 */
export function readUsage(usage: Record<string, unknown>): Usage {
  const promptDetails = detailsOf(usage, [
    "prompt_tokens_details",
    "prompt_token_details",
    "input_tokens_details",
  ]);
  const outputDetails = detailsOf(usage, ["completion_tokens_details", "output_tokens_details"]);
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens);
  const cached = firstCount(
    promptDetails.cached_tokens,
    usage.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.num_cached_tokens,
  );
  const cacheReadTokens = Math.min(cached, prompt);
  const written = firstCount(promptDetails.cache_write_tokens, usage.cache_write_tokens);
  const cacheWriteTokens = Math.min(written, prompt - cacheReadTokens);
  const reasoning = count(outputDetails.reasoning_tokens) ?? count(usage.reasoning_tokens);
  const completion = firstCount(usage.completion_tokens, usage.output_tokens);
  return {
    inputTokens: prompt - cacheReadTokens - cacheWriteTokens,
    outputTokens: outputTokens(completion, reasoning ?? 0, prompt, count(usage.total_tokens)),
    cacheReadTokens,
    cacheWriteTokens,
    ...(reasoning === null ? {} : { reasoningTokens: reasoning }),
    cost: toldCost(usage),
  };
}

/**
 * What the server itself says it cost, in US dollars: OpenRouter and its like as a number, Perplexity as an object.
 * The share of what was asked is told by some; all else is counted as the answer's. With a key of one's own at the
 * vendor behind, what the vendor takes comes on top.
 */
function toldCost(usage: Record<string, unknown>): Cost | null {
  const told = isRecord(usage.cost) ? usage.cost : {};
  const details = isRecord(usage.cost_details) ? usage.cost_details : {};
  const fee = money(usage.cost) ?? money(told.total_cost);
  if (fee === null) return null;
  const behind = usage.is_byok === true ? (money(details.upstream_inference_cost) ?? 0) : 0;
  const total = fee + behind;
  const asked = money(told.input_tokens_cost) ?? money(details.upstream_inference_prompt_cost) ?? 0;
  const input = Math.min(asked, total);
  return { input, output: total - input, cacheRead: 0, cacheWrite: 0, total };
}

function money(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Some servers count reasoning beside the completion; their totals, or the counts themselves, give it away. */
function outputTokens(completion: number, reasoning: number, prompt: number, total: number | null): number {
  const beside = reasoning > completion || (total !== null && total === prompt + completion + reasoning);
  return beside ? completion + reasoning : completion;
}

function detailsOf(usage: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return names.map((name) => usage[name]).find(isRecord) ?? {};
}

/** More than any call uses. A server that tells more would break every sum it goes into. */
const MOST_TOKENS = 1_000_000_000;

function count(value: unknown): number | null {
  if (typeof value !== "number" || Number.isNaN(value) || value < 0) return null;
  return Math.min(Math.trunc(value), MOST_TOKENS);
}

function firstCount(...values: unknown[]): number {
  for (const value of values) {
    const found = count(value);
    if (found !== null) return found;
  }
  return 0;
}
