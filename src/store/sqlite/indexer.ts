import { addGrams } from "../search.js";
import { number, text } from "../rows/columns.js";
import { waitForDisk } from "./connect.js";
import { type Database, type Prepare, unavailability } from "./driver.js";
import { rollback } from "./migrate.js";

/**
 * The index knows which stretches of up to three characters occur in which bucket of a chat, not in which message:
 * that makes it small, and even the most common word a short list. The messages of a bucket are then read and compared.
 * Only full buckets are indexed. What came after them is few enough to be read as it is.
 */

/** Messages in a bucket. */
export const BUCKET = 64;
/** A bucket's row in the index: its chat's number times this, plus which bucket of the chat it is. */
export const CHAT_SPAN = 2 ** 32;
/** Between control characters, which no gram holds, the index takes grams as they are. */
const SEPARATOR = "\u0001";
/** Characters looked at before a write that waits may go first. */
const PIECE = 32_768;
/** Pieces overlap, so that no word is cut in two. */
const OVERLAP = 256;

type Bucket = { chat: number; chat_jid: string; index: number; stale: boolean };

/** Does what there is to index, pausing now and then. Ends when nothing is left. */
export function* indexing(db: Database): Generator<void, void> {
  for (let bucket = nextBucket(db.prepare); bucket; bucket = nextBucket(db.prepare)) {
    const before = revisionsIn(db.prepare, bucket);
    const grams = new Set<string>();
    for (const piece of piecesOf(db.prepare, bucket)) {
      addGrams(piece, grams);
      yield;
    }
    if (!keep(db, bucket, grams, before)) return;
    yield;
  }
}

/** A bucket with a message that was revised since, or one that became full. */
function nextBucket(prepare: Prepare): Bucket | null {
  const stale = prepare(
    "SELECT c.number, c.jid, s.bucket FROM search_stale s JOIN chats c ON c.number = s.chat LIMIT 1",
  ).get();
  if (stale) {
    return {
      chat: number(stale.number),
      chat_jid: text(stale.jid),
      index: number(stale.bucket),
      stale: true,
    };
  }
  const full = prepare(
    `SELECT number, jid, indexed_seq FROM chats WHERE last_seq - indexed_seq >= ${BUCKET} LIMIT 1`,
  ).get();
  if (!full) return null;
  const index = number(full.indexed_seq) / BUCKET;
  return { chat: number(full.number), chat_jid: text(full.jid), index, stale: false };
}

function* piecesOf(prepare: Prepare, bucket: Bucket): Generator<string> {
  const rows = prepare("SELECT content FROM messages WHERE chat_jid = ? AND seq BETWEEN ? AND ?").all(
    bucket.chat_jid,
    bucket.index * BUCKET + 1,
    (bucket.index + 1) * BUCKET,
  );
  const whole = rows.map(({ content }) => text(content)).join("\n");
  for (let at = 0; at < whole.length; at += PIECE) yield whole.slice(at, at + PIECE + OVERLAP);
}

/** Changes when a message of the bucket is revised. */
function revisionsIn(prepare: Prepare, bucket: Bucket): number {
  const row = prepare(
    "SELECT total(revision) AS revisions FROM messages WHERE chat_jid = ? AND seq BETWEEN ? AND ?",
  ).get(bucket.chat_jid, bucket.index * BUCKET + 1, (bucket.index + 1) * BUCKET);
  return number(row?.revisions);
}

/** Write a bucket to the index, unless its words changed while we read them. False when the database refuses now. */
function keep(db: Database, bucket: Bucket, grams: ReadonlySet<string>, before: number): boolean {
  const { prepare } = db;
  try {
    waitForDisk(db, false);
    prepare("BEGIN IMMEDIATE").run();
    if (revisionsIn(prepare, bucket) === before) replace(prepare, bucket, grams);
    prepare("COMMIT").run();
    return true;
  } catch (error) {
    rollback(db);
    if (unavailability(error) === null) throw error;
    return false;
  }
}

function replace(prepare: Prepare, { chat, index, stale }: Bucket, grams: ReadonlySet<string>): void {
  const row = chat * CHAT_SPAN + index;
  prepare("DELETE FROM search WHERE rowid = ?").run(row);
  prepare("INSERT INTO search (rowid, grams) VALUES (?, ?)").run(row, [...grams].join(SEPARATOR));
  if (stale) prepare("DELETE FROM search_stale WHERE chat = ? AND bucket = ?").run(chat, index);
  else prepare("UPDATE chats SET indexed_seq = ? WHERE number = ?").run((index + 1) * BUCKET, chat);
}

/** A revised message may have words that its bucket does not know. */
export function markStale(prepare: Prepare, chat_jid: string, message_id: string): void {
  prepare(
    `INSERT OR IGNORE INTO search_stale (chat, bucket)
     SELECT c.number, (m.seq - 1) / ${BUCKET} FROM messages m JOIN chats c ON c.jid = m.chat_jid
     WHERE m.id = ? AND m.chat_jid = ? AND m.seq <= c.indexed_seq`,
  ).run(message_id, chat_jid);
}
