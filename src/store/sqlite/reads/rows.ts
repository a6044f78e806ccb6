import type { MessageRow } from "../../../message/index.js";
import { text } from "../../rows/columns.js";
import type { Entry } from "../../store.js";
import type { Row } from "../driver.js";

/** Rows of the database as values of the program. What does not fit is damage, and is said so. */

/**
 * Messages and entries come as one JSON text each: handing over a single value instead of twenty makes reading a
 * window more than twice as fast.
 */
export const MESSAGE = `json_array(m.id, m.chat_jid, m.seq, m.sender, m.sender_name, m.content, m.timestamp, m.is_from_me,
  m.message_type, json(m.metadata), m.turn_id, m.call_id, m.part, m.attached, m.revision, m.edited_at, m.deleted_at) AS message`;

type MessageColumns = [
  id: string,
  chat_jid: string,
  seq: number,
  sender: string,
  sender_name: string,
  content: string,
  timestamp: string,
  is_from_me: number,
  message_type: MessageRow["message_type"],
  metadata: MessageRow["metadata"],
  turn_id: string | null,
  call_id: string | null,
  part: number | null,
  attached: number,
  revision: number,
  edited_at: string | null,
  deleted_at: string | null,
];

/** A message, and whether something is attached to it. */
export function messageOf(row: Row): { message: MessageRow; attached: boolean } {
  const columns: MessageColumns = JSON.parse(text(row.message));
  const [id, chat_jid, seq, sender, sender_name, content, timestamp, is_from_me, message_type, metadata] =
    columns;
  const [turn_id, call_id, part, attached, revision, edited_at, deleted_at] = [
    columns[10],
    columns[11],
    columns[12],
    columns[13],
    columns[14],
    columns[15],
    columns[16],
  ];
  return {
    attached: attached === 1,
    message: {
      id,
      chat_jid,
      seq,
      sender,
      sender_name,
      content,
      timestamp,
      is_from_me: is_from_me === 1,
      message_type,
      metadata,
      turn_id,
      call_id,
      part,
      attachments: [],
      revision,
      edited_at,
      deleted_at,
    },
  };
}

export const ENTRY = `json_array(e.id, e.chat_jid, e.thread_id, e.parent, e.kind, e.message_id, e.turn_id, e.at,
  json(e.data)) AS entry`;

type EntryColumns = [
  id: string,
  chat_jid: string,
  thread_id: string,
  parent: string | null,
  kind: Entry["kind"],
  message_id: string | null,
  turn_id: string | null,
  at: string,
  data: Entry["data"],
];

export function entryOf(row: Row): Entry {
  const columns: EntryColumns = JSON.parse(text(row.entry));
  const [id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data] = columns;
  return { id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data };
}
