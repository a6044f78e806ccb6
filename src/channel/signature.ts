import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Standard Webhooks signatures: HMAC-SHA256 over `<id>.<seconds>.<body>`, as `v1,<base64>`.
 * Made by hand because the `standardwebhooks` package reads the system clock and signs decoded text, where two
 * different bodies that are no UTF-8 look alike; here the clock is handed in and the raw bytes count.
 * The tests hold both against each other.
 */
export type SigningKeys = { ok: true; keys: Uint8Array[] } | { ok: false; why: string };

/** How far a signature's time may be from ours, either way. */
const TOLERANCE_S = 5 * 60;
/** What the standard asks of a secret. */
const LEAST_KEY_BYTES = 24;
const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SECONDS = /^(?:0|[1-9]\d{0,14})$/;

/** Reads a secret, or several with spaces between them while keys are being changed: all sign, any one verifies. */
export function signingKeys(secret: string | null, setting: string): SigningKeys {
  const words = (secret ?? "").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return { ok: false, why: `${setting} is not set` };
  const keys: Uint8Array[] = [];
  for (const word of words) {
    const key = keyOf(word);
    if (!key) {
      const right = `${PREFIX} followed by base64 of at least ${LEAST_KEY_BYTES} bytes`;
      return { ok: false, why: `${setting} is not a webhook secret: expected ${right}` };
    }
    keys.push(key);
  }
  return { ok: true, keys };
}

/** The `webhook-signature` header for these bytes: one signature per key. */
export function signatureOf(
  keys: readonly Uint8Array[],
  id: string,
  seconds: string,
  body: Uint8Array,
): string {
  return keys.map((key) => signWith(key, id, seconds, body)).join(" ");
}

type SignedHeaders = Record<string, string | undefined>;
export type Verified = { ok: true; id: string } | { ok: false; why: string };

/** Did a holder of one of these keys sign exactly these bytes, within the last or next five minutes? */
export function verifySignature(
  keys: readonly Uint8Array[],
  headers: SignedHeaders,
  body: Uint8Array,
  now: number,
): Verified {
  const id = headers["webhook-id"];
  const seconds = headers["webhook-timestamp"];
  const given = headers["webhook-signature"];
  if (!id || !seconds || !given) {
    return { ok: false, why: "expected the headers webhook-id, webhook-timestamp and webhook-signature" };
  }
  if (!SECONDS.test(seconds)) return { ok: false, why: "webhook-timestamp is not a number of seconds" };
  const age = Math.floor(now / 1000) - Number(seconds);
  if (age > TOLERANCE_S) return { ok: false, why: "webhook-timestamp is more than five minutes ago" };
  if (age < -TOLERANCE_S) return { ok: false, why: "webhook-timestamp is more than five minutes ahead" };

  const expected = keys.map((key) => Buffer.from(signWith(key, id, seconds, body)));
  const matches = given
    .split(" ")
    .map((signature) => Buffer.from(signature))
    .some((signature) => expected.some((right) => equalInConstantTime(signature, right)));
  return matches ? { ok: true, id } : { ok: false, why: "no signature matches" };
}

function keyOf(word: string): Uint8Array | null {
  const encoded = word.startsWith(PREFIX) ? word.slice(PREFIX.length) : word;
  // Buffer skips what is no base64, which would turn a passphrase into a short key without a word.
  if (!BASE64.test(encoded)) return null;
  const key = Buffer.from(encoded, "base64");
  return key.length >= LEAST_KEY_BYTES ? key : null;
}

function signWith(key: Uint8Array, id: string, seconds: string, body: Uint8Array): string {
  return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.`).update(body).digest("base64")}`;
}

function equalInConstantTime(given: Uint8Array, right: Uint8Array): boolean {
  return given.length === right.length && timingSafeEqual(given, right);
}
