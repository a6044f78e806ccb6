import { createHash } from "node:crypto";
import { addGrams, gramsToFind } from "../search.js";
import { number, text } from "../sqlite/columns.js";
import { type Query, unavailability } from "./connect.js";

/**
 * The index knows which stretches of up to three characters occur in which bucket of a chat, not in which message, and
 * it knows them as numbers only. The messages of a bucket are then read and compared. Only full buckets are indexed:
 * what came after them is few enough to be read as it is.
 */

/** Messages in a bucket. The function that revises a message counts in the same. */
export const BUCKET = 64;

type Bucket = { chat: number; jid: string; bucket: number; stale: boolean };

/** Does what there is to index, a bucket at a time, until nothing is left or it is told to stop. */
export async function indexAll(query: Query, stopped: () => boolean): Promise<void> {
  try {
    for (let next = await nextBucket(query); next && !stopped(); next = await nextBucket(query)) {
      await indexBucket(query, next);
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
    "SELECT longhand_index($1, $2, $3, $4::bigint[], $5, $6)",
    chat,
    jid,
    bucket,
    [...grams].map((gram) => keyOf(chat, gram)),
    revisions,
    stale,
  );
}

/** What a bucket of this chat must have to hold the terms. */
export function gramsOf(chat: number, terms: readonly string[]): string[] {
  return gramsToFind(terms).map((gram) => keyOf(chat, gram));
}

/** A gram of a chat as a number: one index serves all chats without one chat's words leading to another's. */
function keyOf(chat: number, gram: string): string {
  return createHash("sha256").update(`${chat} ${gram}`).digest().readBigInt64LE(0).toString();
}
