import { ERASED_SENDER } from "../../message/index.js";
import { type DeliveryOf, eventsOf } from "../events.js";
import type { Entry, Fact, Turn } from "../store.js";
import { endCall, forgetTools, keepPartial, keepTool, startCall } from "./calls.js";
import { keepChat, keepLabel, keepLoginCode, keepToken, knock, removeChat, useLoginCode } from "./chats.js";
import type { Prepare } from "./driver.js";
import { eraseSenders } from "./erase.js";
import { expireReceipts } from "./expire.js";
import { outcomeOf } from "./expect.js";
import { conflict, log } from "./facts.js";
import { markStale } from "./indexer.js";
import { hastenLane } from "./lanes.js";
import { keepPerson, removePerson } from "./people.js";
import { spend } from "./spent.js";
import { text } from "../rows/columns.js";
import type { RareFact, Refusal } from "./wire.js";

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** Facts that do not come with every message. */
export function applyRare(prepare: Prepare, fact: RareFact): Refusal | null {
  switch (fact.type) {
    case "outcome":
      return decideOutcome(prepare, fact);
    case "revision":
      return revise(prepare, fact);
    case "edit_told":
      return tellEdit(prepare, fact);
    case "attachment":
      return attach(prepare, fact);
    case "lane_due":
      hastenLane(prepare, fact.lane, fact.run_at);
      return null;
    case "delivery_state":
      return moveDelivery(prepare, fact);
    case "turn_started":
      return startTurn(prepare, fact.turn);
    case "turn_ended":
      return endTurn(prepare, fact);
    case "entry":
      return addEntry(prepare, fact.entry);
    case "head":
      return moveHead(prepare, fact);
    case "label":
      return keepLabel(prepare, fact);
    case "call_started":
      return startCall(prepare, fact.call, fact.request);
    case "call_partial":
      return keepPartial(prepare, fact.call_id, fact.parts);
    case "call_ended":
      return endCall(prepare, fact.call, fact.leftovers);
    case "tool_done":
      return keepTool(prepare, fact);
    case "tools_written":
      return forgetTools(prepare, fact.call_id);
    case "receipts_expired":
      return expireReceipts(prepare, fact);
    case "senders_erased":
      return eraseSenders(prepare, fact.erasing);
    case "spent":
      return spend(prepare, fact);
    case "chat":
      return keepChat(prepare, fact.chat, fact.at);
    case "chat_removed":
      return removeChat(prepare, fact.jid, fact.at);
    case "knock":
      return knock(prepare, fact);
    case "person":
      return keepPerson(prepare, fact.person);
    case "person_removed":
      return removePerson(prepare, fact.id);
    case "token":
      return keepToken(prepare, fact.token);
    case "token_removed":
      prepare("DELETE FROM tokens WHERE id = ?").run(fact.id);
      return null;
    case "login_code":
      return keepLoginCode(prepare, fact);
    case "login_code_used":
      return useLoginCode(prepare, fact.sha256);
  }
}

function decideOutcome(prepare: Prepare, fact: Of<"outcome">): Refusal | null {
  const { changes } = prepare(
    `UPDATE inbound SET outcome = ?, outcome_reason = ?, turn_id = ?
     WHERE outcome = 'pending' AND chat_jid = ?
       AND seq = (SELECT seq FROM messages WHERE id = ? AND chat_jid = ?)`,
  ).run(fact.outcome, fact.reason, fact.turn_id, fact.chat_jid, fact.message_id, fact.chat_jid);
  if (changes !== 0) return null;
  const outcome = outcomeOf(prepare, fact.chat_jid, fact.message_id);
  if (outcome === null) return conflict(`message ${fact.message_id} is not an inbound message`);
  return conflict(`message ${fact.message_id} already ended: ${outcome}`);
}

