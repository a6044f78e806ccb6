import type { Block, Call, LeftOut } from "../../../message/index.js";
import type { ContextPreview } from "../../client/index.js";

/** A block of a request with its own stretch of the body. */
export type SeenBlock = Block & { index: number; text: string };

/** A request as the model received it, or would receive it now. */
export type Seen = {
  /** Null for a request that was never sent. */
  call: Call | null;
  blocks: SeenBlock[];
  left_out: LeftOut[];
  body: Uint8Array | null;
  /** Why there is no body, when there is none. */
  gone: string | null;
  /** Whether the blocks cover the body to the last byte. */
  covers: boolean;
};

/** Is it the same request? */
export function isSame(a: Seen, b: Seen): boolean {
  return a === b || (a.call !== null && a.call.id === b.call?.id);
}

/** A stored call with the bytes that were sent. */
export function seenOfCall(call: Call, body: Uint8Array | null, gone: string | null): Seen {
  const covers = body === null || sum(call.blocks) === body.length;
  return { call, blocks: cut(call.blocks, body), left_out: call.left_out, body, gone, covers };
}

/** What the next call would send. */
export function seenOfPreview({ blocks, left_out, body }: ContextPreview): Seen {
  const bytes = new TextEncoder().encode(body);
  const covers = sum(blocks) === bytes.length;
  return { call: null, blocks: cut(blocks, bytes), left_out, body: bytes, gone: null, covers };
}

function cut(blocks: readonly Block[], body: Uint8Array | null): SeenBlock[] {
  const decoder = new TextDecoder();
  let from = 0;
  return blocks.map((block, index) => {
    const text = body === null ? "" : decoder.decode(body.subarray(from, from + block.size));
    from += block.size;
    return { ...block, index, text };
  });
}

function sum(blocks: readonly Block[]): number {
  return blocks.reduce((total, block) => total + block.size, 0);
}

/** The SHA-256 of the bytes in hex; null where the browser refuses to compute one (plain http, another host). */
export async function sha256(body: Uint8Array): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const digest = await crypto.subtle.digest("SHA-256", Uint8Array.from(body));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
