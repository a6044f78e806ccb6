import { Usage } from "../message/index.js";
import { isRecord } from "./json.js";

/**
 * Token counts as disjoint classes. The third version of the interface tells them apart; of the second, most providers
 * count cached tokens inside the input, and those of Anthropic and Bedrock beside it.
 */
export function readAiSdkUsage(usage: unknown, provider: string, metadata: unknown): Usage {
  if (!isRecord(usage)) return Usage.none();
  return isRecord(usage.inputTokens) || isRecord(usage.outputTokens)
    ? nested(usage)
    : flat(usage, provider, metadata);
}

function nested(usage: Record<string, unknown>): Usage {
  const input = isRecord(usage.inputTokens) ? usage.inputTokens : {};
  const output = isRecord(usage.outputTokens) ? usage.outputTokens : {};
  const { read, written, rest } = parts(count(input.total), count(input.cacheRead), count(input.cacheWrite));
  const reasoning = count(output.reasoning);
  return usageOf({
    input: count(input.noCache) ?? rest,
    output: count(output.total) ?? (count(output.text) ?? 0) + (reasoning ?? 0),
    read,
    written,
    reasoning,
  });
}

const COUNTS_BESIDE = /anthropic|bedrock/i;

function flat(usage: Record<string, unknown>, provider: string, metadata: unknown): Usage {
  const [input, cached] = [count(usage.inputTokens) ?? 0, count(usage.cachedInputTokens) ?? 0];
  const written = writtenIn(metadata);
  const beside = COUNTS_BESIDE.test(provider) || cached > input;
  const all = beside ? input + cached + written : input;
  const { read, written: kept, rest } = parts(all, cached, written);
  const [output, reasoning] = [count(usage.outputTokens) ?? 0, count(usage.reasoningTokens)];
  return usageOf({ input: rest, output, read, written: kept, reasoning });
}

/** The second version has no field for tokens written to a cache; the two providers that know tell it beside. */
function writtenIn(metadata: unknown): number {
  if (!isRecord(metadata)) return 0;
  const { anthropic, bedrock } = metadata;
  if (isRecord(anthropic)) return count(anthropic.cacheCreationInputTokens) ?? 0;
  const usage = isRecord(bedrock) && isRecord(bedrock.usage) ? bedrock.usage : {};
  return count(usage.cacheWriteInputTokens) ?? 0;
}

/** Some servers tell more cached than there was input. */
function parts(
  total: number | null,
  cacheRead: number | null,
  cacheWrite: number | null,
): { read: number; written: number; rest: number } {
  const all = total ?? (cacheRead ?? 0) + (cacheWrite ?? 0);
  const read = Math.min(cacheRead ?? 0, all);
  const written = Math.min(cacheWrite ?? 0, all - read);
  return { read, written, rest: all - read - written };
}

type Counts = { input: number; output: number; read: number; written: number; reasoning: number | null };

function usageOf({ input, output, read, written, reasoning }: Counts): Usage {
  return {
    inputTokens: input,
    // Reasoning is part of the output; a provider that counts it beside says more reasoning than output.
    outputTokens: reasoning !== null && reasoning > output ? output + reasoning : output,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    ...(reasoning === null ? {} : { reasoningTokens: reasoning }),
    cost: null,
  };
}

/** More than any call uses. A provider that tells more would break every sum it goes into. */
const MOST_TOKENS = 1_000_000_000;

function count(value: unknown): number | null {
  if (typeof value !== "number" || Number.isNaN(value) || value < 0) return null;
  return Math.min(Math.trunc(value), MOST_TOKENS);
}
