import type { Delivery, LoggedEvent } from "../message/index.js";
import type { Fact } from "./store.js";

export type NewEvent = Omit<LoggedEvent, "cursor">;

/** What an event about a delivery must know that a change of its state does not say. */
export type DeliveryOf = Pick<Delivery, "chat_jid" | "message_id">;

/**
 * What the log says about a fact: references, never words. Every store writes exactly these.
 * `at` stands in where the fact itself has no time; `delivery` is the one a `delivery_state` is about.
 */
export function eventsOf(fact: Fact, at: string, delivery: DeliveryOf | null): NewEvent[] {
  switch (fact.type) {
    case "message":
      return [messageEvent(fact.message)];
    case "inbound": {
      const { chat_jid, message_id, outcome } = fact.inbound;
      return outcome === "pending" ? [] : [event("outcome", chat_jid, at, { message_id })];
    }
    case "outcome":
      return [messageChange("outcome", fact.chat_jid, fact.message_id, fact.at)];
    case "revision":
      return [messageChange("message.revised", fact.chat_jid, fact.message_id, fact.at)];
    case "turn_started": {
      const { id, trigger_id, thread_id, chat_jid, started_at } = fact.turn;
      return [event("turn.started", chat_jid, started_at, { turn_id: id, trigger_id, thread_id })];
    }
    case "turn_ended":
      return [event("turn.ended", fact.chat_jid, fact.at, { turn_id: fact.turn_id, status: fact.status })];
    case "delivery": {
      const { id, chat_jid, message_id, created_at } = fact.delivery;
      return [event("delivery", chat_jid, created_at, { delivery_id: id, message_id })];
    }
    case "delivery_state":
      if (!delivery) return [];
      return [
        event("delivery", delivery.chat_jid, fact.at, {
          delivery_id: fact.id,
          message_id: delivery.message_id,
        }),
      ];
    case "chat":
      return [event("chat", fact.chat.jid, fact.at, {})];
    case "chat_removed":
      return [event("chat", fact.jid, fact.at, {})];
    // What the store finds is what it tells of.
    case "senders_erased":
    case "receipts_expired":
    case "edit_told":
    case "attachment":
    case "work":
    case "lane_due":
    case "entry":
    case "head":
    case "label":
    case "call_started":
    case "call_partial":
    case "call_ended":
    case "tool_done":
    case "tools_written":
    case "spent":
    case "knock":
    case "person":
    case "login_code":
    case "login_code_used":
    case "person_removed":
    case "token":
    case "token_removed":
      return [];
  }
}

/** What the log says about a message. */
export function messageEvent(message: {
  id: string;
  chat_jid: string;
  message_type: string;
  timestamp: string;
}): NewEvent {
  const { id, chat_jid, message_type, timestamp } = message;
  return event(message_type === "host" ? "host" : "message", chat_jid, timestamp, { message_id: id });
}

/** What the log says about a message of which something is different now. */
export function messageChange(
  type: "message.revised" | "outcome",
  chat_jid: string,
  message_id: string,
  at: string,
): NewEvent {
  return event(type, chat_jid, at, { message_id });
}

/** The time of a batch, for facts that carry none: that of the first fact that does. */
export function timeOf(facts: readonly Fact[]): string {
  for (const fact of facts) {
    if ("at" in fact) return fact.at;
    if (fact.type === "message") return fact.message.timestamp;
    if (fact.type === "entry") return fact.entry.at;
    if (fact.type === "turn_started") return fact.turn.started_at;
    if (fact.type === "delivery") return fact.delivery.created_at;
  }
  return "1970-01-01T00:00:00.000Z";
}

function event(type: NewEvent["type"], chat_jid: string, at: string, refs: Record<string, string>): NewEvent {
  return { type, chat_jid, at, refs };
}

const CURSOR_DIGITS = 16;

/** A place in the log as readers hold it: opaque to them, and in the order of the log as text too. */
export function cursorOf(position: number): string {
  return String(position).padStart(CURSOR_DIGITS, "0");
}

/** Could this be a cursor of ours? `0` is the beginning. */
export function isCursor(text: string): boolean {
  return text === "0" || /^\d{16}$/.test(text);
}

/** The place a cursor names. One we did not make reads from the start: twice is better than never. */
export function positionOf(cursor: string | null): number {
  return cursor !== null && isCursor(cursor) ? Number(cursor) : 0;
}

/** Below zero when the first cursor names the earlier place. */
export function compareCursors(a: string, b: string): number {
  return positionOf(a) - positionOf(b);
}
