import { z } from "zod";
import { contentTooLarge, errorsOf, type FieldError, SubmitBody, TERMINAL_SENDER } from "../message/index.js";
import { addressOf } from "./address.js";
import type { InboundMessage, Received, WebhookAnswer } from "./channel.js";

/** What a program pushes to the webhook: the ingest body, and the place it is said at. */
const PushedBody = SubmitBody.safeExtend({
  place: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[^\s\p{Cc}\p{Cs}]+$/u, "expected no spaces or control characters"),
}).refine((body) => body.msg_metadata.sender_id !== TERMINAL_SENDER, {
  path: ["msg_metadata", "sender_id"],
  error: 'only the built-in terminal speaks without a namespace; expected "<namespace>:<external id>"',
});

/** Whose people come in through doors of their own; nobody else's secret vouches for them. */
const PLATFORMS: ReadonlySet<string> = new Set([
  "slack",
  "discord",
  "telegram",
  "whatsapp",
  "bb",
  "web",
  "terminal",
]);

type ReadPush = { ok: true; message: InboundMessage } | { ok: false; answer: WebhookAnswer };

/** Reads a push whose signature is right; `id` is its `webhook-id`. */
export function readPush(channel: string, id: string, bytes: Uint8Array): ReadPush {
  const raw = parseJson(bytes);
  if (!raw.ok)
    return { ok: false, answer: invalid([{ path: "", reason: "expected a JSON object in UTF-8" }]) };
  const filled = withDefaults(raw.value, channel, id);
  const parsed = PushedBody.safeParse(filled);
  if (!parsed.success) return { ok: false, answer: invalid(errorsOf(parsed.error, "", filled)) };
  const { place, content, msg_metadata, attachments = null, timestamp = null } = parsed.data;
  const namespace = msg_metadata.sender_id.slice(0, msg_metadata.sender_id.indexOf(":"));
  if (namespace !== channel && PLATFORMS.has(namespace)) {
    const reason = `people of "${namespace}" do not speak here; expected a namespace of your own`;
    return { ok: false, answer: invalid([{ path: "msg_metadata.sender_id", reason }]) };
  }
  if (contentTooLarge(content))
    return { ok: false, answer: problem(413, "Too large", "content is too long") };
  const address = addressOf(channel, place);
  return { ok: true, message: { address, content, msg_metadata, attachments, timestamp } };
}

/** The answer to a push, by what became of its message. */
export function answerTo(received: Received): WebhookAnswer {
  switch (received.status) {
    case "stored":
      return json(202, received.answer);
    case "unregistered":
      return json(200, { status: "unregistered" });
    case "invalid":
      return invalid(received.errors);
    case "unavailable":
      return unavailable(received.why, received.retryAfterS);
  }
}

/** Not stored: come again. */
export function unavailable(why: string, retryAfterS: number): WebhookAnswer {
  const seconds = Math.max(1, Math.ceil(retryAfterS));
  return problem(503, "Not stored", why, { "retry-after": String(seconds) });
}

/** An answer as `application/problem+json`. */
export function problem(
  status: number,
  title: string,
  detail: string,
  headers: Record<string, string> = {},
  errors?: FieldError[],
): WebhookAnswer {
  const body = JSON.stringify({ type: "about:blank", title, status, detail, ...(errors && { errors }) });
  return { status, headers: { "content-type": "application/problem+json", ...headers }, body };
}

function invalid(errors: FieldError[]): WebhookAnswer {
  return problem(422, "Not a message", "the signature is right, but the body cannot be taken", {}, errors);
}

function json(status: number, value: unknown): WebhookAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

function parseJson(bytes: Uint8Array): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return { ok: false };
  }
}

/** What the sender need not say: where it came from, and which push it was, so that a redelivery is a duplicate. */
function withDefaults(raw: unknown, channel: string, id: string): unknown {
  if (!isObject(raw) || !isObject(raw.msg_metadata)) return raw;
  const given = raw.msg_metadata;
  const msg_metadata = {
    ...given,
    // Who holds this channel's secret speaks on this channel, whatever the body says.
    source: channel,
    channel_external_id: given.channel_external_id ?? raw.place,
    external_message_id: given.external_message_id ?? id,
  };
  return { ...raw, msg_metadata };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
