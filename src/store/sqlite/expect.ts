import type { Expectation } from "../store.js";
import type { Prepare } from "./driver.js";
import { holdsLane } from "./lanes.js";
import { overBudget } from "../spending.js";
import { chatChange, personChange } from "../unchanged.js";
import { chatNow } from "./chats.js";
import { isFormer, personNow } from "./people.js";
import { spentOn } from "./spent.js";
import type { Refusal } from "./wire.js";

/** The first expectation that no longer holds, as the answer to whoever had it. */
export function firstUnmet(prepare: Prepare, expectations: readonly Expectation[]): Refusal | null {
  for (const expectation of expectations) {
    if (expectation.type === "lease") {
      if (!holdsLane(prepare, expectation)) return { status: "fenced", lane: expectation.lane };
      continue;
    }
    const why = whyNot(prepare, expectation);
    if (why !== null) return { status: "conflict", expectation, why };
  }
  return null;
}

function whyNot(prepare: Prepare, expected: Exclude<Expectation, { type: "lease" }>): string | null {
  switch (expected.type) {
    case "chat_absent":
      return isRegistered(prepare, expected.jid) ? `chat ${expected.jid} is already registered` : null;
    case "chat_present":
      return isRegistered(prepare, expected.jid) ? null : `chat ${expected.jid} is not registered`;
    case "chat_unchanged":
      return chatChange(expected.chat, chatNow(prepare, expected.chat.jid));
    case "person":
      return personChange(expected, personNow(prepare, expected.id), isFormer(prepare, expected.id));
    case "head": {
      const row = prepare("SELECT head FROM threads WHERE chat_jid = ? AND thread_id = ?").get(
        expected.chat_jid,
        expected.thread_id,
      );
      return (row?.head ?? null) === expected.entry_id ? null : "the head has moved";
    }
    case "revision": {
      const row = prepare("SELECT revision FROM messages WHERE id = ? AND chat_jid = ?").get(
        expected.message_id,
        expected.chat_jid,
      );
      if (!row) return `there is no message ${expected.message_id}`;
      return row.revision === expected.revision ? null : `the message is at revision ${row.revision}`;
    }
    case "delivery": {
      const row = prepare("SELECT state FROM outbox WHERE id = ?").get(expected.id);
      if (!row) return `there is no delivery ${expected.id}`;
      return row.state === expected.state ? null : `the delivery is ${row.state}`;
    }
    case "budget":
      return overBudget(expected, spentOn(prepare, expected.account, expected.day));
  }
}

export function isRegistered(prepare: Prepare, jid: string): boolean {
  return prepare("SELECT 1 AS found FROM chats WHERE jid = ? AND removed_at IS NULL").get(jid) !== undefined;
}

/** The outcome of an inbound message so far, or null when there is no such inbound message. */
export function outcomeOf(prepare: Prepare, chat_jid: string, message_id: string): string | null {
  const row = prepare(
    `SELECT i.outcome FROM messages m JOIN inbound i ON i.chat_jid = m.chat_jid AND i.seq = m.seq
     WHERE m.id = ? AND m.chat_jid = ?`,
  ).get(message_id, chat_jid);
  return row ? String(row.outcome) : null;
}
