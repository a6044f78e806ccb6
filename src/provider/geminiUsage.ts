import type { Usage } from "../message/index.js";

/**
 * Token counts as disjoint classes. The API counts cached tokens inside the prompt, and thoughts beside the answer;
 * it leaves out what is zero. Tokens that Google's own tools fed back are in neither: we give it no such tools.
 */
export function readGeminiUsage(metadata: Record<string, unknown>): Usage {
  const prompt = count(metadata.promptTokenCount) ?? 0;
  const cacheReadTokens = Math.min(count(metadata.cachedContentTokenCount) ?? 0, prompt);
  const answer = count(metadata.candidatesTokenCount) ?? 0;
  const thoughts = count(metadata.thoughtsTokenCount);
  return {
    inputTokens: prompt - cacheReadTokens,
    outputTokens: outputTokens(answer, thoughts ?? 0, prompt, count(metadata.totalTokenCount)),
    cacheReadTokens,
    cacheWriteTokens: 0,
    ...(thoughts === null ? {} : { reasoningTokens: thoughts }),
    cost: null,
  };
}

/** Servers that imitate the API may count thoughts inside the answer; their totals give it away. */
function outputTokens(answer: number, thoughts: number, prompt: number, total: number | null): number {
  const inside = thoughts <= answer && total === prompt + answer;
  return inside ? answer : answer + thoughts;
}

/** More than any call uses. A server that tells more would break every sum it goes into. */
const MOST_TOKENS = 1_000_000_000;

function count(value: unknown): number | null {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || Number.isNaN(number) || number < 0) return null;
  return Math.min(Math.trunc(number), MOST_TOKENS);
}
