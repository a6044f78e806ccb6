import type { EncodedRequest, Model } from "../agent/index.js";
import type { Chat, Usage } from "../message/index.js";
import type { Expectation, Fact, Spending } from "../store/store.js";
import { dayOf, type Limit, limitsOf, tokensOf } from "./budget.js";
import type { Hall } from "./hall.js";

/** An estimate that was put aside for one call, in every account that pays for it. */
export type Reservation = { accounts: { account: string; day: string }[]; estimate: Spending };

export type Payment = { chat: Chat; payer: string; model: Model };

/** Characters of a request for one token, and tokens of an answer: right in the median, and settled after the call. */
const BYTES_PER_TOKEN = 4;
const ANSWER_TOKENS = 1000;
const WARN_AT = 0.8;

/** Put an estimate aside for a call about to be made: facts that do so, and what must hold for the call to be made. */
export function reserve(
  hall: Hall,
  payment: Payment,
  encoded: EncodedRequest,
): { reservation: Reservation; facts: Fact[]; expect: Expectation[] } {
  const { chat, payer, model } = payment;
  const estimate = estimateOf(model, encoded);
  const now = hall.clock.now();
  const day = dayOf(chat, now);
  const reservation: Reservation = {
    accounts: [
      { account: `chat:${chat.jid}`, day },
      { account: payer, day },
      { account: `model:${model.provider}/${model.id}`, day: dayOf(null, now) },
      { account: "server", day: dayOf(null, now) },
    ],
    estimate,
  };
  const plus = { usd: estimate.usd, tokens: tokensOf(estimate) };
  const expect = limitsOf(hall, chat, payer, now).map(
    ({ account, day, usd, tokens }): Expectation => ({ type: "budget", account, day, plus, usd, tokens }),
  );
  return { reservation, facts: spentFacts(reservation, estimate), expect };
}

/** Why this model cannot be used under a budget of money; null when it can. */
export function unpricedUnderBudget(hall: Hall, { chat, payer, model }: Payment): string | null {
  if (model.price !== null) return null;
  const money = limitsOf(hall, chat, payer, hall.clock.now()).find(({ usd }) => usd !== null);
  if (!money) return null;
  return `there is a budget of money, and the price of ${model.provider}/${model.id} is not known`;
}

/** The facts that replace an estimate by what the call really used. */
export function settleSpending({ accounts, estimate }: Reservation, usage: Usage): Fact[] {
  const actual: Spending = {
    calls: 0,
    unpriced: 0,
    input_tokens: usage.inputTokens - estimate.input_tokens,
    output_tokens: usage.outputTokens - estimate.output_tokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    usd: (usage.cost?.total ?? 0) - estimate.usd,
  };
  return spentFacts({ accounts, estimate }, actual);
}

/** What people are told when this call takes a budget past four fifths; null when it does not. */
export async function warningOf(
  hall: Hall,
  { chat, payer }: Payment,
  { estimate }: Reservation,
  usage: Usage,
): Promise<string | null> {
  for (const limit of limitsOf(hall, chat, payer, hall.clock.now())) {
    const [known] = await hall.store.read.spent({
      accounts: { is: limit.account },
      from: limit.day,
      to: limit.day,
    });
    if (!known) continue;
    const before = {
      usd: known.spending.usd - estimate.usd,
      tokens: tokensOf(known.spending) - tokensOf(estimate),
    };
    const used = { usd: usage.cost?.total ?? 0, tokens: usedTokens(usage) };
    const crossed = crossedLimit(limit, before, used);
    if (crossed) return crossed;
  }
  return null;
}

type Amount = { usd: number; tokens: number };

function crossedLimit(limit: Limit, before: Amount, used: Amount): string | null {
  const crosses = (most: number | null, from: number, plus: number) =>
    most !== null && from < most * WARN_AT && from + plus >= most * WARN_AT;
  if (crosses(limit.usd, before.usd, used.usd)) {
    return `80 % of ${limit.whose} budget of $${limit.usd} a day is used.`;
  }
  if (crosses(limit.tokens, before.tokens, used.tokens)) {
    return `80 % of ${limit.whose} budget of ${limit.tokens} tokens a day is used.`;
  }
  return null;
}

function estimateOf(model: Model, encoded: EncodedRequest): Spending {
  const input = Math.ceil(Buffer.byteLength(encoded.body) / BYTES_PER_TOKEN);
  const price = model.price ?? { input: 0, output: 0 };
  return {
    calls: 1,
    unpriced: model.price === null ? 1 : 0,
    input_tokens: input,
    output_tokens: ANSWER_TOKENS,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    usd: (input * price.input + ANSWER_TOKENS * price.output) / 1_000_000,
  };
}

function usedTokens(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

function spentFacts({ accounts }: Reservation, spending: Spending): Fact[] {
  return accounts.map(({ account, day }): Fact => ({ type: "spent", account, day, spending }));
}
