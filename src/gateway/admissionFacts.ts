import {
  type Chat,
  type IngestMessageMetadata,
  type MessageRow,
  type Person,
  personOfRef,
} from "../message/index.js";
import { type AdmissionFacts, CALLS } from "./admission.js";
import type { Hall } from "./hall.js";

/** What is asked about a message that came in. */
export type Knock = {
  way: AdmissionFacts["way"];
  run: boolean;
  attached: boolean;
  metadata: IngestMessageMetadata;
  /** The exact address it was heard at; null when its platform does not say. */
  address: string | null;
  /** In which conversation of the chat a row stands: its thread, where threads are apart. */
  threadOf(metadata: Record<string, unknown>): string;
};

/** Rows looked through, at most, for how many bots spoke in a row. */
const LOOKED_THROUGH = 1000;
const PAGE = 100;

/** Looks up what admission has to know, and of it only what the chat's settings make necessary. */
export async function admissionFacts(hall: Hall, chat: Chat, knock: Knock): Promise<AdmissionFacts> {
  const { way, run, attached, metadata } = knock;
  const isSpoken = way === "submit" && metadata.passive !== true;
  const isBot = metadata.sender_type === "bot";
  const isSticky = isSpoken && chat.trigger === "sticky";
  const person = isSticky || namesPeople(chat) ? await hall.store.read.personOf(metadata.sender_id) : null;
  const [repliesToUs, botsInARow, calledBefore] = await Promise.all([
    isSpoken && chat.trigger !== "always" && answersUs(hall, chat, knock),
    isSpoken && isBot && chat.allow_bots ? countBots(hall, chat, knock) : 0,
    isSticky && calledLately(hall, chat, knock, person),
  ]);
  const personId = person?.id ?? null;
  return { way, run, attached, personId, repliesToUs, botsInARow, calledBefore, overBudget: null };
}

/** Does any of the chat's lists name a person, so that it matters who a sender is? */
function namesPeople({ allow, read, shell_allow }: Chat): boolean {
  return [allow, read, shell_allow].some(
    (list) => list !== "*" && list.some((entry) => personOfRef(entry) !== null),
  );
}

async function answersUs(hall: Hall, chat: Chat, { metadata, address }: Knock): Promise<boolean> {
  if (!metadata.reply_to) return false;
  // The page and programs know our messages by our own ids.
  const own = await hall.store.read.message(chat.jid, metadata.reply_to);
  if (own) return own.sender === "bot";
  if (address === null) return false;
  const delivery = await hall.store.read.delivered(address, metadata.reply_to);
  if (delivery?.chat_jid !== chat.jid) return false;
  const message = await hall.store.read.message(delivery.chat_jid, delivery.message_id);
  return message?.sender === "bot";
}

/** Bots' messages since a human last spoke here. Our own answers are no human word. */
export async function countBots(
  hall: Hall,
  chat: Chat,
  knock: { metadata: Record<string, unknown>; threadOf: Knock["threadOf"] },
  before = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const here = knock.threadOf(knock.metadata);
  let count = 0;
  for await (const row of newestFirst(hall, chat.jid, before)) {
    if (knock.threadOf(row.metadata) !== here) continue;
    if (row.metadata.sender_type !== "bot") return count;
    count++;
    if (count >= chat.loop_limit + 1) return count;
  }
  return count;
}

/** Did this person call the assistant within the last `sticky_s`, under any of their names? By our own clock. */
async function calledLately(hall: Hall, chat: Chat, knock: Knock, person: Person | null): Promise<boolean> {
  const last = await hall.store.read.lastAdmitted({
    chat_jid: chat.jid,
    thread_id: knock.threadOf(knock.metadata),
    senders: [...new Set([knock.metadata.sender_id, ...(person?.senders ?? [])])],
    since: hall.clock.now() - chat.sticky_s * 1000,
    reasons: CALLS,
  });
  return last !== null;
}

/** What people and bots said in the chat, newest first, so far as anybody has to look. */
async function* newestFirst(hall: Hall, chat_jid: string, before: number): AsyncGenerator<MessageRow> {
  let before_seq = before;
  for (let seen = 0; seen < LOOKED_THROUGH; seen += PAGE) {
    const rows = await hall.store.read.messages({
      chat_jid,
      after_seq: null,
      before_seq,
      limit: PAGE,
      message_type: "user",
      sender: null,
    });
    yield* rows.toReversed();
    const oldest = rows[0];
    if (!oldest || rows.length < PAGE) return;
    before_seq = oldest.seq;
  }
}
