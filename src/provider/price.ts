import type { Usage } from "../message/index.js";
import type { Price } from "./codec.js";

const MILLION = 1_000_000;

/** Usage with what it costs at this price; what the server itself said it cost stays. */
export function priced(usage: Usage, price: Price | null): Usage {
  if (usage.cost !== null || price === null) return usage;
  const input = (usage.inputTokens * price.input) / MILLION;
  const output = (usage.outputTokens * price.output) / MILLION;
  const cacheRead = (usage.cacheReadTokens * price.cacheRead) / MILLION;
  const cacheWrite = (usage.cacheWriteTokens * price.cacheWrite) / MILLION;
  const total = input + output + cacheRead + cacheWrite;
  return { ...usage, cost: { input, output, cacheRead, cacheWrite, total } };
}
