import type { AttachmentRow, MessageRow } from "../../../message/index.js";
import type { Prepare, Row } from "../driver.js";
import { text } from "../../rows/columns.js";
import { attachmentOf } from "../../rows/values.js";
import { MESSAGE, messageOf } from "./rows.js";

export function findMessage(prepare: Prepare, chat_jid: string, id: string): MessageRow | null {
  const row = prepare(`SELECT ${MESSAGE} FROM messages m WHERE id = ? AND chat_jid = ?`).get(id, chat_jid);
  return row ? (messagesOf(prepare, chat_jid, [row])[0] ?? null) : null;
}

/** Rows of one chat as messages, what is attached to them fetched together. */
export function messagesOf(prepare: Prepare, chat_jid: string, rows: readonly Row[]): MessageRow[] {
  const found = rows.map(messageOf);
  const attached = found.flatMap(({ message, attached: some }) => (some ? [message.id] : []));
  if (attached.length > 0) {
    const attachments = attachmentsOf(prepare, chat_jid, attached);
    for (const { message } of found) message.attachments = attachments.get(message.id) ?? [];
  }
  return found.map(({ message }) => message);
}

function attachmentsOf(
  prepare: Prepare,
  chat_jid: string,
  ids: readonly string[],
): Map<string, AttachmentRow[]> {
  const rows = prepare(
    `SELECT a.* FROM json_each(?) wanted CROSS JOIN attachments a ON a.chat_jid = ? AND a.message_id = wanted.value
     ORDER BY a.message_id, a.position`,
  ).all(JSON.stringify(ids), chat_jid);
  const found = new Map<string, AttachmentRow[]>();
  for (const row of rows) {
    const id = text(row.message_id);
    const list = found.get(id) ?? [];
    list.push(attachmentOf(row));
    found.set(id, list);
  }
  return found;
}
