import { ERASED_SENDER, type Erasure, type MessageRow } from "../../message/index.js";
import {
  alreadyErased,
  callsWith,
  ERASED,
  erasedKey,
  isTheirs,
  redactedCall,
  SOURCES_WITH_WORDS,
  withoutThreadContext,
} from "../erased.js";
import { messageChange } from "../events.js";
import { bytesOrNull, number, text, textOrNull } from "../rows/columns.js";
import type { Erasing } from "../store.js";
import type { Prepare } from "./driver.js";
import { conflict, log } from "./facts.js";
import { BUCKET, CHAT_SPAN } from "./indexer.js";
import type { Refusal } from "./wire.js";

/** What is erased in one chat. Ids as JSON, which is how a list goes into a statement. */
type Gone = { chat_jid: string; ids: string; at: string };

const LISTED = "IN (SELECT value FROM json_each(?))";

/** Leaves nothing of what these senders said; `scrub` then takes the traces out of the file. */
export function eraseSenders(prepare: Prepare, erasing: Erasing): Refusal | null {
  if (prepare("SELECT 1 AS found FROM erasures WHERE id = ?").get(erasing.id)) {
    return conflict(alreadyErased(erasing.id));
  }
  // What is overwritten is overwritten with zeros. The rewriting of the file does the same for what lies about already.
  prepare("PRAGMA secure_delete = ON").get();
  const { id, at, accounts } = erasing;
  const senders = JSON.stringify(erasing.senders);
  const found = { messages: 0, attachments: 0, receipts: 0, summaries: 0 };
  const names = new Set(erasing.names);
  for (const [chat_jid, said] of theirMessages(prepare, erasing)) {
    for (const name of said.names) names.add(name);
    const more = eraseInChat(prepare, chat_jid, said.ids, at);
    found.messages += more.messages;
    found.attachments += more.attachments;
    found.receipts += more.receipts;
    found.summaries += more.summaries;
  }
  prepare(
    `DELETE FROM attachment_bytes WHERE sha256 NOT IN (
       SELECT sha256 FROM attachments WHERE sha256 IS NOT NULL
       UNION ALL SELECT seen_sha256 FROM attachments WHERE seen_sha256 IS NOT NULL)`,
  ).run();
  prepare(`DELETE FROM labels WHERE sender ${LISTED}`).run(senders);
  prepare(`DELETE FROM addresses WHERE name ${LISTED} OR address ${LISTED}`).run(
    JSON.stringify([...names]),
    senders,
  );
  prepare(`DELETE FROM spent WHERE account ${LISTED}`).run(JSON.stringify(accounts));
  prepare(
    "INSERT INTO erasures (id, at, messages, attachments, receipts, summaries) VALUES (?, ?, ?, ?, ?, ?)",
  ).run(id, at, found.messages, found.attachments, found.receipts, found.summaries);
  return null;
}

/** By chat: what they said, and what they were called there. */
function theirMessages(prepare: Prepare, { senders }: Erasing) {
  const rows = prepare(
    `SELECT chat_jid, id, sender, sender_name, metadata FROM messages
     WHERE sender ${LISTED} OR (sender IN ('system', 'deploy') AND metadata ->> '$.sender_id' ${LISTED})
     ORDER BY chat_jid`,
  ).all(JSON.stringify(senders), JSON.stringify(senders));
  const chats = new Map<string, { ids: string[]; names: string[] }>();
  for (const row of rows) {
    const metadata: MessageRow["metadata"] = JSON.parse(text(row.metadata));
    if (!isTheirs({ sender: text(row.sender), metadata }, senders)) continue;
    const chat_jid = text(row.chat_jid);
    const said = chats.get(chat_jid) ?? { ids: [], names: [] };
    said.ids.push(text(row.id));
    if (row.sender_name !== "") said.names.push(text(row.sender_name));
    chats.set(chat_jid, said);
  }
  return chats;
}

type Found = Omit<Erasure, "id" | "at" | "scrubbed">;

