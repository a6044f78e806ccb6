/** A character no store can keep: a lone surrogate (not Unicode) or U+0000 (Postgres has no place for it). */
export type BadCharacter = { offset: number; name: "a lone surrogate" | "U+0000" };

const BAD = /\u0000|\p{Surrogate}/u;

/** The first character that could not come back as it was given, or null when all can. */
export function firstBadCharacter(text: string): BadCharacter | null {
  const found = BAD.exec(text);
  if (!found) return null;
  return { offset: found.index, name: found[0] === "\u0000" ? "U+0000" : "a lone surrogate" };
}

/** Bytes of UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
