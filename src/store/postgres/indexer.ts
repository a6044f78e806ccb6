import { setTimeout } from "node:timers/promises";
import { addGrams, gramsToFind } from "../search.js";
import { number, text } from "../rows/columns.js";
import { type Query, unavailability } from "./connect.js";

/**
 * The index knows which stretches of up to three characters occur in which bucket of a chat, not in which message, and
 * it knows them as numbers only. Going through the buckets of a chat, the newest first, is a fiftieth of going through
 * its messages; those of the buckets found are then read and compared. Only full buckets are indexed: what came after
 * them is few enough to be read as it is.
 */

/** Messages in a bucket. The function that revises a message counts in the same. */
export const BUCKET = 64;

/** A pause after each bucket: storing messages matters more. */
const PAUSE_MS = 20;

type Bucket = { chat: number; jid: string; bucket: number; stale: boolean };

/** Does what there is to index, a bucket at a time, until nothing is left or it is told to stop. */
export async function indexAll(query: Query, stopped: () => boolean): Promise<void> {
  try {
    for (let next = await nextBucket(query); next && !stopped(); next = await nextBucket(query)) {
      await indexBucket(query, next);
      await setTimeout(PAUSE_MS);
    }
  } catch (error) {
    if (unavailability(error) === null) throw error;
  }
}

async function nextBucket(query: Query): Promise<Bucket | null> {
  const [row] = await query(
    `(SELECT c.number, c.jid, s.bucket, 1 AS stale FROM search_stale s JOIN chats c ON c.number = s.chat LIMIT 1)
     UNION ALL
     (SELECT number, jid, indexed_seq / ${BUCKET}, 0 FROM chats WHERE last_seq - indexed_seq >= ${BUCKET} LIMIT 1)
     LIMIT 1`,
  );
  if (!row) return null;
  return {
    chat: number(row.number),
    jid: text(row.jid),
    bucket: number(row.bucket),
    stale: row.stale === 1,
  };
}

/** Kept only if no word of the bucket changed while we looked, and nobody else was faster. */
async function indexBucket(query: Query, { chat, jid, bucket, stale }: Bucket): Promise<void> {
  const rows = await query(
    "SELECT content, revision FROM messages WHERE chat_jid = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq",
    jid,
    bucket * BUCKET + 1,
    (bucket + 1) * BUCKET,
  );
  const grams = new Set<string>();
  for (const row of rows) addGrams(text(row.content), grams);
  const revisions = rows.reduce((sum, row) => sum + number(row.revision), 0);
  await query(
    "SELECT longhand_index($1, $2, $3, $4::integer[], $5, $6)",
    chat,
    jid,
    bucket,
    [...new Set([...grams].map(keyOf))],
    revisions,
    stale,
  );
}

/** What a bucket must have to hold the terms. */
export function gramsOf(terms: readonly string[]): number[] {
  return gramsToFind(terms).map(keyOf);
}

/** A gram as a number (FNV-1a). Two that share one cost a bucket read in vain, no more. */
function keyOf(gram: string): number {
  let key = 0x811c9dc5;
  for (let at = 0; at < gram.length; at++) key = Math.imul(key ^ gram.charCodeAt(at), 0x01000193);
  return key | 0;
}
