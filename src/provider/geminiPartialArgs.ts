import { isRecord } from "./json.js";

type Key = string | number;

/** Puts together arguments that stream in pieces, each with a path to where it belongs. */
export type PartialArgs = {
  args: Record<string, unknown>;
  /** False as soon as a piece could not be placed: then the arguments are not what the model meant. */
  take(pieces: unknown): boolean;
};

/** For one call. */
export function partialArgs(args: Record<string, unknown>): PartialArgs {
  let growing: string | null = null;

  function takePiece(piece: Record<string, unknown>): boolean {
    const path = typeof piece.jsonPath === "string" ? piece.jsonPath : "";
    const keys = readPath(path);
    const value = valueIn(piece);
    if (!keys || value === undefined) return false;
    const continues = growing === path;
    growing = piece.willContinue === true ? path : null;
    return place(args, keys, value, continues);
  }

  return {
    args,
    take: (pieces) =>
      Array.isArray(pieces) && pieces.every((piece: unknown) => isRecord(piece) && takePiece(piece)),
  };
}

/** A piece without a value ends a string that was streaming. */
function valueIn(piece: Record<string, unknown>): unknown {
  if (typeof piece.stringValue === "string") return piece.stringValue;
  if (typeof piece.numberValue === "number") return piece.numberValue;
  if (typeof piece.boolValue === "boolean") return piece.boolValue;
  if ("nullValue" in piece) return null;
  return "";
}

const STEP = /\.([^.[\]'"]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** The steps of a path such as `$.list[0].name`; null when it is not one. */
function readPath(path: string): Key[] | null {
  if (!path.startsWith("$")) return null;
  const keys: Key[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (!found) return null;
    const [, plain, index, single, double] = found;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(plain ?? (single ?? double ?? "").replace(/\\(.)/g, "$1"));
  }
  return keys.length > 0 ? keys : null;
}

/** Lists grow one by one, so that no path can ask for a billion empty places. */
function place(
  root: Record<string, unknown>,
  keys: readonly Key[],
  value: unknown,
  continues: boolean,
): boolean {
  let inside: unknown = root;
  for (const [at, key] of keys.entries()) {
    if (!fits(inside, key)) return false;
    const next = keys[at + 1];
    const there = inside[key];
    if (next === undefined) {
      const grown =
        continues && typeof there === "string" && typeof value === "string" ? there + value : value;
      return put(inside, key, grown);
    }
    if (there === undefined || !Object.hasOwn(inside, key))
      put(inside, key, typeof next === "number" ? [] : {});
    inside = inside[key];
  }
  return false;
}

type Holder = { [key: Key]: unknown };

function fits(holder: unknown, key: Key): holder is Holder {
  if (Array.isArray(holder)) return typeof key === "number" && key <= holder.length;
  return isRecord(holder) && typeof key === "string";
}

/**
 * As JSON.parse does it: a key such as `__proto__` is a key like any other. What is there already is simply replaced,
 * because to define it anew would compare the two, and a text that grows would cost its square.
 */
export function put(holder: Holder, key: Key, value: unknown): boolean {
  if (!Object.hasOwn(holder, key))
    return Reflect.defineProperty(holder, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  holder[key] = value;
  return true;
}
