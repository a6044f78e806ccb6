import type { ModelRequest } from "../agent/index.js";
import { definitionOf } from "../agent/index.js";
import {
  assemble,
  type ContextInput,
  frozenOf,
  type Notice,
  type PathEntry,
  standingOf,
} from "../context/index.js";
import type { Chat, LeftOut, MessageRow } from "../message/index.js";
import { asRead } from "./edits.js";
import type { Hall } from "./hall.js";

/** A thread as it stands on the tree: its path, and what goes with it. */
export type Window = Pick<ContextInput, "path" | "calls" | "attachments" | "originals" | "standing">;

/** Walk back from the head. Costs the window, not the history. */
export async function readWindow(hall: Hall, chat: Chat, head: string | null): Promise<Window> {
  const walked = head === null ? [] : await hall.store.read.path(chat.jid, head, hall.limits.window);
  const { path, originals } = await asRead(hall, chat.edits, walked);
  const callIds = new Set(path.flatMap((entry) => (entry.message?.call_id ? [entry.message.call_id] : [])));
  const answered = await hall.store.read.callParts([...callIds]);
  const calls = new Map(answered.map((known) => [known.call.id, known]));
  const standing = await standingRows(hall, chat.jid, path);
  return { path, calls, attachments: await attachmentBytes(hall, path), originals, standing };
}

/** The operator's rows that the newest compaction keeps in view. */
async function standingRows(
  hall: Hall,
  chatJid: string,
  [first]: readonly PathEntry[],
): Promise<MessageRow[]> {
  const ids = first?.kind === "compaction" ? standingOf(first) : [];
  const rows = await Promise.all(ids.map((id) => hall.store.read.message(chatJid, id)));
  return rows.filter((row) => row !== null);
}

/** What the model is asked, built by the one assembler. Live turns and previews both come through here. */
export function requestOf(
  hall: Hall,
  chat: Chat,
  window: Window,
  notices: readonly Notice[],
  turnId: string,
): { request: ModelRequest; leftOut: LeftOut[] } {
  const assembled = assemble({ ...window, chat, notices });
  const request: ModelRequest = {
    system: assembled.system,
    messages: assembled.messages,
    tools: hall.tools.map(definitionOf),
    origins: assembled.origins,
    about: {
      chat_jid: chat.jid,
      turn_id: turnId,
      assistant_name: chat.assistant_name,
      time_zone: chat.time_zone,
    },
  };
  return { request, leftOut: assembled.left_out };
}

/** Bytes the model gets to see: images, sound and text that came with the messages of a path. */
export async function attachmentBytes(
  hall: Hall,
  path: readonly PathEntry[],
): Promise<Map<string, Uint8Array>> {
  const bytes = new Map<string, Uint8Array>();
  const hashes = path.flatMap(hashesOf);
  for (const sha256 of new Set(hashes)) {
    const found = await hall.store.read.attachmentBytes(sha256);
    if (found) bytes.set(sha256, found);
  }
  return bytes;
}

/** As settled when a turn took the message; of one that nothing was settled for, its own. */
function hashesOf(entry: PathEntry): string[] {
  const own = entry.message?.attachments ?? [];
  const taken = own.length > 0 ? (frozenOf(entry)?.attachments ?? []) : [];
  return own.flatMap(({ sha256 }, index) => (taken[index] ?? { sha256 }).sha256 ?? []);
}

const HOST_ROWS_NAMED = 20;

/** The host rows since a moment, so that a receipt can say what people saw and the model did not. */
export async function hostRowsSince(hall: Hall, chatJid: string, since: string | null): Promise<LeftOut[]> {
  const rows = await hall.store.read.messages({
    chat_jid: chatJid,
    after_seq: null,
    before_seq: Number.MAX_SAFE_INTEGER,
    limit: HOST_ROWS_NAMED,
    message_type: "host",
    sender: "host",
    since,
  });
  return rows.map((row) => ({ message_id: row.id, reason: "host messages are for people" }));
}
