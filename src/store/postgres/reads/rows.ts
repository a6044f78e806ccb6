import { type AttachmentRow, MESSAGE_TYPES, type MessageRow } from "../../../message/index.js";
import { number, oneOf, text, textOrNull } from "../../rows/columns.js";
import { attachmentOf } from "../../rows/values.js";
import { ENTRY_KINDS, type Entry } from "../../store.js";
import type { Query, Row } from "../connect.js";

export const MESSAGE = `m.id, m.chat_jid, m.seq, m.sender, m.sender_name, m.content, m.timestamp, m.is_from_me,
  m.message_type, m.metadata, m.turn_id, m.call_id, m.part, m.attached, m.revision, m.edited_at, m.deleted_at`;

export const ENTRY = `e.id AS entry_id, e.chat_jid AS entry_chat, e.thread_id AS entry_thread, e.parent, e.kind,
  e.message_id, e.turn_id AS entry_turn, e.at, e.data`;

/** Rows of one chat as messages, what is attached to them fetched together. */
export async function messagesOf(
  query: Query,
  chat_jid: string,
  rows: readonly Row[],
): Promise<MessageRow[]> {
  const attached = rows.filter((row) => row.attached === 1).map((row) => text(row.id));
  const attachments = attached.length > 0 ? await attachmentsOf(query, chat_jid, attached) : null;
  return rows.map((row) => messageOf(row, attachments?.get(text(row.id)) ?? []));
}

function messageOf(row: Row, attachments: AttachmentRow[]): MessageRow {
  return {
    id: text(row.id),
    chat_jid: text(row.chat_jid),
    seq: number(row.seq),
    sender: text(row.sender),
    sender_name: text(row.sender_name),
    content: text(row.content),
    timestamp: text(row.timestamp),
    is_from_me: row.is_from_me === 1,
    message_type: oneOf(MESSAGE_TYPES, row.message_type),
    metadata: JSON.parse(text(row.metadata)),
    turn_id: textOrNull(row.turn_id),
    call_id: textOrNull(row.call_id),
    part: row.part === null ? null : number(row.part),
    attachments,
    revision: number(row.revision),
    edited_at: textOrNull(row.edited_at),
    deleted_at: textOrNull(row.deleted_at),
  };
}

async function attachmentsOf(
  query: Query,
  chat_jid: string,
  ids: readonly string[],
): Promise<Map<string, AttachmentRow[]>> {
  const rows = await query(
    "SELECT * FROM attachments WHERE chat_jid = $1 AND message_id = ANY ($2::text[]) ORDER BY message_id, position",
    chat_jid,
    ids,
  );
  const found = new Map<string, AttachmentRow[]>();
  for (const row of rows) {
    const id = text(row.message_id);
    const list = found.get(id) ?? [];
    list.push(attachmentOf(row));
    found.set(id, list);
  }
  return found;
}

export function entryOf(row: Row): Entry {
  return {
    id: text(row.entry_id),
    chat_jid: text(row.entry_chat),
    thread_id: text(row.entry_thread),
    parent: textOrNull(row.parent),
    kind: oneOf(ENTRY_KINDS, row.kind),
    message_id: textOrNull(row.message_id),
    turn_id: textOrNull(row.entry_turn),
    at: text(row.at),
    data: JSON.parse(text(row.data)),
  };
}
