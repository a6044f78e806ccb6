import type {
  Block,
  Delivery,
  EventType,
  IngestMessageMetadata,
  LeftOut,
  MessageRow,
  ModelListing,
  Outcome,
} from "../../message/index.js";
import type { Chat } from "../../message/index.js";

/** One page of a list, under its own name, and where the next one starts (null at the end). */
export type Page<Name extends string, Item> = Record<Name, Item[]> & { next: string | number | null };

/** A model, whether it can be used now, and what is known of it. */
export type Model = ModelListing;

/** A place that spoke to us, and that belongs to no chat yet. */
export type KnownAddress = {
  address: string;
  channel: string;
  name: string;
  first_seen: string;
  last_seen: string;
  count: number;
};

export type Token = {
  id: string;
  name: string;
  scopes: string[];
  created_at: string;
  /** Whoever bears it speaks as this person. */
  person_id: string | null;
};
export type Revision = { revision: number; content: string | null; at: string };

/** A node of a chat's tree. */
export type TreeEntry = {
  id: string;
  /** The thread it was made in; "" is the main one. */
  thread_id: string;
  parent: string | null;
  kind: string;
  message_id: string | null;
  turn_id: string | null;
  at: string;
  data: Record<string, unknown>;
  /** The message it stands for, with its first words. */
  message: { sender: string; sender_name: string; content: string; deleted: boolean } | null;
};

/** Where a thread stands now; or, where a turn had to be waited for too long, that it will be done. */
export type HeadMoved = { head: string | null } | { waiting: string };

/** What the next call would send. `body` is the request exactly, and block sizes are cut out of its UTF-8. */
export type ContextPreview = { blocks: Block[]; left_out: LeftOut[]; body: string };

/** The body of `submit`, `passive` and of a context preview. */
export type Submission = {
  content: string;
  msg_metadata: IngestMessageMetadata;
  message_id?: string | null;
  attachments?: { name: string; mime_type: string; data?: string; url?: string }[] | null;
  timestamp?: string | null;
};

/** A part of an answer that is still being written. */
export type PartialPart = { part: number; type: "text" | "thinking"; content: string };

type Told<Type extends EventType, Facts> = { type: Type; chat_jid: string; at: string } & Facts;

/** What happens, as it happens. What an event is about is null when it has been erased since. */
export type StreamEvent =
  | Told<"message" | "message.revised" | "host", { message: MessageRow | null }>
  | Told<"turn.started", { turn_id: string; trigger_id: string }>
  | Told<"turn.snapshot", { turn_id: string; call_id: string; parts: PartialPart[] }>
  | Told<
      "turn.delta",
      { turn_id: string; call_id: string; part: number; kind: "text" | "thinking"; delta: string }
    >
  | Told<"turn.ended", { turn_id: string; status: string }>
  | Told<"outcome", { message_id: string; outcome: Outcome }>
  | Told<"delivery", { delivery: Delivery | null }>
  | Told<"chat", { chat: Chat | null }>;