function eraseInChat(prepare: Prepare, chat_jid: string, said: readonly string[], at: string): Found {
  const listed = JSON.stringify(said);
  const all = prepare(
    `SELECT id FROM messages WHERE chat_jid = ? AND (id ${LISTED}
       OR (message_type IN ('host', 'tool_result') AND (metadata ->> '$.answers' ${LISTED}
         OR EXISTS (SELECT 1 FROM json_each(metadata, '$.quotes') q WHERE q.value ${LISTED}))))
     ORDER BY seq`,
  )
    .all(chat_jid, listed, listed, listed)
    .map((row) => text(row.id));
  const gone: Gone = { chat_jid, ids: JSON.stringify(all), at };
  forgetKeys(prepare, gone);
  forgetIndex(prepare, gone);
  const attachments = prepare(`DELETE FROM attachments WHERE chat_jid = ? AND message_id ${LISTED}`).run(
    chat_jid,
    gone.ids,
  ).changes;
  prepare(`DELETE FROM revisions WHERE chat_jid = ? AND message_id ${LISTED}`).run(chat_jid, gone.ids);
  buryMessages(prepare, gone);
  const touched = [...all, ...forgetThreadContexts(prepare, chat_jid)];
  for (const id of touched) log(prepare, messageChange("message.revised", chat_jid, id, at));
  const summaries = forgetEntries(prepare, gone, touched);
  const receipts = redact(prepare, chat_jid, [...touched, ...summaries]);
  prepare("UPDATE chats SET erased = erased + ? WHERE jid = ?").run(touched.length, chat_jid);
  // Whoever holds a lane of the chat may have read what is gone.
  prepare(
    `UPDATE lanes SET fence = fence + 1, holder = NULL, lease_until = NULL, free_at = 0, tries = 0
     WHERE chat_jid = ? AND kind = 'turn' AND holder IS NOT NULL`,
  ).run(chat_jid);
  return { messages: all.length, attachments: Number(attachments), receipts, summaries: summaries.length };
}

/** Their keys stay taken, in a form that tells nobody what they were. */
function forgetKeys(prepare: Prepare, { chat_jid, ids }: Gone): void {
  const key = bytesOrNull(
    prepare("SELECT block_key FROM chats WHERE jid = ?").get(chat_jid)?.block_key ?? null,
  );
  const keep = (kind: "dedupe" | "idempotency", known: string, message_id: string): void => {
    if (!key) return;
    prepare("INSERT OR IGNORE INTO erased_keys (chat_jid, sha256, message_id) VALUES (?, ?, ?)").run(
      chat_jid,
      erasedKey(key, kind, known),
      message_id,
    );
  };
  const messages = prepare(
    `SELECT id, dedupe_key FROM messages WHERE chat_jid = ? AND id ${LISTED} AND dedupe_key IS NOT NULL`,
  ).all(chat_jid, ids);
  for (const row of messages) keep("dedupe", text(row.dedupe_key), text(row.id));
  const requests = prepare(
    `DELETE FROM idempotency WHERE chat_jid = ? AND message_id ${LISTED} RETURNING key, message_id`,
  ).all(chat_jid, ids);
  for (const row of requests) keep("idempotency", text(row.key), text(row.message_id));
}

/** Buckets with their words are taken out of the index now, and indexed again later. */
function forgetIndex(prepare: Prepare, { chat_jid, ids }: Gone): void {
  const buckets = prepare(
    `SELECT DISTINCT c.number, (m.seq - 1) / ${BUCKET} AS bucket FROM messages m JOIN chats c ON c.jid = m.chat_jid
     WHERE m.chat_jid = ? AND m.id ${LISTED} AND m.seq <= c.indexed_seq`,
  ).all(chat_jid, ids);
  for (const row of buckets) {
    const [chat, bucket] = [number(row.number), number(row.bucket)];
    prepare("INSERT OR IGNORE INTO search_stale (chat, bucket) VALUES (?, ?)").run(chat, bucket);
    prepare("DELETE FROM search WHERE rowid = ?").run(chat * CHAT_SPAN + bucket);
  }
}

function buryMessages(prepare: Prepare, { chat_jid, ids, at }: Gone): void {
  const waiting = prepare(
    `SELECT message_id FROM inbound WHERE chat_jid = ? AND outcome = 'pending' AND message_id ${LISTED} ORDER BY seq`,
  ).all(chat_jid, ids);
  for (const row of waiting) log(prepare, messageChange("outcome", chat_jid, text(row.message_id), at));
  prepare(
    `UPDATE inbound SET outcome = iif(outcome = 'pending', 'ignored', outcome), reason = ?, outcome_reason = ?
     WHERE chat_jid = ? AND seq IN (SELECT seq FROM messages WHERE chat_jid = ? AND id ${LISTED})`,
  ).run(ERASED, ERASED, chat_jid, chat_jid, ids);
  prepare(
    `UPDATE messages SET sender = ?, sender_name = '', content = '', metadata = '{}', dedupe_key = NULL, untaken = 0,
       untold = 0, attached = 0, revision = revision + 1, edited_at = NULL, deleted_at = ?
     WHERE chat_jid = ? AND id ${LISTED}`,
  ).run(ERASED_SENDER, at, chat_jid, ids);
  prepare(
    `UPDATE outbox SET reason = NULL, last_error = NULL WHERE chat_jid = ? AND message_id ${LISTED}`,
  ).run(chat_jid, ids);
}

