import type { Native } from "../message/index.js";
import { isRecord } from "./json.js";

/**
 * A stretch of a text as the model sent it, with the signature that stood on it. A signature belongs to its stretch
 * alone, which may be empty; people read one text all the same.
 */
export type Piece = { length: number; signature?: string };

/** What a model left on a content, beside what people read of it. */
export type Leftovers = {
  /** For a text or a thought: its stretches, where it is more than one unsigned whole. */
  pieces: Piece[] | null;
  /** For a tool call. */
  signature: string | null;
  /** Signatures on empty texts that came right after it. */
  after: string[];
};

const NOTHING: Leftovers = { pieces: null, signature: null, after: [] };

/** Bytes in base64, in either alphabet; a signature in any other letters would be refused. */
const SIGNATURE = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Can it be sent back as a signature? */
export function isSignature(value: unknown): value is string {
  return typeof value === "string" && SIGNATURE.test(value) && value.replace(/=+$/, "").length % 4 !== 1;
}

/** Leftovers as they are stored; nothing when there are none. */
export function nativeOf(api: string, data: Record<string, unknown>): { native?: Native } {
  const kept = Object.entries(data).filter(([, value]) => value !== undefined);
  return kept.length > 0 ? { native: { api, data: Object.fromEntries(kept) } } : {};
}

/** What was stored, read with care: a history may have been through other hands. */
export function leftoversOf(native: Native | null | undefined, api: string): Leftovers {
  const data = native?.api === api ? native.data : undefined;
  if (!isRecord(data)) return NOTHING;
  return {
    pieces: piecesOf(data.pieces),
    signature: isSignature(data.thoughtSignature) ? data.thoughtSignature : null,
    after: Array.isArray(data.after) ? data.after.filter(isSignature) : [],
  };
}

/** A text cut into its stretches; null when they do not add up to it, because then nobody knows what was signed. */
export function cutIntoPieces(
  text: string,
  pieces: readonly Piece[] | null,
): { text: string; signature?: string }[] | null {
  if (!pieces || pieces.reduce((sum, piece) => sum + piece.length, 0) !== text.length) return null;
  let at = 0;
  return pieces.map(({ length, signature }) => {
    const stretch = { text: text.slice(at, at + length), ...(signature ? { signature } : {}) };
    at += length;
    return stretch;
  });
}

function piecesOf(value: unknown): Piece[] | null {
  if (!Array.isArray(value)) return null;
  const pieces: Piece[] = [];
  for (const piece of value) {
    if (!isRecord(piece) || typeof piece.length !== "number") return null;
    if (!Number.isSafeInteger(piece.length) || piece.length < 0) return null;
    pieces.push({
      length: piece.length,
      ...(isSignature(piece.signature) ? { signature: piece.signature } : {}),
    });
  }
  return pieces;
}
