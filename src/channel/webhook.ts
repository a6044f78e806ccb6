import { z } from "zod";
import { addressOf, placeOf } from "./address.js";
import type {
  Channel,
  Gate,
  OutgoingMessage,
  SendFailure,
  SendOptions,
  SendResult,
  WebhookAnswer,
  WebhookRequest,
} from "./channel.js";
import { type Fetch, firstOf, post } from "./post.js";
import { answerTo, problem, readPush, unavailable } from "./pushed.js";
import { signatureOf, signingKeys, verifySignature } from "./signature.js";

export type WebhookSettings = {
  /** The channel's name; default `webhook`. */
  name?: string;
  /** `whsec_` and base64. Several, with spaces between them, while keys are being changed. */
  secret: string | null;
  /** Where messages are posted to. Null: the channel only listens. */
  url: string | null;
  fetch?: Fetch;
  /** Milliseconds since 1970. */
  now?: () => number;
};

const SECRET_SETTING = "LONGHAND_WEBHOOK_SECRET";
const URL_SETTING = "LONGHAND_WEBHOOK_URL";
const HEADER_SAFE = /^[\x21-\x7e]{1,255}$/;
/** What a receiver may answer, when it knows the message by an id of its own. */
const ReceiverAnswer = z.object({ external_id: z.string().min(1).max(1024) });
/** How long to wait for a channel that is not running, in milliseconds. */
const RESTART_WAIT_MS = 5000;

/**
 * Any program as a channel: pushes in and posts out, both signed by the Standard Webhooks rules.
 *
 * In: `{ place, content, msg_metadata, attachments?, timestamp? }`, answered once the message is durable.
 * Out: `{ type: "message", timestamp, data }`. The `webhook-id` is the same for every try of one delivery, and a try
 * that was cut off is tried again: receivers drop an id they have seen, as the standard asks of them.
 *
 * @example
 * const channel = webhook({ secret: process.env.LONGHAND_WEBHOOK_SECRET ?? null, url: "https://example.com/hook" });
 */
export function webhook(settings: WebhookSettings): Channel {
  const { name = "webhook", now = Date.now, fetch = globalThis.fetch } = settings;
  const signing = signingKeys(settings.secret, SECRET_SETTING);
  const target = targetOf(settings.url);
  const underWay = new Set<Promise<unknown>>();
  let gate: Gate | null = null;
  let stopping = new AbortController();

  async function start(to: Gate): Promise<void> {
    gate = to;
    stopping = new AbortController();
  }

  async function stop(): Promise<void> {
    gate = null;
    stopping.abort();
    await Promise.allSettled(underWay);
  }

  async function answer(request: WebhookRequest): Promise<WebhookAnswer> {
    if (request.method !== "POST") return problem(405, "Only POST", "post a message here", { allow: "POST" });
    if (!signing.ok)
      return problem(403, "The webhook is closed", `${signing.why}, so nothing can be verified`);
    const verified = verifySignature(signing.keys, request.headers, request.body, now());
    if (!verified.ok) return problem(401, "Not signed", verified.why);
    const read = readPush(name, verified.id, request.body);
    if (!read.ok) return read.answer;
    if (!gate) return unavailable("the channel is not running", RESTART_WAIT_MS / 1000);
    return answerTo(await gate.receive(read.message));
  }

  async function send(address: string, message: OutgoingMessage, options: SendOptions): Promise<SendResult> {
    const place = placeOf(name, address);
    if (place === null) return never(`${address} is no address of the channel ${name}`);
    if (!target.ok) return never(target.why);
    if (!signing.ok) return never(`${signing.why}, and unsigned messages are not sent`);
    if (!HEADER_SAFE.test(options.key)) return never("the key cannot stand in a header");
    if (stopping.signal.aborted) return notSent(`the channel ${name} is stopped`);
    if (options.signal.aborted) return notSent("given up before it was sent");

    const body = Buffer.from(JSON.stringify(posted(place, message, options.thread, name)));
    const seconds = String(Math.floor(now() / 1000));
    const headers = {
      "content-type": "application/json",
      "user-agent": "longhand",
      "webhook-id": options.key,
      "webhook-timestamp": seconds,
      "webhook-signature": signatureOf(signing.keys, options.key, seconds, body),
    };
    const { url, receiver } = target;
    const { signal, release } = firstOf(options.signal, stopping.signal);
    const result = await post(fetch, { url, receiver, headers, body, signal }, now).finally(release);
    return result.ok ? { ok: true, externalId: externalIdIn(result.answer) ?? options.key } : result;
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    underWay.add(work);
    const forget = () => underWay.delete(work);
    work.then(forget, forget);
    return work;
  }

  return {
    name,
    start,
    stop,
    send: (address, message, options) => tracked(send(address, message, options)),
    webhook: (request) => tracked(answer(request)),
    takesKey: true,
  };
}

function never(why: string): SendFailure {
  return { ok: false, retryAfter: "never", why };
}

function notSent(why: string): SendFailure {
  return { ok: false, retryAfter: RESTART_WAIT_MS, why };
}

type Target = { ok: true; url: string; receiver: string } | { ok: false; why: string };

function targetOf(given: string | null): Target {
  if (!given) return { ok: false, why: `${URL_SETTING} is not set` };
  if (!URL.canParse(given)) return { ok: false, why: `${URL_SETTING} is not a URL` };
  const url = new URL(given);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return { ok: false, why: `${URL_SETTING} does not begin with https:// or http://` };
  }
  if (url.username || url.password) {
    return { ok: false, why: `${URL_SETTING} holds a user name or password, which is not supported` };
  }
  // Path and query may be a secret of the receiver's, so only the host is ever told.
  return { ok: true, url: url.href, receiver: `the webhook at ${url.host}` };
}

/** The body of a post: equal bytes for every try, so its time is the message's and not the try's. */
function posted(place: string, message: OutgoingMessage, thread: string | null, channel: string): object {
  const { message_id, chat_jid, sender, sender_name, message_type, text, content, timestamp } = message;
  const where = { place, address: addressOf(channel, place), thread_id: thread };
  const who = { message_id, chat_jid, sender, sender_name, message_type };
  return { type: "message", timestamp, data: { ...where, ...who, text, content } };
}

function externalIdIn(answer: string | null): string | null {
  if (answer === null) return null;
  try {
    return ReceiverAnswer.safeParse(JSON.parse(answer)).data?.external_id ?? null;
  } catch {
    return null;
  }
}
