import type { AttachmentRow, MessageRow } from "../message/index.js";
import type { Claim } from "../store/store.js";
import { type Fetched, fetchOutside } from "./fetchOutside.js";
import type { Hall } from "./hall.js";
import { NOT_FETCHED } from "./ingest.js";
import { expectCommitted, leaseOf } from "./lease.js";
import { sha256 } from "./rows.js";

/** One turn's downloads at once: each may be as large as the limit allows. */
const AT_ONCE = 4;

type Waiting = { row: MessageRow; index: number; attachment: AttachmentRow; url: string };

/**
 * Fetch what these messages only pointed to, and keep it, before a turn first uses it. Each is kept as soon as it is
 * there, by who holds the claim; what cannot be had says why, and is no reason for the turn to fail.
 */
export async function fetchAttachments(
  hall: Pick<Hall, "store">,
  rows: MessageRow[],
  claim: Claim | null = null,
  fetch: (url: string) => Promise<Fetched> = fetchOutside,
): Promise<MessageRow[]> {
  const fetched = new Map<AttachmentRow, AttachmentRow>();
  const waiting = rows.flatMap(waitingOf).values();
  const worker = async () => {
    for (const { row, index, attachment, url } of waiting) {
      const answer = await fetch(url).catch(failed);
      const kept = attachmentAfter(attachment, answer);
      const bytes = answer.ok ? answer.bytes : null;
      const result = await hall.store.commit({
        expect: claim ? [leaseOf(claim)] : [],
        facts: [
          { type: "attachment", chat_jid: row.chat_jid, message_id: row.id, index, attachment: kept, bytes },
        ],
      });
      expectCommitted(result);
      fetched.set(attachment, kept);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return rows.map((row) => ({
    ...row,
    attachments: row.attachments.map((attachment) => fetched.get(attachment) ?? attachment),
  }));
}

/** Is everything the message points to here, or known not to be had? */
export function isFetched(row: MessageRow): boolean {
  return waitingOf(row).length === 0;
}

/** Of a deleted message nothing is fetched: no turn will use it. */
function waitingOf(row: MessageRow): Waiting[] {
  if (row.deleted_at !== null) return [];
  return row.attachments.flatMap((attachment, index) =>
    attachment.url !== null && attachment.sha256 === null && attachment.reason === NOT_FETCHED
      ? [{ row, index, attachment, url: attachment.url }]
      : [],
  );
}

function failed(error: unknown): Fetched {
  return { ok: false, why: error instanceof Error ? error.message : String(error) };
}

function attachmentAfter(attachment: AttachmentRow, answer: Fetched): AttachmentRow {
  if (!answer.ok) return { ...attachment, reason: answer.why };
  const { bytes } = answer;
  return {
    ...attachment,
    state: "delivered",
    reason: null,
    size: bytes.length,
    sha256: sha256(bytes),
  };
}
