import { type Chat, clip } from "../message/index.js";
import type { Entry, PathEntry, Work } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { expectCommitted, isOvertaken } from "./lease.js";
import { withPeople } from "./people.js";
import { freshBranch, goOnFrom, headFact, type Move } from "./treeMoves.js";
import { turnLane } from "./turnLane.js";
import { type TreeAsk, treeRef } from "./waiting.js";

/** An entry as the API gives it, with the first words of the message it stands for. */
export type TreeEntry = Omit<Entry, "chat_jid"> & {
  message: { sender: string; sender_name: string; content: string; deleted: boolean } | null;
};
export type Tree = { tree: TreeEntry[]; head: string | null };

/**
 * `unknown`: there is no such chat, entry or message. `busy`: a turn runs. `refused`: it could not be done. `waiting`: it
 * will be done, later than anybody wanted to wait.
 */
export type TreeRefusal = { ok: false; kind: "unknown" | "busy" | "refused" | "waiting"; why: string };
export type Moved = { ok: true; head: string | null } | TreeRefusal;
export type Summary = { ok: true; entry: TreeEntry } | TreeRefusal;

const EVERYTHING = Number.MAX_SAFE_INTEGER;
const FOR_EVER = Number.POSITIVE_INFINITY;
const FIRST_WORDS = 200;
const LOOK_SOON_MS = 10;
const LOOK_LATER_MS = 250;
/** Entries, and host messages, among which what came of a piece of work is looked for. */
const LOOKED_BACK = 100;
/** What a label's entry says it is. */
const LABEL = "label";

/** The entries of a chat in the order they were made, and where a thread stands. */
export async function readTree(hall: Hall, query: TreeQuery): Promise<Tree> {
  const { chat_jid, thread_id, after, limit } = query;
  const [entries, head] = await Promise.all([
    query.newest ? newestEntries(hall, chat_jid, limit) : hall.store.read.tree({ chat_jid, after, limit }),
    hall.store.read.head(chat_jid, thread_id),
  ]);
  return { tree: entries.map(treeEntry), head };
}

export type TreeQuery = {
  chat_jid: string;
  thread_id: string;
  after: string | null;
  limit: number;
  /** The newest entries instead, still in the order they were made. */
  newest?: boolean;
};

async function newestEntries(hall: Hall, chatJid: string, limit: number): Promise<PathEntry[]> {
  const entries = await hall.store.read.entries(chatJid, limit);
  const messages = entries.map(({ message_id }) =>
    message_id === null ? null : hall.store.read.message(chatJid, message_id),
  );
  const found = await Promise.all(messages);
  return entries.map((entry, index) => ({ ...entry, message: found[index] ?? null }));
}

/** Move the head of a thread to an entry, whatever branch that is on; null starts a fresh one. */
export async function moveHead(
  hall: Hall,
  jid: string,
  { entry_id, thread_id }: { entry_id: string | null; thread_id: string },
): Promise<Moved> {
  const known = entry_id === null ? null : await hall.store.read.entry(jid, entry_id);
  if (entry_id !== null && !known) return unknown(`entry ${entry_id}`);
  return move(hall, jid, thread_id, async (chat) => {
    if (entry_id === null) return freshBranch(hall, { chat, threadId: thread_id, before: EVERYTHING });
    const head = await hall.store.read.head(jid, thread_id);
    return {
      facts: [headFact(hall, jid, thread_id, entry_id, "navigate")],
      expect: [{ type: "head", chat_jid: jid, thread_id, entry_id: head }],
    };
  });
}

export type ForkAsk = { from: string; summarise: boolean; thread_id: string };

/** Go on from a message, or any other entry. With a summary, that of the branch which is left opens the new one. */
export async function forkChat(
  hall: Hall,
  jid: string,
  ask: ForkAsk,
  patienceMs: number = FOR_EVER,
): Promise<Moved> {
  const { read } = hall.store;
  const entry = (await read.entry(jid, ask.from)) ?? (await read.entryOf(jid, ask.from));
  if (!entry) return unknown(`message ${ask.from} that the assistant has read`);
  if (ask.summarise) {
    const made = await askLane(hall, jid, ask.thread_id, { type: "fork", from: entry.id }, patienceMs);
    return made.ok ? { ok: true, head: made.entry.id } : made;
  }
  return move(hall, jid, ask.thread_id, (chat) =>
    goOnFrom(hall, { chat, threadId: ask.thread_id, before: EVERYTHING }, entry.id, "fork"),
  );
}

/** Summarise what is old in a thread, now or as soon as its running turn has ended. */
export function compactChat(
  hall: Hall,
  jid: string,
  threadId: string,
  patienceMs: number = FOR_EVER,
): Promise<Summary> {
  return askLane(hall, jid, threadId, { type: "compact" }, patienceMs);
}

