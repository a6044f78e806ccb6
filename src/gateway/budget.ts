import type { Chat } from "../message/index.js";
import { type Spending, tokensIn } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** What an account may spend on a day. Null: as much as it likes. */
export type Limit = {
  account: string;
  day: string;
  usd: number | null;
  tokens: number | null;
  /** As people are told about it: "this chat's", "your", "the server's". */
  whose: string;
};

/** Whose budget pays for what somebody with a token asked for. */
export const OPERATOR = "sender:operator";

/** The account of whoever asked: the person, or the sender id when nobody said whose it is. */
export async function payerOf(hall: Pick<Hall, "store">, sender: string): Promise<string> {
  const person = await hall.store.read.personOf(sender);
  return person ? `person:${person.id}` : `sender:${sender}`;
}

const dates = new Map<string, { format: Intl.DateTimeFormat; quarter: number; day: string }>();
/** In every zone, a day begins with a quarter of an hour. */
const QUARTER_MS = 15 * 60_000;

/** The date on which something is spent: the chat's own, or UTC for what all chats share. */
export function dayOf(chat: Pick<Chat, "time_zone"> | null, now: number): string {
  const timeZone = chat?.time_zone ?? "UTC";
  const quarter = Math.floor(now / QUARTER_MS);
  const known = dates.get(timeZone);
  if (known?.quarter === quarter) return known.day;
  // Making one takes longer than everything else a message needs.
  const format = known?.format ?? new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
  const day = format.format(now);
  dates.set(timeZone, { format, quarter, day });
  return day;
}

/** The limits a call of this chat is under, for this payer. */
export function limitsOf(hall: Pick<Hall, "budget">, chat: Chat, payer: string, now: number): Limit[] {
  const { usd_per_day: usd, tokens_per_day: tokens, usd_per_person_per_day } = chat.budget;
  const limits = [
    { account: `chat:${chat.jid}`, usd, tokens, whose: "this chat's", zone: chat },
    { account: payer, usd: usd_per_person_per_day, tokens: null, whose: "your", zone: chat },
    { account: "server", ...hall.budget, whose: "the server's", zone: null },
  ];
  return limits
    .filter((limit) => limit.usd !== null || limit.tokens !== null)
    .map(({ zone, ...limit }) => ({ ...limit, day: dayOf(zone, now) }));
}

/** Which limit is reached already, in words; null while there is something left. */
export async function overBudget(
  hall: Pick<Hall, "budget" | "clock" | "store">,
  chat: Chat,
  payer: string,
): Promise<string | null> {
  for (const limit of limitsOf(hall, chat, payer, hall.clock.now())) {
    const { account, day, usd, tokens, whose } = limit;
    const [known] = await hall.store.read.spent({ accounts: { is: account }, from: day, to: day });
    if (usd !== null && (known?.spending.usd ?? 0) >= usd) return `${whose} budget of $${usd} a day is spent`;
    if (tokens !== null && tokensOf(known?.spending ?? null) >= tokens) {
      return `${whose} budget of ${tokens} tokens a day is spent`;
    }
  }
  return null;
}

/** All tokens of an account, whatever their class. */
export function tokensOf(spending: Spending | null): number {
  return spending ? tokensIn(spending) : 0;
}

const TOLD_AGAIN_AFTER_MS = 6 * 3600_000;
const LOOKED_BACK = 20;

/** Were people told of this limit lately? Every refused message has its outcome; the news is told once. */
export async function wasTold(hall: Hall, chatJid: string, refused: string): Promise<boolean> {
  const rows = await hall.store.read.messages({
    chat_jid: chatJid,
    after_seq: null,
    before_seq: Number.MAX_SAFE_INTEGER,
    limit: LOOKED_BACK,
    message_type: "host",
    sender: "host",
    since: iso(hall.clock.now() - TOLD_AGAIN_AFTER_MS),
  });
  return rows.some((row) => row.metadata.refused === refused);
}

/** Why a model is not asked under a budget of money. */
export function unknownPrice(model: string): string {
  return `there is a budget of money, and the price of ${model} is not known`;
}
