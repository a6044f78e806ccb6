import { describeValue } from "./problems.js";
import { byteLength, firstBadCharacter } from "./text.js";

export type JsonLimits = {
  /** Levels of lists and objects, the value itself being the first. */
  depth: number;
  /** Bytes of UTF-8 its JSON may have. */
  bytes: number;
  /** Whether U+0000 and lone surrogates are refused, as no store could keep them outside a JSON escape. */
  wellFormed: boolean;
};

/** What keeps a value from coming back from JSON as it went in. */
export type JsonProblem = { path: PropertyKey[]; reason: string };

type Walk = { limits: JsonLimits; bound: number };

/** The first thing that would keep a value from surviving as JSON within limits, or null when nothing would. */
export function jsonProblem(value: unknown, limits: JsonLimits): JsonProblem | null {
  const walk: Walk = { limits, bound: 0 };
  const problem = visit(value, 1, walk);
  if (problem) return { path: problem.path.reverse(), reason: problem.reason };
  // The walk's sum is never less than the truth, so most values need no second look.
  if (walk.bound <= limits.bytes || byteLength(JSON.stringify(value)) <= limits.bytes) return null;
  return { path: [], reason: `expected at most ${limits.bytes} bytes of JSON` };
}

/** Paths are collected inside out, only when something is wrong. */
function visit(value: unknown, depth: number, walk: Walk): JsonProblem | null {
  switch (typeof value) {
    case "string":
      return visitText(value, walk);
    case "number":
      walk.bound += 25;
      return Number.isFinite(value) ? null : { path: [], reason: "expected a finite number" };
    case "boolean":
    case "undefined":
      walk.bound += 6;
      return null;
    case "object":
      walk.bound += 6;
      return value === null ? null : visitFields(value, depth, walk);
    default:
      return { path: [], reason: `expected plain JSON, got ${describeValue(value)}` };
  }
}

function visitText(text: string, walk: Walk): JsonProblem | null {
  // An escaped character takes six bytes, a quoted string two more.
  walk.bound += text.length * 6 + 4;
  const bad = walk.limits.wellFormed ? firstBadCharacter(text) : null;
  return bad ? { path: [], reason: `holds ${bad.name} at offset ${bad.offset}, which cannot be kept` } : null;
}

function visitFields(value: object, depth: number, walk: Walk): JsonProblem | null {
  if (depth > walk.limits.depth) {
    return { path: [], reason: `nested deeper than ${walk.limits.depth} levels` };
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const problem = visit(value[index], depth + 1, walk);
      if (problem) return under(problem, index);
    }
    return null;
  }
  if (!isPlain(value))
    return { path: [], reason: `expected plain JSON, got ${describeValue(value)} of its own kind` };
  for (const key of Object.keys(value)) {
    const problem = visitText(key, walk) ?? visit(Reflect.get(value, key), depth + 1, walk);
    if (problem) return under(problem, key);
  }
  return null;
}

function under(problem: JsonProblem, key: PropertyKey): JsonProblem {
  problem.path.push(key);
  return problem;
}

/** Made by a literal or by JSON, here or in another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** Is it an object with named fields: no list, no bytes, not null? */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
