import type { CallEnvelope } from "../message/index.js";

/**
 * A receipt whose request is kept no longer. What would tell of its words goes too: nobody who is erased later could be
 * found in it any more.
 */
export function expiredCall(call: CallEnvelope, expired: { at: string; reason: string }): CallEnvelope {
  return { ...call, request_sha256: "", error: call.error === null ? null : EXPIRED, expired };
}

export const EXPIRED = "expired";

type List = { id: string; base: string | null; base_count: number; block_count: number; expired: boolean };

/**
 * Of a chat's calls, oldest first: the expired ones that hold more blocks than anybody needs, and how many of them, from
 * the first, living ones still begin with.
 */
export function shortenedLists(calls: readonly List[]): Map<string, number> {
  const needed = new Map<string, number>();
  const shortened = new Map<string, number>();
  for (const { id, base, base_count, block_count, expired } of calls.toReversed()) {
    const count = expired ? Math.min(needed.get(id) ?? 0, block_count) : block_count;
    if (count < block_count) shortened.set(id, count);
    if (base !== null) needed.set(base, Math.max(needed.get(base) ?? 0, Math.min(count, base_count)));
  }
  return shortened;
}
