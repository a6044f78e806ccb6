import type { Chat } from "../message/index.js";
import type { Spending } from "../store/store.js";
import type { Hall } from "./hall.js";

/** The account a sender's turns are paid from: the person's, where somebody linked the sender to one. */
export async function payerOf(hall: Hall, sender: string): Promise<string> {
  const person = await hall.store.read.personOf(sender);
  return person ? `person:${person.id}` : `sender:${sender}`;
}

/** The account of a chat. */
export function chatAccount(chatJid: string): string {
  return `chat:${chatJid}`;
}

/** The date it is for people there: a day's budget is theirs, not Greenwich's. */
export function dayIn(timeZone: string, now: number): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(now);
}

/** Which of the chat's limits for today is reached, in words for people; null while none is. */
export async function overBudget(hall: Hall, chat: Chat, payer: string): Promise<string | null> {
  const { usd_per_day, tokens_per_day, usd_per_person_per_day } = chat.budget;
  if (usd_per_day === null && tokens_per_day === null && usd_per_person_per_day === null) return null;
  const day = dayIn(chat.time_zone, hall.clock.now());
  const ofChat = await spentOn(hall, chatAccount(chat.jid), day);
  if (usd_per_day !== null && ofChat.usd >= usd_per_day)
    return `this chat's $${usd_per_day} for today are spent`;
  if (tokens_per_day !== null && ofChat.tokens >= tokens_per_day)
    return `this chat's ${tokens_per_day} tokens for today are spent`;
  if (usd_per_person_per_day === null) return null;
  const ofPayer = await spentOn(hall, payer, day);
  return ofPayer.usd >= usd_per_person_per_day
    ? `the $${usd_per_person_per_day} that one person has for today are spent`
    : null;
}

async function spentOn(hall: Hall, account: string, day: string): Promise<{ usd: number; tokens: number }> {
  const days = await hall.store.read.spent({ accounts: { is: account }, from: day, to: day });
  return {
    usd: days.reduce((sum, { spending }) => sum + spending.usd, 0),
    tokens: days.reduce((sum, { spending }) => sum + tokensOf(spending), 0),
  };
}

function tokensOf(spending: Spending): number {
  return (
    spending.input_tokens + spending.output_tokens + spending.cache_read_tokens + spending.cache_write_tokens
  );
}
