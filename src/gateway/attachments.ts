import type { AttachmentRow, MessageRow } from "../message/index.js";
import type { Fact } from "../store/store.js";
import { fetchOutside } from "./fetchOutside.js";
import type { Hall } from "./hall.js";
import { NOT_FETCHED } from "./ingest.js";
import { sha256 } from "./rows.js";

/** Fetch what these messages only pointed to, and keep it, before a turn first uses it. */
export async function fetchAttachments(hall: Hall, rows: MessageRow[]): Promise<MessageRow[]> {
  return Promise.all(rows.map((row) => (row.attachments.some(isWaiting) ? fetchForRow(hall, row) : row)));
}

function isWaiting(attachment: AttachmentRow): boolean {
  return attachment.url !== null && attachment.sha256 === null && attachment.reason === NOT_FETCHED;
}

async function fetchForRow(hall: Hall, row: MessageRow): Promise<MessageRow> {
  const fetched = await Promise.all(row.attachments.map((attachment) => fetchOne(attachment)));
  const facts = fetched.flatMap(({ attachment, bytes, changed }, index): Fact[] =>
    changed
      ? [{ type: "attachment", chat_jid: row.chat_jid, message_id: row.id, index, attachment, bytes }]
      : [],
  );
  await hall.store.commit({ facts });
  return { ...row, attachments: fetched.map(({ attachment }) => attachment) };
}

async function fetchOne(attachment: AttachmentRow) {
  if (!isWaiting(attachment) || attachment.url === null) return { attachment, bytes: null, changed: false };
  const fetched = await fetchOutside(attachment.url);
  if (!fetched.ok) return { attachment: { ...attachment, reason: fetched.why }, bytes: null, changed: true };
  const { bytes } = fetched;
  const kept: AttachmentRow = {
    ...attachment,
    state: "delivered",
    reason: null,
    size: bytes.length,
    sha256: sha256(bytes),
  };
  return { attachment: kept, bytes, changed: true };
}
