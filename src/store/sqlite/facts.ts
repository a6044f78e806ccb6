import { erasedKey } from "../erased.js";
import { messageEvent, type NewEvent } from "../events.js";
import type { Prepare } from "./driver.js";
import type { Numbers } from "./numbers.js";
import { addWork } from "./lanes.js";
import { applyRare } from "./rare.js";
import { bytesOrNull, number, text } from "../rows/columns.js";
import type {
  PackedDelivery,
  PackedEvent,
  PackedFact,
  PackedInbound,
  PackedMessage,
  Refusal,
} from "./wire.js";

/** Write facts in their order. The numbers of the messages among them, or why none of it may be kept. */
export function applyFacts(
  prepare: Prepare,
  numbers: Numbers,
  facts: readonly PackedFact[],
): number[] | Refusal {
  const written: Written[] = [];
  for (const fact of facts) {
    const refusal = applyFact(prepare, numbers, fact, written);
    if (refusal) return refusal;
  }
  return written.map(({ seq }) => seq);
}

/** Messages of the batch so far. */
type Written = { chat_jid: string; id: string; seq: number };

function applyFact(prepare: Prepare, numbers: Numbers, fact: PackedFact, written: Written[]): Refusal | null {
  switch (fact[0]) {
    case "message": {
      const seq = insertMessage(prepare, numbers, fact);
      if (typeof seq !== "number") return seq;
      const [, id, chat_jid] = fact;
      written.push({ id, chat_jid, seq });
      log(prepare, messageEvent({ id, chat_jid, message_type: fact[8], timestamp: fact[6] }));
      return null;
    }
    case "inbound":
      return insertInbound(prepare, fact, written);
    case "work":
      return addWork(prepare, fact) ? null : conflict(`there is already work ${fact[1]}`);
    case "delivery":
      return insertDelivery(prepare, fact);
    case "event":
      logEvent(prepare, fact);
      return null;
    case "fact":
      if (fact[1].type === "chat") numbers.settle(fact[1].chat.jid);
      if (fact[1].type === "chat_removed") numbers.settle(fact[1].jid);
      if (fact[1].type === "senders_erased") numbers.erase();
      return applyRare(prepare, fact[1]);
  }
}

function insertMessage(prepare: Prepare, numbers: Numbers, fact: PackedMessage): number | Refusal {
  const [, id, chat_jid] = fact;
  const [dedupe_key, key, body_sha256] = [fact[13], fact[16], fact[17]];
  const seq = numbers.next(chat_jid);
  if (seq === null) return conflict(`chat ${chat_jid} is not registered`);
  const erased = numbers.hasErased(chat_jid) ? erasedAs(prepare, chat_jid, dedupe_key, key) : null;
  if (erased) return erased;
  const used = key === null ? null : claimKey(prepare, chat_jid, key, body_sha256 ?? "", id);
  if (used) return used;
  const { changes } = prepare(
    `INSERT INTO messages (id, chat_jid, sender, sender_name, content, timestamp, is_from_me, message_type, metadata,
       turn_id, call_id, part, dedupe_key, thread_id, untaken, seq)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(...fact.slice(1, 16), seq);
  return changes === 0 ? duplicateOf(prepare, chat_jid, id, dedupe_key) : seq;
}

/** An `Idempotency-Key` names one body, and with it one message. */
function claimKey(prepare: Prepare, chat_jid: string, key: string, body: string, id: string): Refusal | null {
  const { changes } = prepare(
    "INSERT INTO idempotency (chat_jid, key, body_sha256, message_id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  ).run(chat_jid, key, body, id);
  if (changes !== 0) return null;
  const used = prepare("SELECT body_sha256, message_id FROM idempotency WHERE chat_jid = ? AND key = ?").get(
    chat_jid,
    key,
  );
  if (used?.body_sha256 !== body) return conflict("this idempotency key was already used for another body");
  return duplicateOf(prepare, chat_jid, String(used.message_id), null);
}

function duplicateOf(prepare: Prepare, chat_jid: string, id: string, dedupe_key: string | null): Refusal {
  const row =
    dedupe_key === null
      ? undefined
      : prepare("SELECT id FROM messages WHERE chat_jid = ? AND dedupe_key = ?").get(chat_jid, dedupe_key);
  return { status: "duplicate", chat_jid, message_id: row ? text(row.id) : id };
}

/** The message that was erased under one of these keys. */
function erasedAs(
  prepare: Prepare,
  chat_jid: string,
  dedupe_key: string | null,
  idempotency_key: string | null,
): Refusal | null {
  const blockKey = bytesOrNull(
    prepare("SELECT block_key FROM chats WHERE jid = ?").get(chat_jid)?.block_key ?? null,
  );
  if (!blockKey) return null;
  const known = (kind: "dedupe" | "idempotency", key: string | null) =>
    key === null
      ? undefined
      : prepare("SELECT message_id FROM erased_keys WHERE chat_jid = ? AND sha256 = ?").get(
          chat_jid,
          erasedKey(blockKey, kind, key),
        );
  const row = known("idempotency", idempotency_key) ?? known("dedupe", dedupe_key);
  return row ? { status: "duplicate", chat_jid, message_id: text(row.message_id) } : null;
}

function insertInbound(prepare: Prepare, fact: PackedInbound, written: readonly Written[]): Refusal | null {
  const [, chat_jid, message_id, ...rest] = fact;
  const seq = seqOf(prepare, chat_jid, message_id, written);
  const refused = conflict(`there is no message ${message_id}, or it was already admitted`);
  if (seq === null) return refused;
  const { changes } = prepare(
    `INSERT INTO inbound (chat_jid, seq, message_id, admission, reason, outcome, outcome_reason, turn_id,
       received_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(chat_jid, seq, message_id, ...rest);
  return changes === 0 ? refused : null;
}

/** An inbound message mostly comes in one batch with its admission, so it need not be looked up. */
function seqOf(prepare: Prepare, chat_jid: string, id: string, written: readonly Written[]): number | null {
  const known = written.find((message) => message.id === id && message.chat_jid === chat_jid);
  if (known) return known.seq;
  const row = prepare("SELECT seq FROM messages WHERE id = ? AND chat_jid = ?").get(id, chat_jid);
  return row ? number(row.seq) : null;
}

function insertDelivery(prepare: Prepare, [, id, ...rest]: PackedDelivery): Refusal | null {
  const { changes } = prepare(
    `INSERT INTO outbox (id, chat_jid, message_id, revision, part, channel, address, thread_id, state, reason,
       external_id, attempts, last_error, retry_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(id, ...rest);
  return changes === 0 ? conflict(`there is already a delivery ${id}`) : null;
}

/** Write what the log says. */
export function log(prepare: Prepare, { chat_jid, type, at, refs }: NewEvent): void {
  logEvent(prepare, ["event", chat_jid, type, at, JSON.stringify(refs)]);
}

function logEvent(prepare: Prepare, [, chat_jid, type, at, refs]: PackedEvent): void {
  prepare("INSERT INTO events (chat_jid, type, at, refs) VALUES (?, ?, ?, ?)").run(chat_jid, type, at, refs);
}

export function conflict(why: string): Refusal {
  return { status: "conflict", expectation: null, why };
}
