import type { Chat, Delivery, MessageRow } from "../message/index.js";
import type { Fact, NewMessage, Work } from "../store/store.js";
import type { Clock } from "./clock.js";
import { iso } from "./clock.js";
import { tracesShown } from "./present.js";
import { newRow } from "./rows.js";

/** Channels that read the conversation over the API: nothing is sent to them. */
const READING_CHANNELS: ReadonlySet<string> = new Set(["web", "terminal", "http"]);

/** Where a message came from. */
export type Origin = { source: string; address: string | null };

/** A platform's thread. Its id means something only at the place it is from. */
export type Thread = { origin: Origin; id: string };

/** The thread a message was said in, as its platform named it. */
export function platformThread({ metadata }: Pick<MessageRow, "metadata">): Thread | null {
  const { source, thread_id: id, channel_external_id: place } = metadata;
  if (typeof source !== "string" || typeof id !== "string") return null;
  return { origin: { source, address: typeof place === "string" ? `${source}:${place}` : null }, id };
}

/**
 * One delivery for every bound address that should show this row, except the one it came from (`origin`).
 * Where `thread` is from, it goes into that thread; everywhere else the thread is unknown.
 */
export function deliveriesOf(
  row: NewMessage,
  chat: Chat,
  origin: Origin | null,
  thread: Thread | null,
  clock: Clock,
): Fact[] {
  const targets = chat.bindings.filter(
    (binding) =>
      !READING_CHANNELS.has(binding.channel) &&
      binding.mode !== "listen" &&
      !(origin && cameFrom(binding, origin)) &&
      tracesShown(row, binding.trace),
  );
  return targets.map((binding): Fact => {
    const delivery: Delivery = {
      id: clock.newId(),
      chat_jid: chat.jid,
      message_id: row.id,
      revision: 0,
      part: 0,
      channel: binding.channel,
      address: binding.address,
      thread_id: thread && cameFrom(binding, thread.origin) ? thread.id : null,
      state: "pending",
      reason: null,
      external_id: null,
      attempts: 0,
      last_error: null,
      retry_at: null,
      created_at: iso(clock.now()),
    };
    return { type: "delivery", delivery, work: deliveryWork(delivery, clock) };
  });
}

/** The lane in which what goes to one address and thread waits in order. */
export function deliveryLane({ address, thread_id }: Pick<Delivery, "address" | "thread_id">): string {
  return `delivery:${address}#${thread_id ?? ""}`;
}

/** The work of bringing a delivery to its address: at once, also after somebody has set the machine's clock back. */
export function deliveryWork(delivery: Delivery, clock: Clock): Work {
  return {
    id: clock.newId(),
    kind: "delivery",
    lane: deliveryLane(delivery),
    chat_jid: delivery.chat_jid,
    ref: delivery.id,
    run_at: 0,
    attempts: 0,
  };
}

/** Without a place we cannot tell which of a channel's addresses it was: then it may have been each of them. */
function cameFrom(binding: Chat["bindings"][number], origin: Origin): boolean {
  return origin.address === null ? binding.channel === origin.source : binding.address === origin.address;
}

/**
 * Operational news for people: stored as a host row, shown on every surface with 🏠, never part of any model request.
 */
export class HostMessageBroadcaster {
  constructor(private readonly clock: Clock) {}

  /** The facts that make it so; commit them with what they are about. */
  facts(
    chat: Chat,
    content: string,
    metadata: Record<string, unknown> = {},
    turnId: string | null = null,
    /** Where it is about something that was said in a thread. */
    thread: Thread | null = null,
  ): Fact[] {
    const row = newRow({
      id: this.clock.newId(),
      chat_jid: chat.jid,
      sender: "host",
      sender_name: "host",
      content,
      timestamp: iso(this.clock.now()),
      message_type: "host",
      metadata,
      turn_id: turnId,
    });
    return [{ type: "message", message: row }, ...deliveriesOf(row, chat, null, thread, this.clock)];
  }
}

/**
 * What a person said: stored as a user row, put on the event log, and mirrored to the chat's other addresses.
 */
export class UserMessageHandler {
  constructor(private readonly clock: Clock) {}

  facts(row: NewMessage, chat: Chat, origin: Origin): Fact[] {
    return [{ type: "message", message: row }, ...deliveriesOf(row, chat, origin, null, this.clock)];
  }
}
