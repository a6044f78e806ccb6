import type { IngestAnswer, IngestAttachment, IngestMessageMetadata, MessageRow } from "../message/index.js";

/**
 * A connection to a platform. A channel is a value handed to the gateway; it never sees the agent or the store.
 * Four members are required; what else a platform can do, the channel says by having the member.
 */
export type Channel = {
  /** The first part of every address of this channel: `slack` in `slack:C06RY3YBSLE`. */
  name: string;
  /** Begin receiving. Every inbound message goes to `gate.receive`. */
  start(gate: Gate): Promise<void>;
  /** Resolves with what became of it; never rejects for a platform's trouble. */
  send(address: string, message: OutgoingMessage, options: SendOptions): Promise<SendResult>;
  /** Takes nothing more, gives up sends still under way (as `unknown`), and resolves once nothing runs. */
  stop(): Promise<void>;

  /** Answers a push of the platform's. Verified over the raw bytes before anything is parsed. */
  webhook?(request: WebhookRequest): Promise<WebhookAnswer>;
  edit?(
    address: string,
    externalId: string,
    message: OutgoingMessage,
    options: SendOptions,
  ): Promise<SendResult>;
  remove?(address: string, externalId: string, options: SendOptions): Promise<SendResult>;
  /** Looks for a send we are unsure of, by the key it was sent with. */
  find?(address: string, key: string): Promise<{ externalId: string } | null>;
  /** The platform drops a second send with the same key: what is `unknown` may simply be sent again. */
  takesKey?: true;
  /** `textLength` counts UTF-16 units, as `splitText` does. */
  limits?: { textLength: number };
};

/** The way in. `receive` resolves once the message is durable, and never throws for a bad one. */
export type Gate = { receive(message: InboundMessage): Promise<Received> };

/** What a channel hears: the words as they were typed, and everything else beside them. */
export type InboundMessage = {
  address: string;
  content: string;
  msg_metadata: IngestMessageMetadata;
  attachments?: IngestAttachment[] | null;
  timestamp?: string | null;
};

export type Received =
  | { status: "stored"; answer: IngestAnswer }
  /** The address belongs to no chat. Counted, not stored; tell the platform all is well. */
  | { status: "unregistered" }
  | { status: "invalid"; errors: { path: string; reason: string }[] }
  /** Not stored: let the platform try again. */
  | { status: "unavailable"; why: string; retryAfterS: number };

/** A row on its way out, with the line that says whose it is. */
export type OutgoingMessage = {
  message_id: string;
  chat_jid: string;
  sender: string;
  sender_name: string;
  message_type: MessageRow["message_type"];
  /** The words, ready to be shown: glyph or name in front where the sender is not us. */
  text: string;
  /** The words alone. */
  content: string;
  timestamp: string;
};

export type SendOptions = {
  /** Equal for every try of one delivery: platforms that take an idempotency key get this one. */
  key: string;
  thread: string | null;
  /** The gateway's patience: channels keep no clock of their own, so an endless send ends when this is aborted. */
  signal: AbortSignal;
};

export type SendResult = { ok: true; externalId: string | null } | SendFailure;

export type SendFailure = {
  ok: false;
  /** Milliseconds to wait at least; `never` when trying again cannot help; `unknown` when it may have arrived. */
  retryAfter: number | "never" | "unknown";
  /** For people and logs: never holds a secret, nor more of a URL than its host. */
  why: string;
};

export type WebhookRequest = {
  method: string;
  /** Names in lower case. */
  headers: Record<string, string | undefined>;
  /** The raw body: signatures are over these bytes. */
  body: Uint8Array;
  query: Record<string, string | undefined>;
};
export type WebhookAnswer = { status: number; headers?: Record<string, string>; body?: string };
