import type { Usage } from "../message/index.js";
import type { Price, PriceTime, Rates } from "./codec.js";

const MILLION = 1_000_000;
const DAY_S = 86_400;

/** What runs on one's own machine costs nothing by the token. */
export const FREE: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** Usage with what it costs by this price at that time; what the server itself said it cost stays. */
export function priced(usage: Usage, price: Price | null, at: number): Usage {
  if (usage.cost !== null || price === null) return usage;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const rates = ratesAt(price, at, inputTokens + cacheReadTokens + cacheWriteTokens);
  const longWritten = Math.min(usage.longCacheWriteTokens ?? 0, cacheWriteTokens);
  const longRate = rates.longCacheWrite ?? rates.cacheWrite;
  const input = (inputTokens * rates.input) / MILLION;
  const output = (outputTokens * rates.output) / MILLION;
  const cacheRead = (cacheReadTokens * rates.cacheRead) / MILLION;
  const cacheWrite = ((cacheWriteTokens - longWritten) * rates.cacheWrite + longWritten * longRate) / MILLION;
  const total = input + output + cacheRead + cacheWrite;
  return { ...usage, cost: { input, output, cacheRead, cacheWrite, total } };
}

/** The rates that hold at a time (milliseconds) for a request of so many tokens, cached ones included. */
export function ratesAt(price: Price, at: number, requestTokens: number): Rates {
  const instead = price.when?.findLast((other) => holds(other, at));
  if (instead) return ratesAt(instead.price, at, requestTokens);
  const exceeded = (price.above ?? []).filter(({ tokens }) => requestTokens > tokens);
  return exceeded.reduce<Rates & { tokens: number }>(
    (largest, tier) => (tier.tokens >= largest.tokens ? tier : largest),
    { ...price, tokens: 0 },
  );
}

function holds(time: PriceTime, at: number): boolean {
  if ("from" in time) return at >= time.from;
  const [start, end] = time.hours;
  const second = (((at / 1000) % DAY_S) + DAY_S) % DAY_S;
  return end < start ? second >= start || second < end : second >= start && second < end;
}
