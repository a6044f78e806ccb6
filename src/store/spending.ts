import type { Expectation, Spending } from "./store.js";

type Budget = Extract<Expectation, { type: "budget" }>;

/** What an account has that was never used. */
export const NOTHING_SPENT: Spending = {
  calls: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  usd: 0,
};

/** Both together. */
export function addSpending(to: Spending, more: Spending): Spending {
  return {
    calls: to.calls + more.calls,
    unpriced: to.unpriced + more.unpriced,
    input_tokens: to.input_tokens + more.input_tokens,
    output_tokens: to.output_tokens + more.output_tokens,
    cache_read_tokens: to.cache_read_tokens + more.cache_read_tokens,
    cache_write_tokens: to.cache_write_tokens + more.cache_write_tokens,
    usd: to.usd + more.usd,
  };
}

/** Why an account may not spend that much more, or null when it may. Said alike by every store. */
export function overBudget({ account, day, plus, usd, tokens }: Budget, spent: Spending): string | null {
  if (usd !== null && spent.usd + plus.usd > usd)
    return `${account} would go over its limit of ${usd} USD for ${day}`;
  if (tokens !== null && tokensIn(spent) + plus.tokens > tokens)
    return `${account} would go over its limit of ${tokens} tokens for ${day}`;
  return null;
}

/** All tokens, whatever their class. */
export function tokensIn(spent: Spending): number {
  return spent.input_tokens + spent.output_tokens + spent.cache_read_tokens + spent.cache_write_tokens;
}
