import type { MessageRow } from "../../../message/index.js";
import { holds, termsOf } from "../../search.js";
import { number, text } from "../../rows/columns.js";
import type { StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { BUCKET, gramsOf } from "../indexer.js";
import { first } from "./first.js";
import { MESSAGE, messagesOf } from "./rows.js";

/** Messages compared in one go, of those the index does not know. */
const SLICE = 500;
/** Buckets the index is asked for in one go. */
const PAGE = 16;

type Chat = { jid: string; number: number; last_seq: number; indexed_seq: number };

export function searchReads(query: Query): Pick<StoreReads, "search"> {
  return {
    search: async (chat_jid, words, limit) => {
      const terms = termsOf(words);
      if (terms.length === 0 || limit <= 0) return [];
      const chat = await chatOf(query, chat_jid);
      if (!chat) return [];
      const found: number[] = [];
      for await (const seq of newestFirst(query, chat, terms)) {
        if (found.push(seq) >= limit) break;
      }
      return bySeq(query, chat_jid, found);
    },
  };
}

function chatOf(query: Query, jid: string): Promise<Chat | null> {
  return first(query("SELECT number, last_seq, indexed_seq FROM chats WHERE jid = $1", jid), (row) => ({
    jid,
    number: number(row.number),
    last_seq: number(row.last_seq),
    indexed_seq: number(row.indexed_seq),
  }));
}

/** Numbers of messages that hold the terms: first what is not indexed yet, then what the index points to. */
async function* newestFirst(query: Query, chat: Chat, terms: readonly string[]): AsyncGenerator<number> {
  for (let high = chat.last_seq; high > chat.indexed_seq; high -= SLICE) {
    const low = Math.max(chat.indexed_seq, high - SLICE) + 1;
    const rows = await query(
      "SELECT seq, content FROM messages WHERE chat_jid = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq DESC",
      chat.jid,
      low,
      high,
    );
    yield* holding(rows, terms);
  }
  for await (const buckets of pages(query, chat, terms)) {
    const rows = await query(
      "SELECT seq, content FROM messages WHERE chat_jid = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq DESC",
      chat.jid,
      buckets.flatMap((bucket) => Array.from({ length: BUCKET }, (_, index) => bucket * BUCKET + index + 1)),
    );
    yield* holding(rows, terms);
  }
}

function holding(rows: readonly Row[], terms: readonly string[]): number[] {
  return rows.filter(({ content }) => holds(text(content), terms)).map(({ seq }) => number(seq));
}

/** Buckets that may hold the terms, the newest first: as the index says, and those it is not up to date about. */
async function* pages(query: Query, chat: Chat, terms: readonly string[]): AsyncGenerator<number[]> {
  const grams = gramsOf(terms);
  let below = chat.indexed_seq / BUCKET;
  while (below > 0) {
    // In one statement, so of one moment: a bucket is up to date in the index, or it is stale.
    const rows = await query(
      `(SELECT bucket FROM search WHERE chat = $1 AND bucket < $3 AND grams @> $2::integer[]
        ORDER BY bucket DESC LIMIT $4)
       UNION (SELECT bucket FROM search_stale WHERE chat = $1 AND bucket < $3 ORDER BY bucket DESC LIMIT $4)
       ORDER BY bucket DESC LIMIT $4`,
      chat.number,
      grams,
      below,
      PAGE,
    );
    const page = rows.map((row) => number(row.bucket));
    if (page.length > 0) yield page;
    below = page.length < PAGE ? 0 : (page.at(-1) ?? 0);
  }
}

async function bySeq(query: Query, chat_jid: string, seqs: number[]): Promise<MessageRow[]> {
  const rows = await query(
    `SELECT ${MESSAGE} FROM messages m WHERE chat_jid = $1 AND seq = ANY ($2::bigint[]) ORDER BY seq`,
    chat_jid,
    seqs,
  );
  return messagesOf(query, chat_jid, rows);
}
