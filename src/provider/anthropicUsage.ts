import { Usage } from "../message/index.js";
import { isRecord } from "./json.js";

/** Reads the counts of one answer, which come at its start and, as sums so far, again at its end. */
export type UsageReader = { take(usage: unknown): void; total(): Usage };

const COUNTED = ["input", "output", "cacheRead", "cacheWrite", "longCacheWrite", "reasoning"] as const;
type Counts = Partial<Record<(typeof COUNTED)[number], number>>;

/** The API's classes are disjoint already: its input has no cached token in it. Thinking is part of its output. */
export function usageReader(): UsageReader {
  const counts: Counts = {};
  let passes: unknown[] = [];
  return {
    take(usage) {
      if (!isRecord(usage)) return;
      const found = countsOf(usage);
      // A sum never falls: a server that repeats a count as nothing has forgotten it.
      for (const name of COUNTED) {
        const value = found[name];
        if (value !== undefined && (value > 0 || counts[name] === undefined)) counts[name] = value;
      }
      if (Array.isArray(usage.iterations)) passes = usage.iterations;
    },
    total() {
      // What the server spent on summarising the conversation is in no sum of its own.
      const apart = passes.filter(isRecord).filter((pass) => pass.type === "compaction");
      return apart.map((pass) => usageOf(countsOf(pass))).reduce(Usage.add, usageOf(counts));
    },
  };
}

function usageOf({ input, output, cacheRead, cacheWrite, longCacheWrite, reasoning }: Counts): Usage {
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cacheReadTokens: cacheRead ?? 0,
    cacheWriteTokens: cacheWrite ?? 0,
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
    ...(longCacheWrite ? { longCacheWriteTokens: longCacheWrite } : {}),
    cost: null,
  };
}

function countsOf(usage: Record<string, unknown>): Counts {
  const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const found = {
    input: count(usage.input_tokens),
    output: count(usage.output_tokens),
    cacheRead: count(usage.cache_read_input_tokens),
    cacheWrite: count(usage.cache_creation_input_tokens) ?? writtenIn(usage.cache_creation),
    longCacheWrite: longWrittenIn(usage.cache_creation),
    reasoning: count(details.thinking_tokens),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** Some servers tell the parts without their sum. */
function writtenIn(creation: unknown): number | undefined {
  if (!isRecord(creation)) return undefined;
  const short = count(creation.ephemeral_5m_input_tokens) ?? 0;
  return short + (longWrittenIn(creation) ?? 0);
}

function longWrittenIn(creation: unknown): number | undefined {
  return isRecord(creation) ? count(creation.ephemeral_1h_input_tokens) : undefined;
}

/** More than any call uses. A server that tells more would break every sum it goes into. */
const MOST_TOKENS = 1_000_000_000;

function count(value: unknown): number | undefined {
  if (typeof value !== "number" || Number.isNaN(value) || value < 0) return undefined;
  return Math.min(Math.trunc(value), MOST_TOKENS);
}
