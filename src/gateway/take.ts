import { type Label, type PathEntry, takeMessages } from "../context/index.js";
import type { Chat, MessageRow } from "../message/index.js";
import type { Entry, Fact, NewMessage } from "../store/store.js";
import { isPrepared, prepareAttachments } from "./attachments.js";
import { iso } from "./clock.js";
import { untoldEdits } from "./edits.js";
import type { Hall } from "./hall.js";
import type { Member, TurnState } from "./turnState.js";
import type { Untaken } from "./waiting.js";

/** Messages about to be put on the tree, and the facts that put them there. */
export type Taking = { entries: PathEntry[]; facts: Fact[]; head: string | null };

export type TakingPlace = {
  chat: Chat;
  threadId: string;
  head: string | null;
  turnId: string | null;
  /** When the last word before was said, where that is known; also where `head` is about to be written in the same commit. */
  spokenAt?: string | null | undefined;
  /** The chat's names, where they are known. */
  labels?: readonly Label[] | undefined;
  /** The entry to look back from for what was edited, where `head` is about to be written in the same commit. */
  path?: string | null | undefined;
};

/** What was said meanwhile, without the messages that wait for turns of their own. */
export async function saidMeanwhile(
  hall: Hall,
  chatJid: string,
  threadId: string,
  lane: string,
): Promise<MessageRow[]> {
  const { rows, waiting } = await untakenRows(hall, chatJid, threadId, lane);
  return rows.filter((row) => !waiting.has(row.id));
}

async function untakenRows(hall: Hall, chatJid: string, threadId: string, lane: string): Promise<Untaken> {
  // In this order: of a message that comes in between, we see the work and not the row, never the row alone.
  const rows = await hall.store.read.untaken(chatJid, threadId, hall.limits.window);
  const works = await hall.store.read.work("turn", lane, hall.limits.window);
  return { rows, waiting: new Set(works.map((work) => work.ref)) };
}

/**
 * Put rows on the tree in this order, behind what became of earlier ones. What depends on the moment (name, time line) is
 * frozen here, for ever.
 */
export async function take(hall: Hall, place: TakingPlace, rows: readonly MessageRow[]): Promise<Taking> {
  const { chat, threadId, turnId } = place;
  const [known, spokenAt, edited] = await Promise.all([
    place.labels ?? hall.store.read.labels(chat.jid),
    place.spokenAt !== undefined ? place.spokenAt : lastSpokenAt(hall, chat.jid, place.head),
    untoldEdits(hall, chat, threadId, place.path ?? place.head),
  ]);
  const { frozen, frozenEdits, newLabels, usedLabels } = takeMessages({
    rows,
    edits: edited.told,
    previous: { at: spokenAt },
    labels: known,
    chat,
    botIds: [chat.bot_id],
  });
  // Names that were read a while ago may be nobody's by now: those that are used are given out again, or refused.
  const given = place.labels ? usedLabels : newLabels;
  const facts: Fact[] = given.map((label) => ({ type: "label", chat_jid: chat.jid, ...label }));
  const at = iso(hall.clock.now());
  let head = place.head;
  const entries: PathEntry[] = [];
  const put = (kind: "edit" | "message", row: MessageRow, data: Entry["data"]): void => {
    const entry: Entry = {
      id: hall.clock.newId(),
      chat_jid: chat.jid,
      thread_id: threadId,
      parent: head,
      kind,
      message_id: row.id,
      turn_id: turnId,
      at,
      data,
    };
    facts.push({ type: "entry", entry });
    entries.push({ ...entry, message: row });
    head = entry.id;
  };
  for (const row of edited.told) put("edit", row, { ...frozenEdits.get(row.id) });
  for (const row of rows) put("message", row, { ...frozen.get(row.id) });
  facts.push(...edited.facts);
  if (entries.length > 0) {
    facts.push({ type: "head", chat_jid: chat.jid, thread_id: threadId, entry_id: head, reason: "turn", at });
  }
  return { entries, facts, head };
}

/** The head is nearly always a message; notes and summaries may stand between it and the last word spoken. */
const LOOKED_BEHIND = [1, 20];

/** When somebody last spoke before the head. Reading the whole window for it would make every turn start late. */
export async function lastSpokenAt(hall: Hall, chatJid: string, head: string | null): Promise<string | null> {
  if (head === null) return null;
  for (const limit of LOOKED_BEHIND) {
    const path = await hall.store.read.path(chatJid, head, limit);
    const spoken = path.findLast((entry) => entry.kind === "message" && entry.message !== null);
    if (spoken?.message) return spoken.message.timestamp;
  }
  return null;
}

type TakingOptions = Pick<TakingPlace, "spokenAt" | "labels" | "path"> & {
  untaken?: Untaken | undefined;
  /** Make files ready first; otherwise messages whose files are not ready yet are not taken now. */
  prepares?: boolean;
};

/** What was said meanwhile, then the messages themselves, in the order they came. */
export async function takeForTurn(
  hall: Hall,
  state: Pick<TurnState, "chat" | "turn" | "claim" | "head">,
  members: readonly Member[],
  { spokenAt, labels, path, untaken, prepares = true }: TakingOptions = {},
): Promise<Taking> {
  const { chat, turn, claim } = state;
  const own = new Set(members.map(({ message }) => message.id));
  const { rows, waiting } =
    untaken && holds(untaken, own) ? untaken : await untakenRows(hall, chat.jid, turn.thread_id, claim.lane);
  const meanwhile = rows.filter((row) => !own.has(row.id) && !waiting.has(row.id));
  // A message that an earlier try of a turn put on the tree is there already.
  const newOnes = rows.filter((row) => own.has(row.id));
  const all = [...meanwhile, ...newOnes];
  const ready = prepares ? await prepareAttachments(hall, all, claim) : all.filter(isPrepared);
  const place = { chat, threadId: turn.thread_id, head: state.head, turnId: turn.id, spokenAt, labels, path };
  return take(hall, place, ready);
}

/** Were all of these there when it was read? What came in right after would be left off the tree. */
function holds({ rows }: Untaken, ids: ReadonlySet<string>): boolean {
  return rows.filter((row) => ids.has(row.id)).length === ids.size;
}

/** Rows a turn writes go on the tree in the same commit. */
export function chainEntries(
  hall: Hall,
  state: TurnState,
  rows: readonly NewMessage[],
): { head: string | null; facts: Fact[] } {
  const { chat, turn } = state;
  const at = iso(hall.clock.now());
  const facts: Fact[] = [];
  let head = state.head;
  for (const row of rows) {
    const id = hall.clock.newId();
    facts.push({ type: "message", message: row });
    facts.push({
      type: "entry",
      entry: {
        id,
        chat_jid: chat.jid,
        thread_id: turn.thread_id,
        parent: head,
        kind: "message",
        message_id: row.id,
        turn_id: turn.id,
        at,
        data: {},
      },
    });
    head = id;
  }
  if (rows.length > 0) {
    facts.push({
      type: "head",
      chat_jid: chat.jid,
      thread_id: turn.thread_id,
      entry_id: head,
      reason: "turn",
      at,
    });
  }
  return { head, facts };
}
