/// <reference lib="es2024.string" />

export { isRecord } from "../message/json.js";

/** The value of a JSON text; undefined, which no JSON is, when it cannot be read. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * A value as JSON text that every server can read. A lone surrogate, which JSON would carry as an escape that many
 * parsers refuse, becomes U+FFFD; a backslash that only looks like the start of such an escape is left alone.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\ufffd"));
}

const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/;

/** Does a text stand in a JSON string as it is? Most do. */
export function isSafeInJson(text: string): boolean {
  return !NEEDS_CARE.test(text);
}

/** A text as a JSON string, with whatever it takes. */
export function quoteWithCare(text: string): string {
  return JSON.stringify(text.isWellFormed() ? text : text.toWellFormed());
}

/** A text as a JSON string: the same as `toJson`, and several times faster, because most texts need no escapes. */
export function quote(text: string): string {
  return isSafeInJson(text) ? `"${text}"` : quoteWithCare(text);
}

/** A text as the inside of a JSON string, without its quotes. */
export function quoteInside(text: string): string {
  return isSafeInJson(text) ? text : quoteWithCare(text).slice(1, -1);
}
