import type { PathEntry } from "../context/index.js";
import type { Chat, MessageRow } from "../message/index.js";
import type { Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** Give a message other words (null: none, it is deleted). Null when there is none to revise. */
export async function revise(
  { store, clock }: Hall,
  chat_jid: string,
  message_id: string,
  content: string | null,
): Promise<MessageRow | null> {
  const row = await store.read.message(chat_jid, message_id);
  if (!row || row.deleted_at) return null;
  const at = iso(clock.now());
  await store.commit({ facts: [{ type: "revision", chat_jid, message_id, content, at }] });
  return store.read.message(chat_jid, message_id);
}

/** Edits the next turn tells, oldest first, and the facts that say no later one has to. */
export type UntoldEdits = { told: MessageRow[]; facts: Fact[] };

/**
 * What people made of messages that are on the path, since a turn last said what those say. A message that was edited
 * several times is told once, as it reads now; one that reads as before, not at all.
 */
export async function untoldEdits(
  hall: Hall,
  chat: Pick<Chat, "jid" | "edits">,
  threadId: string,
  head: string | null,
): Promise<UntoldEdits> {
  const { read } = hall.store;
  const rows =
    chat.edits === "note" && head !== null ? await read.untold(chat.jid, threadId, hall.limits.window) : [];
  // Nearly always: nobody edits what was answered long ago, and a path is long.
  if (head === null || rows.length === 0) return { told: [], facts: [] };
  const path = await read.path(chat.jid, head, hall.limits.window);
  const told: MessageRow[] = [];
  const facts: Fact[] = [];
  for (const row of rows.toSorted(byEdit)) {
    const last = path.findLast((entry) => entry.message_id === row.id);
    // It stands on another branch, whose next turn tells it; or before a summary, which may say it as it was.
    if (!last && path[0]?.kind !== "compaction") continue;
    const { id: message_id, revision } = row;
    facts.push({ type: "edit_told", chat_jid: chat.jid, message_id, revision });
    if (!last || (await wordsAt(hall, row, last.data.revision)) !== row.content) told.push(row);
  }
  return { told, facts };
}

function byEdit(a: MessageRow, b: MessageRow): number {
  return (a.edited_at ?? "").localeCompare(b.edited_at ?? "") || a.seq - b.seq;
}

/**
 * The path as the model has read it: messages that were edited since say what they said, and each edit what it made of
 * its message then. Under `rewrite` they say what they say now, and there are no edits.
 */
export async function asRead(
  hall: Hall,
  edits: Chat["edits"],
  path: readonly PathEntry[],
): Promise<{ path: PathEntry[]; originals: Map<string, string> }> {
  const originals = new Map<string, string>();
  const read: PathEntry[] = [];
  for (const entry of path) {
    const { kind, message, data } = entry;
    if (kind === "edit" && edits === "rewrite") continue;
    read.push(entry);
    if (!message || message.revision === 0 || message.revision === data.revision) continue;
    if (edits === "rewrite" || message.deleted_at !== null) continue;
    const words = await wordsAt(hall, message, data.revision);
    if (words === null) continue;
    if (kind === "edit") read[read.length - 1] = { ...entry, message: { ...message, content: words } };
    else originals.set(message.id, words);
  }
  return { path: read, originals };
}

async function wordsAt(hall: Hall, { chat_jid, id }: MessageRow, revision: unknown): Promise<string | null> {
  const revisions = await hall.store.read.revisions(chat_jid, id);
  return revisions.find((earlier) => earlier.revision === revision)?.content ?? null;
}
