/// <reference lib="es2024.string" />

/** A character no store can keep: a lone surrogate (not Unicode) or U+0000 (Postgres has no place for it). */
export type BadCharacter = {
  /** Where it stands, counted like `entities` and JavaScript do: in UTF-16 code units. */
  offset: number;
  name: "a lone surrogate" | "U+0000";
};

const BAD = /\u0000|\p{Surrogate}/u;

/** The first character that could not come back as it was given, or null when all can. */
export function firstBadCharacter(text: string): BadCharacter | null {
  // Both built-ins run at memory speed; the pattern, a hundred times slower, only has to find the place.
  if (text.isWellFormed() && !text.includes("\u0000")) return null;
  const found = BAD.exec(text);
  if (!found) return null;
  return { offset: found.index, name: found[0] === "\u0000" ? "U+0000" : "a lone surrogate" };
}

/** The text with U+FFFD in place of every character no store can keep. */
export function replaceBadCharacters(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

/** Bytes of UTF-8. */
export function byteLength(text: string): number {
  return typeof Buffer === "undefined" ? new TextEncoder().encode(text).length : Buffer.byteLength(text);
}

/** At most `limit` code units, an ellipsis for the rest; never half a character. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text
    .slice(0, limit - 1)
    .toWellFormed()
    .replace(/\uFFFD$/, "")}…`;
}
