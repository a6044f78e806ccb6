import type { Usage } from "../message/index.js";
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
    cost: null,
  };
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