/** Ids of the messages that came with what others had said before. */
function forgetThreadContexts(prepare: Prepare, chat_jid: string): string[] {
  const rows = prepare(
    `SELECT id, metadata FROM messages
     WHERE chat_jid = ? AND metadata LIKE '%thread_context%' AND typeof(metadata -> '$.thread_context') = 'text'
     ORDER BY seq`,
  ).all(chat_jid);
  const ids: string[] = [];
  for (const row of rows) {
    const metadata: MessageRow["metadata"] = JSON.parse(text(row.metadata));
    if (typeof metadata.thread_context !== "string") continue;
    const left = JSON.stringify(withoutThreadContext(metadata));
    prepare("UPDATE messages SET metadata = ? WHERE id = ? AND chat_jid = ?").run(
      left,
      text(row.id),
      chat_jid,
    );
    ids.push(text(row.id));
  }
  return ids;
}

/** Empties their entries, and the summaries made since the first of what is touched. Gives the ids of those. */
function forgetEntries(prepare: Prepare, { chat_jid, ids, at }: Gone, touched: readonly string[]): string[] {
  prepare(`UPDATE entries SET data = '{}' WHERE chat_jid = ? AND message_id ${LISTED}`).run(chat_jid, ids);
  return prepare(
    `UPDATE entries SET data = ? WHERE chat_jid = ? AND kind IN ('compaction', 'branch_summary')
       AND n > (SELECT min(n) FROM entries WHERE chat_jid = ? AND message_id ${LISTED})
     RETURNING id`,
  )
    .all(JSON.stringify({ erased: at }), chat_jid, chat_jid, JSON.stringify(touched))
    .map((row) => text(row.id));
}

/** A summary that was made in several goes names only what its last one read. */
const SUMMARY = "c.envelope ->> '$.purpose' IN ('compaction', 'branch_summary')";

/** Takes the bytes out of blocks that hold their words. How many receipts had one of them. */
function redact(prepare: Prepare, chat_jid: string, sources: readonly string[]): number {
  const held = prepare(
    `SELECT DISTINCT b.block_id FROM calls c JOIN call_blocks b ON b.call_id = c.id, json_each(b.sources) s
     WHERE c.chat_jid = ? AND s.value ->> '$.type' ${LISTED} AND (${SUMMARY} OR s.value ->> '$.id' ${LISTED})`,
  ).all(chat_jid, JSON.stringify(SOURCES_WITH_WORDS), JSON.stringify(sources));
  const blocks = JSON.stringify(held.map((row) => text(row.block_id)));
  prepare(`UPDATE blocks SET bytes = NULL WHERE chat_jid = ? AND id ${LISTED}`).run(chat_jid, blocks);
  const own = prepare(
    `SELECT b.call_id, min(b.position) AS place FROM calls c JOIN call_blocks b ON b.call_id = c.id
     WHERE c.chat_jid = ? AND b.block_id ${LISTED} GROUP BY b.call_id`,
  ).all(chat_jid, blocks);
  const calls = prepare("SELECT id, base_call_id, base_count FROM calls WHERE chat_jid = ? ORDER BY n").all(
    chat_jid,
  );
  const redacted = callsWith(
    new Map(own.map((row) => [text(row.call_id), number(row.place)])),
    calls.map((row) => ({
      id: text(row.id),
      base: textOrNull(row.base_call_id),
      base_count: number(row.base_count),
    })),
  );
  for (const id of redacted) redactCall(prepare, id);
  return redacted.length;
}

function redactCall(prepare: Prepare, id: string): void {
  const row = prepare(`SELECT c.envelope, ${SUMMARY} AS is_summary FROM calls c WHERE c.id = ?`).get(id);
  if (!row) return;
  const envelope = JSON.stringify(redactedCall(JSON.parse(text(row.envelope))));
  prepare("UPDATE calls SET envelope = ? WHERE id = ?").run(envelope, id);
  // What has been streamed so far; of a summary, also what came with it.
  prepare("DELETE FROM call_parts WHERE call_id = ? AND (type IS NOT NULL OR ?)").run(
    id,
    number(row.is_summary),
  );
}