/** The newest words go into the message; the ones before stay readable beside it. */
function revise(prepare: Prepare, fact: Of<"revision">): Refusal | null {
  const row = prepare("SELECT revision, deleted_at FROM messages WHERE id = ? AND chat_jid = ?").get(
    fact.message_id,
    fact.chat_jid,
  );
  if (!row) return conflict(`there is no message ${fact.message_id}`);
  if (row.deleted_at !== null) return conflict(`message ${fact.message_id} is deleted`);
  prepare(
    `INSERT INTO revisions (chat_jid, message_id, revision, content, at)
     SELECT chat_jid, id, revision, content, coalesce(edited_at, timestamp) FROM messages WHERE id = ? AND chat_jid = ?`,
  ).run(fact.message_id, fact.chat_jid);
  const column = fact.content === null ? "deleted_at" : "edited_at";
  const untold = fact.content === null ? "0" : WAS_TAKEN;
  prepare(
    `UPDATE messages SET content = ?, revision = revision + 1, ${column} = ?, untold = ${untold}
     WHERE id = ? AND chat_jid = ?`,
  ).run(fact.content ?? "", fact.at, fact.message_id, fact.chat_jid);
  markStale(prepare, fact.chat_jid, fact.message_id);
  if (fact.content === null) forgetSummaries(prepare, fact);
  return null;
}

/** A summary that may say what is deleted is not read any more: what it covered is, without that. */
function forgetSummaries(prepare: Prepare, { chat_jid, message_id, at }: Of<"revision">): void {
  prepare(
    `UPDATE entries SET data = ? FROM messages m
     WHERE m.id = ? AND m.chat_jid = ? AND m.message_type NOT IN ('host', 'system')
       AND entries.chat_jid = ? AND entries.kind IN ('compaction', 'branch_summary')
       AND (m.message_type <> 'user' OR entries.thread_id = m.thread_id)
       AND entries.data ->> '$.covers.seq' >= m.seq`,
  ).run(JSON.stringify({ erased: at }), message_id, chat_jid, chat_jid);
}

/** Did a turn put what a person said on the tree? Commands, and what was ignored, never get there. */
const WAS_TAKEN = `message_type = 'user' AND untaken = 0 AND NOT EXISTS (
  SELECT 1 FROM inbound i WHERE i.chat_jid = messages.chat_jid AND i.seq = messages.seq
    AND (i.admission = 'command' OR i.outcome = 'ignored'))`;

function tellEdit(prepare: Prepare, { chat_jid, message_id, revision }: Of<"edit_told">): null {
  prepare("UPDATE messages SET untold = 0 WHERE id = ? AND chat_jid = ? AND revision = ?").run(
    message_id,
    chat_jid,
    revision,
  );
  return null;
}

