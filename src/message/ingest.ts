import { z } from "zod";
import { isOwnSender } from "./audience.js";
import { jsonProblem } from "./json.js";
import { isBase64 } from "./media.js";
import { byteLength, firstBadCharacter } from "./text.js";

/** Bytes of UTF-8 one message's content may have. */
export const MAX_CONTENT_BYTES = 1024 * 1024;
/** Bytes of JSON one message's metadata may have. */
export const MAX_METADATA_BYTES = 256 * 1024;
const METADATA_LIMITS = { depth: 32, bytes: MAX_METADATA_BYTES, wellFormed: true };

/** Only the built-in terminal speaks without a namespace. */
export const TERMINAL_SENDER = "tui-user";

const SENDER_ID = /^[a-z0-9][a-z0-9_.-]{0,62}:[^\s\p{Cc}\p{Cf}\p{Cs}]{1,255}$/u;
const SENDER_SHAPE = 'expected "<namespace>:<external id>" without spaces, such as "slack:U06STGBF4Q0"';

const word = z.string().min(1).max(255);
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();

/** Text every store can keep. */
export const wellFormed = z.string().check((context) => {
  const bad = firstBadCharacter(context.value);
  if (!bad) return;
  const message = `holds ${bad.name} at offset ${bad.offset}, which cannot be kept`;
  context.issues.push({ code: "custom", input: context.value, message });
});

/** A name by which stores look things up: an entry of an index holds only so many bytes. */
export function named<T extends z.ZodString>(name: T, bytes: number) {
  const fits = (text: string): boolean => byteLength(JSON.stringify(text)) <= bytes + 2;
  return name.refine(fits, `expected at most ${bytes} bytes`);
}

/** Who may be a sender. `person:` is how settings name people: a sender of that name would be let in as one. */
export const SenderId = z.string().check((context) => {
  const id = context.value;
  if (id === TERMINAL_SENDER || (SENDER_ID.test(id) && !id.startsWith("person:"))) return;
  const message = isOwnSender(id) ? `"${id}" is one of our own sender words; ${SENDER_SHAPE}` : SENDER_SHAPE;
  context.issues.push({ code: "custom", input: id, message });
});

export const Entity = z.looseObject({
  offset: z.int().min(0),
  length: z.int().min(0),
  type: word,
  id: z.string().nullish(),
});

/**
 * Who said it, where, and how it came in. Stored as given; `content` stays free of all of it.
 * Extra keys are kept. Optional fields may be null.
 */
export const IngestMessageMetadata = z
  .looseObject({
    /** Channel identifier, such as `slack`. */
    source: z
      .string()
      .max(255)
      .regex(/^[a-z0-9][a-z0-9_.-]*$/, "expected lower-case letters, digits, _ . or -"),
    /** `<namespace>:<external id>`. */
    sender_id: SenderId,
    /** Label for people and for attribution. */
    sender_display_name: z.string().max(1024),
    sender_type: z.enum(["human", "bot"]),
    channel_external_id: optional(z.string().max(1024)),
    external_message_id: optional(z.string().min(1).max(1024)),
    mention_token: optional(z.string().max(1024)),
    thread_context: optional(z.string()),
    thread_id: optional(named(z.string().min(1), 512)),
    is_from_me: optional(z.boolean()),
    passive: optional(z.boolean()),
    trigger_rag: optional(z.boolean()),
    recipient_id: optional(z.string().max(1024)),
    reply_to: optional(z.string().max(1024)),
    entities: optional(z.array(Entity).max(1000)),
  })
  .check((context) => {
    const problem = jsonProblem(context.value, METADATA_LIMITS);
    if (!problem) return;
    context.issues.push({
      code: "custom",
      input: context.value,
      path: problem.path,
      message: problem.reason,
    });
  });
export type IngestMessageMetadata = z.infer<typeof IngestMessageMetadata>;

/** A media type, parameters allowed: recorders say `audio/ogg; codecs=opus`. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[^\p{Cc}]*)?$/u;

export const IngestAttachment = z
  .object({
    name: wellFormed.min(1).max(255),
    mime_type: z.string().max(255).regex(MEDIA_TYPE, "expected a media type such as image/png"),
    data: z
      .string()
      .refine((data) => data === "" || isBase64(data), "expected base64")
      .optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(8192)
      .optional(),
  })
  .refine((attachment) => (attachment.data === undefined) !== (attachment.url === undefined), {
    error: "give either data (base64) or url",
  });
export type IngestAttachment = z.infer<typeof IngestAttachment>;

/** Content over `MAX_CONTENT_BYTES`. Asked apart from the schemas, because its answer is 413 and not 422. */
export function contentTooLarge(content: string): boolean {
  // A code unit is one to three bytes, which settles all but the lengths in between without counting.
  if (content.length > MAX_CONTENT_BYTES) return true;
  return content.length * 3 > MAX_CONTENT_BYTES && byteLength(content) > MAX_CONTENT_BYTES;
}

const body = {
  /** What the human typed, character for character. */
  content: wellFormed,
  msg_metadata: IngestMessageMetadata,
  message_id: z
    .string()
    .max(255)
    .regex(/^[^\s\p{Cc}\p{Cs}]+$/u, "expected no spaces or control characters")
    .refine((id) => id !== "." && id !== "..", "expected another name: no URL can carry this one")
    .nullish(),
  attachments: z.array(IngestAttachment).max(32).nullish(),
  timestamp: z.iso.datetime({ offset: true }).nullish(),
};
const saysSomething = (message: { content: string; attachments?: unknown[] | null | undefined }): boolean =>
  message.content !== "" || (message.attachments?.length ?? 0) > 0;
const EMPTY = { path: ["content"], error: "expected text, or an attachment" };

/** The body of `submit` and `passive`. */
export const SubmitBody = z.object(body).refine(saysSomething, EMPTY);
export type SubmitBody = z.infer<typeof SubmitBody>;

/** The body of `inject`: a program adds a message. */
export const InjectBody = z
  .object({
    ...body,
    role: z.enum(["user", "system"]).default("user"),
    run: z.boolean().default(false),
    notify: z.boolean().default(false),
  })
  .refine(saysSomething, EMPTY);
export type InjectBody = z.input<typeof InjectBody>;

/** Channels whose people bear another namespace than the channel's own name. */
const NAMESPACES: Readonly<Record<string, readonly string[]>> = { bluebubbles: ["bb"], imessage: ["bb"] };

/** Is this a sender that a credential for this source may speak for? Nobody else's people, and not the terminal's. */
export function belongsTo(senderId: string, source: string): boolean {
  const namespace = senderId.slice(0, senderId.indexOf(":"));
  return (
    namespace === source ||
    (Object.hasOwn(NAMESPACES, source) && (NAMESPACES[source] ?? []).includes(namespace))
  );
}

export const ADMISSIONS = ["run", "ambient", "passive", "command", "ignored"] as const;
export type Admission = (typeof ADMISSIONS)[number];

/** What every way in answers, once the message is durable. */
export const IngestAnswer = z.object({
  message_id: z.string(),
  chat_jid: z.string(),
  seq: z.int(),
  duplicate: z.boolean(),
  admission: z.enum(ADMISSIONS),
  reason: z.string(),
});
export type IngestAnswer = z.infer<typeof IngestAnswer>;
