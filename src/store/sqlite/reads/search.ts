import { setImmediate } from "node:timers/promises";
import type { MessageRow } from "../../../message/index.js";
import { gramsToFind, holds, termsOf } from "../../search.js";
import type { StoreReads } from "../../store.js";
import { number, text } from "../../rows/columns.js";
import type { Prepare } from "../driver.js";
import { BUCKET, CHAT_SPAN } from "../indexer.js";
import { messagesOf } from "./lookup.js";
import { MESSAGE } from "./rows.js";

/** Buckets asked of the index at a time. */
const PAGE = 50;
/** Messages compared before others on the event loop go first. */
const SLICE = 500;

type Chat = { jid: string; number: number; last_seq: number; indexed_seq: number };

export function searchReads(prepare: Prepare): Pick<StoreReads, "search"> {
  return {
    search: async (chat_jid, words, limit) => {
      const terms = termsOf(words);
      const chat = chatOf(prepare, chat_jid);
      if (terms.length === 0 || !chat || limit <= 0) return [];
      const found: number[] = [];
      for await (const seq of newestFirst(prepare, chat, terms)) {
        if (found.push(seq) >= limit) break;
      }
      return bySeq(prepare, chat_jid, found);
    },
  };
}

function chatOf(prepare: Prepare, jid: string): Chat | null {
  const row = prepare("SELECT number, last_seq, indexed_seq FROM chats WHERE jid = ?").get(jid);
  if (!row) return null;
  return {
    jid,
    number: number(row.number),
    last_seq: number(row.last_seq),
    indexed_seq: number(row.indexed_seq),
  };
}

/** Numbers of messages that hold the terms: first what is not indexed yet, then what the index points to. */
async function* newestFirst(prepare: Prepare, chat: Chat, terms: readonly string[]): AsyncGenerator<number> {
  for (let high = chat.last_seq; high > chat.indexed_seq; high -= SLICE) {
    yield* compare(prepare, chat, Math.max(chat.indexed_seq, high - SLICE) + 1, high, terms);
    await setImmediate();
  }
  for (const bucket of buckets(prepare, chat, terms)) {
    yield* compare(prepare, chat, bucket * BUCKET + 1, (bucket + 1) * BUCKET, terms);
    await setImmediate();
  }
}

/** Buckets that may hold the terms, the newest first: as the index says, and those it is not up to date about. */
function* buckets(prepare: Prepare, chat: Chat, terms: readonly string[]): Generator<number> {
  // Before the index is asked: a bucket brought up to date in between is then among both.
  const stale = prepare("SELECT bucket FROM search_stale WHERE chat = ? ORDER BY bucket DESC")
    .all(chat.number)
    .map(({ bucket }) => number(bucket));
  const match = gramsToFind(terms).map(quoted).join(" AND ");
  const start = chat.number * CHAT_SPAN;
  let below = chat.indexed_seq / BUCKET;
  while (below > 0) {
    const page = prepare(
      "SELECT rowid FROM search WHERE search MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
    )
      .all(match, start, start + below, PAGE)
      .map(({ rowid }) => number(rowid) - start);
    const lowest = page.length < PAGE ? 0 : (page.at(-1) ?? 0);
    const passed = stale.filter((bucket) => bucket >= lowest && bucket < below);
    yield* [...new Set([...page, ...passed])].sort((a, b) => b - a);
    below = lowest;
  }
}

/** The messages of a stretch that hold the terms, the newest first. */
function compare(
  prepare: Prepare,
  chat: Chat,
  low: number,
  high: number,
  terms: readonly string[],
): number[] {
  return prepare(
    "SELECT seq, content FROM messages WHERE chat_jid = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC",
  )
    .all(chat.jid, low, high)
    .filter(({ content }) => holds(text(content), terms))
    .map(({ seq }) => number(seq));
}

function bySeq(prepare: Prepare, chat_jid: string, seqs: number[]): MessageRow[] {
  const rows = prepare(
    `SELECT ${MESSAGE} FROM json_each(?) wanted CROSS JOIN messages m ON m.chat_jid = ? AND m.seq = wanted.value
     ORDER BY m.seq`,
  ).all(JSON.stringify(seqs), chat_jid);
  return messagesOf(prepare, chat_jid, rows);
}

/** In quotes, so that nothing a person typed is syntax to the index. */
function quoted(gram: string): string {
  return `"${gram.replaceAll('"', '""')}"`;
}
