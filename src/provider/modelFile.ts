import { z } from "zod";
import { errorsOf, type FieldError, pathText } from "../message/index.js";
import type { ModelFacts, Price, Rates } from "./codec.js";

const dollars = z.number().min(0);
const FileRates = z.strictObject({
  input: dollars,
  output: dollars,
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
  cache_write_long: dollars.optional(),
});
const FilePrice = FileRates.extend({
  above: z.array(FileRates.extend({ tokens: z.int().min(1) })).optional(),
});
const tokens = z.int().min(1).optional();
const FileFacts = z.strictObject({
  window: tokens,
  max_output: tokens,
  images: z.boolean().optional(),
  audio: z.boolean().optional(),
  pdf: z.boolean().optional(),
  thinking: z.boolean().optional(),
  tools: z.boolean().optional(),
  price: FilePrice.optional(),
});
const File = z.record(z.string(), FileFacts);
const NAME = /^[^/*\s]+\/(?:[^*\s]+\*?|\*)$/;
const NO_NAME = "expected provider/model, such as openai/gpt-4.1-mini, or the start of names and a *";

/** What the owner says about models, by `provider/model`. */
export type OwnFacts = (name: string) => Partial<ModelFacts>;
export type ReadModelFile = { ok: true; own: OwnFacts } | { ok: false; errors: FieldError[] };

/** Reads the owner's file on models. Of several names that fit, the longest goes first; `*` stands for any ending. */
export function readModelFile(given: unknown): ReadModelFile {
  const parsed = File.safeParse(given);
  if (!parsed.success) return { ok: false, errors: errorsOf(parsed.error, "", given) };
  const misnamed = Object.keys(parsed.data).filter((name) => !NAME.test(name));
  if (misnamed.length > 0)
    return { ok: false, errors: misnamed.map((name) => ({ path: pathText([name]), reason: NO_NAME })) };
  const entries = Object.entries(parsed.data).sort(([a], [b]) => a.length - b.length);
  return {
    ok: true,
    own: (name) => {
      const fitting = entries.filter(([pattern]) => fits(pattern, name)).map(([, facts]) => factsOf(facts));
      return Object.assign({}, ...fitting);
    },
  };
}

function fits(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function factsOf({ max_output, price, ...rest }: z.infer<typeof FileFacts>): Partial<ModelFacts> {
  const told = { ...rest, maxOutput: max_output, price: price && priceOf(price) };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

function priceOf({ above, ...rates }: z.infer<typeof FilePrice>): Price {
  const tiers = above?.map(({ tokens, ...tier }) => ({ tokens, ...ratesOf(tier) }));
  return { ...ratesOf(rates), ...(tiers ? { above: tiers } : {}) };
}

function ratesOf(given: z.infer<typeof FileRates>): Rates {
  const { input, output, cache_read = input, cache_write = input, cache_write_long: long } = given;
  return {
    input,
    output,
    cacheRead: cache_read,
    cacheWrite: cache_write,
    ...(long === undefined ? {} : { longCacheWrite: long }),
  };
}
