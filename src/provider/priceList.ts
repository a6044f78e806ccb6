import type { ConditionalPrice, ModelInfo, ModelPrice } from "@pydantic/genai-prices";
import type { ModelFacts, Price, PriceTime, Rates } from "./codec.js";

/** Prices and windows by the address of a server and a model's id. Empty where the address is nobody's we know. */
export type PriceList = (baseUrl: string, id: string) => Pick<Partial<ModelFacts>, "price" | "window">;

let loading: Promise<PriceList> | null = null;

/** The list of the package `@pydantic/genai-prices`. It is large, and read when the first price is asked for. */
export function priceList(): Promise<PriceList> {
  loading ??= import("@pydantic/genai-prices").then(
    (list) => remembering((baseUrl, id) => lookUp(list, new URL(baseUrl).origin, id)),
    // A bundle without the package still calls models; it knows no prices.
    () => () => ({}),
  );
  return loading;
}

type List = typeof import("@pydantic/genai-prices");

function lookUp({ calcPrice, findProvider }: List, origin: string, id: string): ReturnType<PriceList> {
  const provider = findProvider({ providerApiUrl: origin });
  if (!provider || !new RegExp(`^(?:${provider.api_pattern})$`).test(origin)) return {};
  // What is asked for here is which model it is; the sum is ours, class by class.
  const found = calcPrice({}, id, { providerId: provider.id });
  if (!found) return {};
  return { price: priceOf(found.model), window: unrounded(found.model.context_window ?? null) };
}

/** More models than anybody uses. */
const REMEMBERED = 2000;

/** The list tries pattern after pattern, and every turn asks. */
function remembering(find: PriceList): PriceList {
  const known = new Map<string, ReturnType<PriceList>>();
  return (baseUrl, id) => {
    const key = `${baseUrl} ${id}`;
    const found = known.get(key) ?? find(baseUrl, id);
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, found);
    return found;
  };
}

const THOUSANDS = [8, 16, 32, 64, 128, 256, 512, 1000, 2000];

/**
 * The list says 128,000 where 131,072 may fit. The larger is taken: a request that is too long after all is refused and
 * tried again shorter, but an answer to more than a window holds would be thrown away.
 */
function unrounded(window: number | null): number | null {
  const exact = THOUSANDS.find((thousands) => thousands * 1000 === window);
  return exact === undefined ? window : 2 ** Math.round(Math.log2(exact * 1024));
}

/** A price of the list as ours; null where it counts what usage does not tell. */
function priceOf({ prices }: ModelInfo): Price | null {
  const [first, ...rest]: ConditionalPrice[] = Array.isArray(prices) ? prices : [{ prices }];
  const base = first && priceAlways(first.prices);
  const others = rest.map((one) => ({ time: timeOf(one.constraint), price: priceAlways(one.prices) }));
  if (!base || others.some(({ time, price }) => !time || !price)) return null;
  const when = others.flatMap(({ time, price }) => (time && price ? [{ ...time, price }] : []));
  return when.length === 0 ? base : { ...base, when };
}

const UNCOUNTED = ["requests_kcount", "output_reasoning_mtok", "output_citation_mtok"];

function priceAlways(prices: ModelPrice): Price | null {
  const base = ratesFor(prices, 0);
  if (!base || UNCOUNTED.some((key) => prices[key] !== undefined)) return null;
  const starts = Object.values(prices).flatMap((value) =>
    typeof value === "object" ? value.tiers.map(({ start }) => start) : [],
  );
  const above = [...new Set(starts)]
    .sort((a, b) => a - b)
    .flatMap((tokens) => {
      const rates = ratesFor(prices, tokens);
      return rates ? [{ tokens, ...rates }] : [];
    });
  return above.length === 0 ? base : { ...base, above };
}

/** Cached tokens without a price of their own cost what any input costs. */
function ratesFor(prices: ModelPrice, tokens: number): Rates | null {
  const rate = (key: string): number | undefined => {
    const value = prices[key];
    if (typeof value !== "object") return value;
    return tokens === 0
      ? value.base
      : (value.tiers.findLast(({ start }) => start <= tokens)?.price ?? value.base);
  };
  const [input, output] = [rate("input_mtok"), rate("output_mtok")];
  if (input === undefined || output === undefined) return null;
  const long = rate("cache_write_1h_mtok");
  return {
    input,
    output,
    cacheRead: rate("cache_read_mtok") ?? input,
    cacheWrite: rate("cache_write_mtok") ?? input,
    ...(long === undefined ? {} : { longCacheWrite: long }),
  };
}

function timeOf(constraint: ConditionalPrice["constraint"]): PriceTime | null {
  if (!constraint) return { from: 0 };
  if (constraint.type === "start_date") return { from: Date.parse(constraint.start_date) };
  const hours = [secondOf(constraint.start_time), secondOf(constraint.end_time)] as const;
  return hours.some(Number.isNaN) ? null : { hours };
}

/** `16:30:00Z`, or with another offset, as seconds since midnight, UTC. */
function secondOf(time: string): number {
  const ms = Date.parse(`1970-01-02T${time}`);
  return (ms / 1000) % 86_400;
}
