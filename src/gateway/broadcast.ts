import type { Chat } from "../message/index.js";
import type { Fact, NewMessage } from "../store/store.js";
import type { Clock } from "./clock.js";
import { iso } from "./clock.js";
import { tracesShown } from "./present.js";
import { newRow } from "./rows.js";

/** Channels that read the conversation over the API: nothing is sent to them. */
const READING_CHANNELS: ReadonlySet<string> = new Set(["web", "terminal", "http"]);

/** Where a message came from, so that it is not sent back there. */
export type Origin = { source: string; address: string | null };

/** One delivery for every bound address that should show this row, except the one it came from. */
export function deliveriesOf(
  row: NewMessage,
  chat: Chat,
  origin: Origin | null,
  thread: string | null,
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
    const id = clock.newId();
    return {
      type: "delivery",
      delivery: {
        id,
        chat_jid: chat.jid,
        message_id: row.id,
        revision: 0,
        part: 0,
        channel: binding.channel,
        address: binding.address,
        thread_id: thread,
        state: "pending",
        reason: null,
        external_id: null,
        attempts: 0,
        last_error: null,
        retry_at: null,
        created_at: iso(clock.now()),
      },
      work: {
        id: clock.newId(),
        kind: "delivery",
        lane: `delivery:${binding.address}#${thread ?? ""}`,
        chat_jid: chat.jid,
        ref: id,
        run_at: clock.now(),
        attempts: 0,
      },
    };
  });
}

/** Without a place we cannot tell which of a channel's addresses it was: then none of them gets it back. */
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
    return [{ type: "message", message: row }, ...deliveriesOf(row, chat, null, null, this.clock)];
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
