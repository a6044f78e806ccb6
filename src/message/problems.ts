import type { z } from "zod";
import { clip } from "./text.js";

/** One thing wrong with given data: where, and what would have been right. */
export type FieldError = { path: string; reason: string };

type Issue = z.core.$ZodIssue;

/** More than a person would read; a hostile body must not make a hostile answer. */
const MAX_ERRORS = 50;

/**
 * What a failed parse found, in plain words. `rootName` stands before every path.
 * With the `input` that was parsed, a reason also tells which value came where a choice was expected.
 */
export function errorsOf(error: z.core.$ZodError, rootName = "", input?: unknown): FieldError[] {
  return explained(error, input).map(({ path, reason }) => ({ path: pathText(path, rootName), reason }));
}

/** The same with the path as it was walked, for whoever has to put a path before it. */
export function explained(error: z.core.$ZodError, input?: unknown): Explained[] {
  const found: Explained[] = [];
  for (const issue of error.issues) {
    found.push(...explain(issue, input));
    if (found.length >= MAX_ERRORS) return found.slice(0, MAX_ERRORS);
  }
  return found;
}

/** `contents[2].images[0]`, as one would write it in code. */
export function pathText(path: readonly PropertyKey[], rootName = ""): string {
  let text = rootName;
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (typeof part === "string" && /^[A-Za-z_$][\w$]{0,63}$/.test(part))
      text += text ? `.${part}` : part;
    else text += `[${JSON.stringify(clip(String(part), 64))}]`;
  }
  return text;
}

/** What a value is, in words; a short string or a number is told as it came. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : "a string";
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "a number that is not finite";
  if (Array.isArray(value)) return "a list";
  if (value instanceof Uint8Array) return "bytes";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

type Explained = { path: readonly PropertyKey[]; reason: string };

function explain(issue: Issue, input: unknown): Explained[] {
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys
        .slice(0, MAX_ERRORS)
        .map((key) => ({ path: [...issue.path, key], reason: "no such field; check its spelling" }));
    case "invalid_union":
      return explainUnion(issue, input);
    default: {
      const expected = expectation(issue);
      if (expected === null) return [{ path: issue.path, reason: clip(issue.message, 300) }];
      return [{ path: issue.path, reason: `expected ${expected}${cameInstead(issue, input)}` }];
    }
  }
}

/** The words after "expected", or null where the schema's own message says it all. */
function expectation(issue: Issue): string | null {
  switch (issue.code) {
    case "invalid_type":
      return TYPE_WORDS[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values.map((value) => JSON.stringify(value) ?? String(value)));
    case "too_big":
      return bound(issue.origin, "at most", issue.maximum);
    case "too_small":
      return bound(issue.origin, "at least", issue.minimum);
    case "invalid_format":
      return issue.message.startsWith("Invalid") ? (FORMAT_WORDS[issue.format] ?? null) : null;
    default:
      return null;
  }
}

/** Of the ways a value could have been right, the one it came nearest to; otherwise all of them. */
function explainUnion(issue: z.core.$ZodIssueInvalidUnion, input: unknown): Explained[] {
  const words = discriminators(issue);
  if (words.length > 0) {
    const options = oneOf(words.map((option) => JSON.stringify(option)));
    return [{ path: issue.path, reason: `expected ${options}${cameInstead(issue, input)}` }];
  }
  const nearest = issue.errors.find(
    (branch) => branch.length > 0 && branch.every((inner) => inner.path.length > 0),
  );
  if (nearest) {
    return nearest
      .slice(0, MAX_ERRORS)
      .flatMap((inner) => explain({ ...inner, path: [...issue.path, ...inner.path] }, input));
  }
  const ways = issue.errors.flatMap((branch) =>
    branch.slice(0, 1).map((inner) => expectation(inner) ?? inner.message),
  );
  return [{ path: issue.path, reason: `expected ${ways.join(", or ")}${cameInstead(issue, input)}` }];
}

/** The words a discriminated union chooses by; zod gives them with the issue, though its type does not say so. */
function discriminators(issue: z.core.$ZodIssueInvalidUnion): string[] {
  if (!("options" in issue) || !Array.isArray(issue.options)) return [];
  return issue.options.filter((option) => typeof option === "string");
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  datetime: "a date and time with its zone, such as 2026-11-15T09:30:00Z",
  url: "an http or https URL",
  base64: "base64",
};

const CAME_WORDS: Readonly<Record<string, string>> = {
  ...TYPE_WORDS,
  undefined: "nothing",
  NaN: "NaN",
  null: "null",
};

function bound(origin: string, limit: "at most" | "at least", size: number | bigint): string {
  if (origin === "string" && limit === "at least" && size === 1) return "a string that is not empty";
  if (origin === "string") return `${limit} ${size} characters`;
  if (origin === "array") return `${limit} ${size} item${size === 1 ? "" : "s"}`;
  return `${limit} ${size}`;
}

function oneOf(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Sizes need no telling; a wrong type or word does. */
function cameInstead(issue: Issue, input: unknown): string {
  if (issue.code === "too_big" || issue.code === "too_small" || issue.code === "invalid_format") return "";
  if (input !== undefined) return `, got ${describeValue(valueAt(input, issue.path))}`;
  const received = /received (\w+)$/.exec(issue.message)?.[1];
  return received === undefined ? "" : `, got ${CAME_WORDS[received] ?? received}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
