import { isRecord, parseJson } from "./json.js";

/** A tool call's arguments as an object, and how they became one. `unparsed` ones are empty: the call must not run. */
export type ToolArguments = { args: Record<string, unknown>; how: "strict" | "repaired" | "unparsed" };

/** Reads what a model wrote as arguments: strict JSON, else repaired JSON, else nothing. */
export function readToolArguments(text: string): ToolArguments {
  const strict = objectOf(parseJson(text.trim() === "" ? "{}" : text));
  if (strict) return { args: strict, how: "strict" };
  const repaired = repair(text);
  const args = repaired === null ? null : objectOf(parseJson(repaired));
  return args ? { args, how: "repaired" } : { args: {}, how: "unparsed" };
}

/** Some servers send `null` for no arguments, or an object inside a string. */
function objectOf(value: unknown): Record<string, unknown> | null {
  if (value === null) return {};
  if (typeof value === "string") {
    const inner = parseJson(value);
    return isRecord(inner) ? inner : null;
  }
  return isRecord(value) ? value : null;
}

const FENCE = /^\s*```[a-z]*\s*|\s*```\s*$/gi;
const SIMPLE_ESCAPES = new Set(['"', "\\", "/", "b", "f", "n", "r", "t"]);
const CLOSER: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

/**
 * The same text as valid JSON, where its meaning is beyond doubt: code fences, raw line breaks in strings, unknown
 * escapes, commas before a closing bracket, brackets missing or left over at the end.
 * A text that stops inside a string or a number, or after a comma, is not repaired: half a path or half a command
 * must never run.
 */
function repair(text: string): string | null {
  const source = text.replace(FENCE, "").replace(/^\{\s*\}(?=\s*\{)/, "");
  const out: string[] = [];
  const open: string[] = [];
  let at = 0;
  while (at < source.length) {
    const char = source.charAt(at);
    if (char === '"') {
      const end = copyString(source, at, out);
      if (end === -1) return null;
      at = end;
      continue;
    }
    if (char === "{" || char === "[") open.push(CLOSER[char] ?? "");
    if (char === "}" || char === "]") {
      if (open.pop() !== char) return null;
      dropTrailingComma(out);
    }
    out.push(char);
    at++;
    if (open.length === 0 && (char === "}" || char === "]")) {
      return /^[\s}\]]*$/.test(source.slice(at)) ? out.join("") : null;
    }
  }
  const written = out.join("").trimEnd();
  if (!/("|\}|\]|true|false|null)$/.test(written)) return null;
  return written + open.reverse().join("");
}

/** Copies a string from its opening quote, made valid; where it ended, or -1 when it never did. */
function copyString(source: string, start: number, out: string[]): number {
  out.push('"');
  for (let at = start + 1; at < source.length; at++) {
    const char = source.charAt(at);
    if (char === '"') {
      out.push(char);
      return at + 1;
    }
    if (char === "\\") {
      const next = source.charAt(at + 1);
      const known = SIMPLE_ESCAPES.has(next) || /^u[0-9a-f]{4}/i.test(source.slice(at + 1, at + 6));
      out.push(known ? char + next : "\\\\");
      if (known) at++;
    } else {
      out.push(char < " " ? JSON.stringify(char).slice(1, -1) : char);
    }
  }
  return -1;
}

function dropTrailingComma(out: string[]): void {
  let last = out.length - 1;
  while (last >= 0 && /^\s$/.test(out[last] ?? "")) last--;
  if (out[last] === ",") out.splice(last, 1);
}
