import type { SendResult } from "./channel.js";
import { failureOfStatus, failureOfThrown } from "./failure.js";

/** As much of `fetch` as posting needs, so that a test or a proxy can stand in. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type Post = {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
  /** How the receiver is named in a failure. */
  receiver: string;
};

const MAX_ANSWER_BYTES = 64 * 1024;

type Posted = { ok: true; answer: string | null } | Extract<SendResult, { ok: false }>;

/** Posts once and says what that means for trying again. Follows no redirect and reads a bounded answer. */
export async function post(fetch: Fetch, request: Post, now: () => number): Promise<Posted> {
  const { url, headers, body, signal, receiver } = request;
  try {
    const response = await fetch(url, { method: "POST", redirect: "manual", headers, body, signal });
    const answer = await readAtMost(response, MAX_ANSWER_BYTES);
    if (response.ok) return { ok: true, answer };
    return failureOfStatus(response.status, response.headers.get("retry-after"), now(), receiver);
  } catch (thrown) {
    return failureOfThrown(thrown, receiver);
  }
}

/** The answer's text, or null when it is longer than that or breaks off: its status has been said already. */
async function readAtMost(response: Response, most: number): Promise<string | null> {
  if (!response.body) return null;
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      if (size > most) return null;
      chunks.push(next.value);
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch {
    return null;
  } finally {
    // Lets go of the connection when we stopped early; does nothing when all was read.
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Aborted as soon as either is; neither may be yet. By hand, because `AbortSignal.any` on a signal that lives as long
 * as the process leaks.
 */
export function firstOf(one: AbortSignal, other: AbortSignal): { signal: AbortSignal; release(): void } {
  const both = new AbortController();
  const abort = () => both.abort();
  for (const signal of [one, other]) signal.addEventListener("abort", abort, { once: true });
  const release = () => {
    for (const signal of [one, other]) signal.removeEventListener("abort", abort);
  };
  return { signal: both.signal, release };
}