function attach(prepare: Prepare, fact: Of<"attachment">): Refusal | null {
  const row = prepare(
    "UPDATE messages SET attached = (sender <> ?) WHERE id = ? AND chat_jid = ? RETURNING attached",
  ).get(ERASED_SENDER, fact.message_id, fact.chat_jid);
  if (!row) return conflict(`there is no message ${fact.message_id}`);
  // Nothing is attached to a tombstone, though it was on its way.
  if (row.attached === 0) return null;
  const { name, mime_type, size, sha256, state, reason, url } = fact.attachment;
  const { seen_sha256 = null, transcript = null } = fact.attachment;
  const about = [name, mime_type, size, sha256, state, reason, url, seen_sha256, transcript];
  prepare(
    `INSERT OR REPLACE INTO attachments (chat_jid, message_id, position, name, mime_type, size, sha256, state, reason, url,
       seen_sha256, transcript)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(fact.chat_jid, fact.message_id, fact.index, ...about);
  const hash = seen_sha256 ?? sha256;
  if (fact.bytes && hash !== null) {
    prepare("INSERT OR IGNORE INTO attachment_bytes (sha256, bytes) VALUES (?, ?)").run(hash, fact.bytes);
  }
  return null;
}

function moveDelivery(prepare: Prepare, fact: Of<"delivery_state">): Refusal | null {
  const row = prepare(
    `UPDATE outbox SET state = ?, reason = ?, external_id = ?, attempts = ?, last_error = ?, retry_at = ? WHERE id = ?
     RETURNING chat_jid, message_id`,
  ).get(fact.state, fact.reason, fact.external_id, fact.attempts, fact.last_error, fact.retry_at, fact.id);
  if (!row) return conflict(`there is no delivery ${fact.id}`);
  const delivery: DeliveryOf = { chat_jid: text(row.chat_jid), message_id: text(row.message_id) };
  for (const event of eventsOf(fact, fact.at, delivery)) log(prepare, event);
  return null;
}

function startTurn(prepare: Prepare, turn: Turn): Refusal | null {
  const { changes } = prepare(
    `INSERT INTO turns (id, chat_jid, thread_id, trigger_id, started_at, status, ended_at, interruptions)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(
    turn.id,
    turn.chat_jid,
    turn.thread_id,
    turn.trigger_id,
    turn.started_at,
    turn.status,
    turn.ended_at,
    turn.interruptions,
  );
  return changes === 0 ? conflict(`there is already a turn ${turn.id}`) : null;
}

function endTurn(prepare: Prepare, fact: Of<"turn_ended">): Refusal | null {
  const { changes } = prepare(
    "UPDATE turns SET status = ?, ended_at = ? WHERE id = ? AND chat_jid = ? AND status = 'running'",
  ).run(fact.status, fact.at, fact.turn_id, fact.chat_jid);
  return changes === 0 ? conflict(`turn ${fact.turn_id} is not running`) : null;
}

function addEntry(prepare: Prepare, entry: Entry): Refusal | null {
  const { id, chat_jid, thread_id, parent, kind, message_id, turn_id, at } = entry;
  if (parent !== null && !hasEntry(prepare, chat_jid, parent)) return conflict(`there is no entry ${parent}`);
  if (message_id !== null && !take(prepare, chat_jid, message_id)) {
    return conflict(`there is no message ${message_id}`);
  }
  const { changes } = prepare(
    `INSERT INTO entries (id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, JSON.stringify(entry.data));
  return changes === 0 ? conflict(`there is already an entry ${id}`) : null;
}

/** A message on the tree waits no longer. */
function take(prepare: Prepare, chat_jid: string, message_id: string): boolean {
  const row = prepare("SELECT untaken FROM messages WHERE id = ? AND chat_jid = ?").get(message_id, chat_jid);
  if (!row) return false;
  if (row.untaken === 1) {
    prepare("UPDATE messages SET untaken = 0 WHERE id = ? AND chat_jid = ?").run(message_id, chat_jid);
  }
  return true;
}

function hasEntry(prepare: Prepare, chat_jid: string, id: string): boolean {
  return (
    prepare("SELECT 1 AS found FROM entries WHERE id = ? AND chat_jid = ?").get(id, chat_jid) !== undefined
  );
}

function moveHead(prepare: Prepare, fact: Of<"head">): Refusal | null {
  const { chat_jid, thread_id, entry_id, reason, at } = fact;
  if (entry_id !== null && !hasEntry(prepare, chat_jid, entry_id))
    return conflict(`there is no entry ${entry_id}`);
  prepare(
    `INSERT INTO head_moves (chat_jid, thread_id, from_entry, to_entry, reason, at)
     VALUES (?, ?, (SELECT head FROM threads WHERE chat_jid = ? AND thread_id = ?), ?, ?, ?)`,
  ).run(chat_jid, thread_id, chat_jid, thread_id, entry_id, reason, at);
  prepare(
    `INSERT INTO threads (chat_jid, thread_id, head) VALUES (?, ?, ?)
     ON CONFLICT (chat_jid, thread_id) DO UPDATE SET head = excluded.head`,
  ).run(chat_jid, thread_id, entry_id);
  return null;
}
