import type { Chat, MessageRow } from "../message/index.js";
import type { Expectation, Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { saidMeanwhile, take } from "./take.js";
import { threadIn, turnLane } from "./turnLane.js";

/** The thread whose head moves. */
export type BranchPlace = {
  chat: Chat;
  threadId: string;
  /** What was said before this `seq` and is on no branch yet stays with the branch that is left. */
  before: number;
};

/** What moves a head, and what must still be so for that. */
export type Move = { facts: Fact[]; expect: Expectation[] };

/** Nothing is deleted: the head moves to where nothing was said yet, behind what the operator wants always read. */
export async function freshBranch(hall: Hall, place: BranchPlace): Promise<Move> {
  const { chat, threadId } = place;
  const kept = await standingRows(hall, chat, threadId);
  const opening = await take(hall, { chat, threadId, head: null, turnId: null }, kept);
  const moved = await goOnFrom(hall, place, null, "reset");
  return { ...moved, facts: [...moved.facts, ...opening.facts] };
}

/** Go on from an entry; the branch that is left stays. */
export async function goOnFrom(
  hall: Hall,
  place: BranchPlace,
  entryId: string | null,
  reason: "fork" | "reset",
): Promise<Move> {
  const { chat, threadId } = place;
  const head = await hall.store.read.head(chat.jid, threadId);
  return {
    facts: [...(await leaveBehind(hall, place, head)), headFact(hall, chat.jid, threadId, entryId, reason)],
    expect: [{ type: "head", chat_jid: chat.jid, thread_id: threadId, entry_id: head }],
  };
}

/** The move of a head, as it is recorded. */
export function headFact(
  hall: Hall,
  chat_jid: string,
  thread_id: string,
  entry_id: string | null,
  reason: string,
): Fact {
  return { type: "head", chat_jid, thread_id, entry_id, reason, at: iso(hall.clock.now()) };
}

/** What the operator wants read in this thread whatever happens: not what was refused, nor what waits for its own turn. */
async function standingRows(hall: Hall, chat: Chat, threadId: string): Promise<MessageRow[]> {
  const rows = await hall.store.read.messages({
    chat_jid: chat.jid,
    after_seq: 0,
    before_seq: null,
    limit: hall.limits.window,
    message_type: "system",
    sender: null,
  });
  const here = rows.filter((row) => row.deleted_at === null && threadIn(chat, row.metadata) === threadId);
  const outcomes = await Promise.all(here.map(({ id }) => hall.store.read.inbound(chat.jid, id)));
  return here.filter((_, index) => {
    const outcome = outcomes[index]?.outcome;
    return outcome !== "ignored" && outcome !== "pending";
  });
}

/**
 * What was said before and is on no branch yet belongs to the one that is left: otherwise the next turn would read it on
 * the new one.
 */
async function leaveBehind(
  hall: Hall,
  { chat, threadId, before }: BranchPlace,
  head: string | null,
): Promise<Fact[]> {
  const rows = await saidMeanwhile(hall, chat.jid, threadId, turnLane(chat.jid, threadId));
  const left = rows.filter((row) => row.seq < before && row.message_type !== "system");
  return left.length === 0 ? [] : (await take(hall, { chat, threadId, head, turnId: null }, left)).facts;
}
