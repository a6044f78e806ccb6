import type { SendFailure } from "./channel.js";

const SHORTEST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60 * 60 * 1000;

/** Answers that mean: later. 409 is here because receivers give it while the first try is still being handled. */
const LATER: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Troubles that come before a byte of the message has left. Anything else may have arrived. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

/** `Retry-After` in milliseconds from now, seconds or an HTTP date, within one second and one hour. */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null) return SHORTEST_WAIT_MS;
  const text = header.trim();
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : dateOf(text) - now;
  if (Number.isNaN(wait)) return SHORTEST_WAIT_MS;
  return Math.min(Math.max(wait, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
}

/** What an HTTP answer that is no success says about trying again. */
export function failureOfStatus(
  status: number,
  retryAfter: string | null,
  now: number,
  receiver: string,
): SendFailure {
  const why = `${receiver} answered ${status}`;
  if (status >= 500 || LATER.has(status))
    return { ok: false, retryAfter: retryAfterMs(retryAfter, now), why };
  // A browser-like fetch hides a redirect's status as 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    return { ok: false, retryAfter: "never", why: `${why}: redirects are not followed` };
  }
  return { ok: false, retryAfter: "never", why };
}

/** What a request that ended without an answer says about trying again. */
export function failureOfThrown(thrown: unknown, receiver: string): SendFailure {
  const code = codeOf(thrown);
  if (code === "bad port") {
    return { ok: false, retryAfter: "never", why: `${receiver} uses a port that web clients refuse` };
  }
  // Only the code is told: messages may quote a whole URL.
  if (NOT_SENT.has(code)) {
    return { ok: false, retryAfter: SHORTEST_WAIT_MS, why: `${receiver} could not be reached (${code})` };
  }
  return {
    ok: false,
    retryAfter: "unknown",
    why: `${receiver} gave no answer (${code}); it may have arrived`,
  };
}

function dateOf(text: string): number {
  // Date.parse takes nearly anything for a date; an HTTP date begins with its weekday.
  return /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown error";
  if ("code" in thrown && typeof thrown.code === "string") return thrown.code;
  if (thrown.cause instanceof Error) {
    return thrown.cause.message === "bad port" ? "bad port" : codeOf(thrown.cause);
  }
  return thrown.name;
}
