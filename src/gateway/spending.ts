import { type EncodedRequest, type Model, ratesAt } from "../agent/index.js";
import type { Chat, Usage } from "../message/index.js";
import { type Expectation, type Fact, NOTHING_SPENT, type Spending } from "../store/store.js";
import { dayOf, type Limit, limitsOf, tokensOf, unknownPrice } from "./budget.js";
import type { Hall } from "./hall.js";

/** An estimate that was put aside for one call, in every account that pays for it. */
export type Reservation = { accounts: { account: string; day: string }[]; estimate: Spending };

export type Payment = { chat: Chat; payer: string; model: Model };

/** Bytes of a request for one token: right in the median, and settled after the call. */
const BYTES_PER_TOKEN = 4;
/**
 * What an answer may have, where the request sets no limit of its own. A ceiling and not a guess: calls that run at once
 * overrun a budget only by what their answers have beyond it.
 */
const MOST_ANSWER_TOKENS = 4096;
const WARN_AT = 0.8;

/** Put an estimate aside for a call about to be made: facts that do so, and what must hold for the call to be made. */
export function reserve(
  hall: Hall,
  payment: Payment,
  encoded: EncodedRequest,
  /** The longest answer the request asks for, where it says so. */
  maxTokens: number | null = null,
): { reservation: Reservation; facts: Fact[]; expect: Expectation[] } {
  const { chat, payer, model } = payment;
  const now = hall.clock.now();
  const estimate = estimateOf(model, encoded, maxTokens, now);
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
  return unknownPrice(`${model.provider}/${model.id}`);
}

/** The facts that replace an estimate by what the call really used; null: nobody said, and what was put aside is spent. */
export function settleSpending({ accounts, estimate }: Reservation, usage: Usage | null): Fact[] {
  if (!usage) return [];
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

/** A budget of which four fifths are used or put aside by now, and whether people were told today. */
export type LowBudget = { says: string; expect: Expectation; fact: Fact };

/**
 * The budgets that run low with this call, and that nobody was told about yet. Telling is noted like spending, in an
 * account that takes one such note a day: of several calls that end at once only one can write its word.
 */
export async function lowBudgets(
  hall: Hall,
  { chat, payer }: Payment,
  { estimate }: Reservation,
  /** Null: nobody said what it used, and what was put aside for it is spent. */
  usage: Usage | null,
): Promise<LowBudget[]> {
  const low: LowBudget[] = [];
  for (const limit of limitsOf(hall, chat, payer, hall.clock.now())) {
    const spent = await spentToday(hall, limit.account, limit.day);
    const says = lowWords(limit, {
      usd: spent.usd + (usage ? (usage.cost?.total ?? 0) - estimate.usd : 0),
      tokens: tokensOf(spent) + (usage ? usedTokens(usage) - tokensOf(estimate) : 0),
    });
    const note = noteOf(limit);
    if (says === null || tokensOf(await spentToday(hall, note, limit.day)) > 0) continue;
    const { day } = limit;
    const plus = { usd: 0, tokens: 1 };
    low.push({
      says,
      expect: { type: "budget", account: note, day, plus, usd: null, tokens: 1 },
      fact: { type: "spent", account: note, day, spending: { ...NOTHING_SPENT, input_tokens: 1 } },
    });
  }
  return low;
}

/** Which of the limits has no room for a call, in words for people. */
export function refusalOf(hall: Hall, { chat, payer }: Payment, account: string): string {
  const limit = limitsOf(hall, chat, payer, hall.clock.now()).find((known) => known.account === account);
  if (!limit) return "a budget is spent";
  const aside = `for which up to ${MOST_ANSWER_TOKENS} tokens are put aside`;
  return `${limit.whose} budget of ${amountOf(limit)} a day has no room for another answer, ${aside}`;
}

async function spentToday(hall: Hall, account: string, day: string): Promise<Spending> {
  const [known] = await hall.store.read.spent({ accounts: { is: account }, from: day, to: day });
  return known?.spending ?? NOTHING_SPENT;
}

/** A budget that was changed is a budget nobody was told about. */
function noteOf({ account, usd, tokens }: Limit): string {
  return `told:${usd ?? ""}/${tokens ?? ""}:${account}`;
}

type Amount = { usd: number; tokens: number };

function lowWords(limit: Limit, used: Amount): string | null {
  if (limit.usd !== null && used.usd >= limit.usd * WARN_AT) {
    return `80 % of ${limit.whose} budget of $${limit.usd} a day is used.`;
  }
  if (limit.tokens !== null && used.tokens >= limit.tokens * WARN_AT) {
    return `80 % of ${limit.whose} budget of ${limit.tokens} tokens a day is used.`;
  }
  return null;
}

function amountOf({ usd, tokens }: Limit): string {
  const amounts = [usd === null ? [] : [`$${usd}`], tokens === null ? [] : [`${tokens} tokens`]];
  return amounts.flat().join(" and ");
}

function estimateOf(model: Model, encoded: EncodedRequest, maxTokens: number | null, now: number): Spending {
  const most = Math.min(
    model.window ?? Number.POSITIVE_INFINITY,
    model.maxOutput ?? Number.POSITIVE_INFINITY,
  );
  const answer = Math.min(maxTokens ?? MOST_ANSWER_TOKENS, most);
  const input = Math.ceil(Buffer.byteLength(encoded.body) / BYTES_PER_TOKEN);
  const rates = model.price === null ? { input: 0, output: 0 } : ratesAt(model.price, now, input);
  return {
    calls: 1,
    unpriced: model.price === null ? 1 : 0,
    input_tokens: input,
    output_tokens: answer,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    usd: (input * rates.input + answer * rates.output) / 1_000_000,
  };
}

function usedTokens(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}

function spentFacts({ accounts }: Reservation, spending: Spending): Fact[] {
  return accounts.map(({ account, day }): Fact => ({ type: "spent", account, day, spending }));
}
