import { z } from "zod";

/** What was used, by the API: of one chat, person, model or day (`key`). `unpriced` calls are not in `usd`. */
export const UsageLine = z.object({
  key: z.string(),
  calls: z.int(),
  unpriced: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cache_read_tokens: z.int(),
  cache_write_tokens: z.int(),
  usd: z.number(),
});
export type UsageLine = z.infer<typeof UsageLine>;

/** Money, in US dollars, for each class of tokens. */
export type Cost = { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };

/** The four classes are disjoint: a cached token is not counted again as input. Reasoning is part of output. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  reasoningTokens?: number;
  /** Of the cache writes, those that are kept for an hour and cost more. */
  longCacheWriteTokens?: number;
  /** null when the model's price is unknown: unknown is not free. */
  cost: Cost | null;
};

export const Usage = {
  none: (): Usage => ({
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cost: null,
  }),
  /** How much of the model's window a call filled. */
  contextSize: (usage: Usage): number =>
    usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
  /** The sum of two; its cost is unknown as soon as one that used tokens is of unknown cost. */
  add: (a: Usage, b: Usage): Usage => {
    return {
      inputTokens: a.inputTokens + b.inputTokens,
      outputTokens: a.outputTokens + b.outputTokens,
      cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
      cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
      ...sumOfParts(a, b, "reasoningTokens"),
      ...sumOfParts(a, b, "longCacheWriteTokens"),
      cost: sumOfCosts(a, b),
    };
  },
};

/** A part of a class that not every API tells. */
function sumOfParts(
  a: Usage,
  b: Usage,
  part: "reasoningTokens" | "longCacheWriteTokens",
): Partial<Pick<Usage, typeof part>> {
  if (a[part] === undefined && b[part] === undefined) return {};
  return { [part]: (a[part] ?? 0) + (b[part] ?? 0) };
}

/** Nothing used costs nothing, whatever the price: a sum may start from `Usage.none()`. */
function sumOfCosts(a: Usage, b: Usage): Cost | null {
  if (a.cost && b.cost) return addCost(a.cost, b.cost);
  if (!a.cost && Usage.contextSize(a) === 0) return b.cost;
  if (!b.cost && Usage.contextSize(b) === 0) return a.cost;
  return null;
}

function addCost(a: Cost, b: Cost): Cost {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    total: a.total + b.total,
  };
}
