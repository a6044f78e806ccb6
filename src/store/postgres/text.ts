/**
 * Postgres has no place for U+0000 in a text, nor for half of a surrogate pair. Models and tools produce both.
 * They are kept behind an escape that is taken out again when they are read, so nothing is lost and nothing refused.
 */

const ESCAPE = "\u001a";
const TO_ESCAPE = /[\u0000\u001a]|\p{Surrogate}/gu;
const ESCAPED = /\u001a([0-9a-f]{4})/g;

/** A text as the database can hold it. Different texts stay different, so keys stay keys. */
export function escaped(text: string): string {
  if (text.isWellFormed() && !text.includes("\u0000") && !text.includes(ESCAPE)) return text;
  return text.replace(TO_ESCAPE, (one) => ESCAPE + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** A value as a JSON text whose words the database can hold. */
export function storedJson(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === "string" ? escaped(part) : part));
}

/** What a JSON text says, its words as they were before they were escaped. */
export function parsedJson(json: string) {
  return JSON.parse(json, (_, part) => (typeof part === "string" ? unescaped(part) : part));
}

/** A text as it was before it was `escaped`. */
export function unescaped(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