/** Give an entry a name. It stands beside the entry, on no branch, so that no model reads it. */
export async function labelEntry(
  hall: Hall,
  jid: string,
  { entry_id, label }: { entry_id: string; label: string },
): Promise<Moved> {
  const labelled = await hall.store.read.entry(jid, entry_id);
  if (!labelled) return unknown(`entry ${entry_id}`);
  const entry: Entry = {
    id: hall.clock.newId(),
    chat_jid: jid,
    thread_id: labelled.thread_id,
    parent: entry_id,
    kind: "custom",
    message_id: null,
    turn_id: null,
    at: iso(hall.clock.now()),
    data: { custom_type: LABEL, content: label },
  };
  expectCommitted(await hall.store.commit({ facts: [{ type: "entry", entry }] }));
  return { ok: true, head: await hall.store.read.head(jid, labelled.thread_id) };
}

/** Moves that need no model are made at once, but never under a turn: its tools' results would lose their calls. */
async function move(
  hall: Hall,
  jid: string,
  threadId: string,
  plan: (chat: Chat) => Promise<Move>,
): Promise<Moved> {
  const chat = await chatOf(hall, jid);
  if (!chat) return NO_CHAT;
  for (let tries = 0; ; tries++) {
    const { facts, expect } = await plan(chat);
    // Behind the plan: a turn that starts after this look moves the head, which the plan expects where it was.
    if (await hall.store.read.runningTurn(jid, threadId)) return BUSY;
    const result = await hall.store.commit({ facts, expect });
    if (isOvertaken(result, tries)) continue;
    expectCommitted(result);
    return { ok: true, head: await hall.store.read.head(jid, threadId) };
  }
}

const BUSY: TreeRefusal = {
  ok: false,
  kind: "busy",
  why: "the assistant is answering in this conversation: stop it, or try again when it has ended",
};

/** Put a wish in the thread's lane, behind what waits there, and give what came of it. */
async function askLane(
  hall: Hall,
  jid: string,
  threadId: string,
  ask: TreeAsk,
  patienceMs: number,
): Promise<Summary> {
  if (!(await chatOf(hall, jid))) return NO_CHAT;
  const lane = turnLane(jid, threadId);
  const work: Work = {
    id: hall.clock.newId(),
    kind: "turn",
    lane,
    chat_jid: jid,
    ref: treeRef(ask),
    run_at: 0,
    attempts: 0,
  };
  expectCommitted(await hall.store.commit({ facts: [{ type: "work", work }] }));
  hall.arrivals.tell(work);
  return (await isDone(hall, work, patienceMs)) ? resultOf(hall, work) : WAITING;
}

const WAITING: TreeRefusal = {
  ok: false,
  kind: "waiting",
  why: "it waits its place: it will be done when the assistant has ended what it is doing here",
};

async function isDone(hall: Hall, { lane, id }: Work, patienceMs: number): Promise<boolean> {
  const end = hall.clock.steady() + patienceMs;
  for (let wait = LOOK_SOON_MS; ; wait = Math.min(LOOK_LATER_MS, wait * 2)) {
    const waiting = await hall.store.read.work("turn", lane, hall.limits.window);
    if (!waiting.some((work) => work.id === id)) return true;
    if (hall.clock.steady() >= end) return false;
    await hall.clock.sleep(wait);
  }
}

async function resultOf(hall: Hall, { id, chat_jid }: Work): Promise<Summary> {
  const entries = await hall.store.read.entries(chat_jid, LOOKED_BACK);
  const entry = entries.findLast(({ data }) => data.asked === id);
  if (entry) return { ok: true, entry: treeEntry({ ...entry, message: null }) };
  const rows = await hall.store.read.messages({
    chat_jid,
    after_seq: null,
    before_seq: EVERYTHING,
    limit: LOOKED_BACK,
    message_type: "host",
    sender: "host",
  });
  const said = rows.findLast(({ metadata }) => metadata.asked === id)?.metadata.refused;
  return { ok: false, kind: "refused", why: typeof said === "string" ? said : "it was set aside" };
}

async function chatOf(hall: Hall, jid: string): Promise<Chat | null> {
  const chat = await hall.chats.byJid(jid);
  return chat && withPeople(hall, chat);
}

const NO_CHAT: TreeRefusal = { ok: false, kind: "unknown", why: "there is no such chat" };

function unknown(what: string): TreeRefusal {
  return { ok: false, kind: "unknown", why: `there is no ${what} in this chat` };
}

function treeEntry({ chat_jid: _, message, ...entry }: PathEntry): TreeEntry {
  return {
    ...entry,
    message: message && {
      sender: message.sender,
      sender_name: message.sender_name,
      content: clip(message.content, FIRST_WORDS),
      deleted: message.deleted_at !== null,
    },
  };
}
