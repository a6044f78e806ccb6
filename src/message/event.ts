import { z } from "zod";

export const EVENT_TYPES = [
  "message",
  "message.revised",
  "turn.started",
  "turn.snapshot",
  "turn.delta",
  "turn.ended",
  "outcome",
  "delivery",
  "chat",
  "host",
] as const;
export const EventType = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof EventType>;

/** An event as the log keeps it: references only, never words. */
export type LoggedEvent = {
  /** Opaque and ascending: what a reader hands back to go on from here. */
  cursor: string;
  type: Exclude<EventType, "turn.snapshot" | "turn.delta">;
  chat_jid: string;
  at: string;
  /** Ids of what it is about: `message_id`, `turn_id`, `delivery_id`, … */
  refs: Record<string, string>;
};
