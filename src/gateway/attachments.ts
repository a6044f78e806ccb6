import type { Transcriber } from "../agent/index.js";
import type { AttachmentRow, MessageRow } from "../message/index.js";
import type { Claim, Fact, Store } from "../store/store.js";
import type { Fetched } from "./fetchOutside.js";
import { NOT_FETCHED } from "./ingest.js";
import { expectCommitted, leaseOf } from "./lease.js";
import { NO_TIME } from "./pictures.js";
import { type Seeing, seenForm } from "./seenForm.js";
import { sha256 } from "./rows.js";

/** One turn's files at once: each may be as large as the limit allows. */
const AT_ONCE = 4;
/** What is not ready by then is not waited for: nobody's turn hangs on a file. */
const MOST_MS = 120_000;

type Waiting = { row: MessageRow; index: number; attachment: AttachmentRow };

/**
 * Make ready what came with these messages, before a turn first uses it: fetch what they only point to, and settle what
 * models get of it. Each is kept as soon as it is there, by who holds the claim, and never made a second time; what cannot
 * be had says why, and is no reason for the turn to fail.
 */
export async function prepareAttachments(
  hall: Seeing,
  rows: MessageRow[],
  claim: Claim | null = null,
): Promise<MessageRow[]> {
  const prepared = new Map<AttachmentRow, AttachmentRow>();
  const waiting = rows.flatMap(waitingOf).values();
  const signal = AbortSignal.timeout(MOST_MS);
  const worker = async () => {
    for (const one of waiting) prepared.set(one.attachment, await prepareOnce(hall, one, claim, signal));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return rows.map((row) => ({
    ...row,
    attachments: row.attachments.map((attachment) => prepared.get(attachment) ?? attachment),
  }));
}

/** Is everything that came with the message ready, or known not to be had? */
export function isPrepared(row: MessageRow): boolean {
  return waitingOf(row).length === 0;
}

/** The same for messages that are only looked at: nothing is kept, fetched or transcribed for it. */
export async function previewAttachments(
  hall: Seeing,
  rows: readonly MessageRow[],
  unstored: ReadonlyMap<string, Uint8Array>,
): Promise<{ rows: MessageRow[]; bytes: Map<string, Uint8Array> }> {
  const bytes = new Map(unstored);
  const transcriber = hall.media.transcriber && NOT_YET;
  const looking = { ...hall, media: { ...hall.media, transcriber } };
  const signal = AbortSignal.timeout(MOST_MS);
  const look = async (row: MessageRow, attachment: AttachmentRow): Promise<AttachmentRow> => {
    const { sha256: hash } = attachment;
    const original =
      hash === null ? null : (bytes.get(hash) ?? (await hall.store.read.attachmentBytes(hash)));
    if (!original || !isUnseen(attachment)) return attachment;
    const seen = await seenForm(looking, { row, attachment, bytes: original }, signal);
    if (seen.bytes) bytes.set(seen.attachment.seen_sha256 ?? "", seen.bytes);
    return seen.attachment;
  };
  const seen = rows.map(async (row) => {
    return { ...row, attachments: await Promise.all(row.attachments.map((one) => look(row, one))) };
  });
  return { rows: await Promise.all(seen), bytes };
}

const NOT_YET: Transcriber = {
  name: "",
  transcribe: async () => ({ ok: false, why: "that is done when a turn takes it" }),
};

/** Of a deleted message nothing is made ready: no turn will use it. */
function waitingOf(row: MessageRow): Waiting[] {
  if (row.deleted_at !== null) return [];
  return row.attachments.flatMap((attachment, index) =>
    isPointer(attachment) || isUnseen(attachment) ? [{ row, index, attachment }] : [],
  );
}

function isPointer({ url, sha256, reason }: AttachmentRow): boolean {
  return url !== null && sha256 === null && reason === NOT_FETCHED;
}

function isUnseen({ state, sha256, seen_sha256 }: AttachmentRow): boolean {
  return state === "delivered" && sha256 !== null && seen_sha256 === undefined;
}

/** While one turn ends and the next begins, both may want the same file: what costs time and money is done once. */
const underWay = new WeakMap<Store, Map<string, Promise<AttachmentRow>>>();

async function prepareOnce(
  hall: Seeing,
  one: Waiting,
  claim: Claim | null,
  signal: AbortSignal,
): Promise<AttachmentRow> {
  const known = underWay.get(hall.store) ?? new Map<string, Promise<AttachmentRow>>();
  underWay.set(hall.store, known);
  const key = JSON.stringify([one.row.chat_jid, one.row.id, one.index]);
  // Whoever was at it may have lost its claim meanwhile; then it is ours to do.
  for (let other = known.get(key); other; other = known.get(key)) {
    const done = await other.catch(() => null);
    if (done) return done;
  }
  const work = prepare(hall, one, claim, signal).finally(() => known.delete(key));
  known.set(key, work);
  return work;
}

async function prepare(
  hall: Seeing,
  { row, index, attachment }: Waiting,
  claim: Claim | null,
  signal: AbortSignal,
): Promise<AttachmentRow> {
  const at = { type: "attachment", chat_jid: row.chat_jid, message_id: row.id, index } as const;
  const keep = async (kept: AttachmentRow, bytes: Uint8Array | null, more: Fact[] = []) => {
    const facts: Fact[] = [{ ...at, attachment: kept, bytes }, ...more];
    expectCommitted(await hall.store.commit({ expect: claim ? [leaseOf(claim)] : [], facts }));
    return kept;
  };
  const { url } = attachment;
  const fetched = url !== null && isPointer(attachment) ? await fetchFrom(hall, url, signal) : null;
  const bytes = fetched?.ok ? fetched.bytes : null;
  const here = fetched ? await keep(afterFetching(attachment, fetched), bytes) : attachment;
  if (!isUnseen(here)) return here;
  if (signal.aborted) return keep({ ...here, state: "unavailable", reason: NO_TIME }, null);
  const original = bytes ?? (await hall.store.read.attachmentBytes(here.sha256 ?? ""));
  if (!original) return here;
  const seen = await seenForm(hall, { row, attachment: here, bytes: original }, signal);
  return keep(seen.attachment, seen.bytes, seen.facts);
}

async function fetchFrom({ media }: Seeing, url: string, signal: AbortSignal): Promise<Fetched> {
  if (signal.aborted) return { ok: false, why: NO_TIME };
  try {
    return await media.fetch(url);
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

function afterFetching(attachment: AttachmentRow, answer: Fetched): AttachmentRow {
  if (!answer.ok) return { ...attachment, reason: answer.why };
  const { bytes } = answer;
  return { ...attachment, state: "delivered", reason: null, size: bytes.length, sha256: sha256(bytes) };
}
