import type { ToolCallContent } from "../message/index.js";
import { isRecord } from "./json.js";
import { readToolArguments } from "./toolArguments.js";

type Growing = {
  key: number | null;
  id: string;
  name: string;
  pieces: string[];
  extra: Record<string, unknown> | null;
};

/** Gathers tool calls from the pieces they stream in. */
export type ToolCallGatherer = {
  take(pieces: unknown): void;
  count(): number;
  /** All calls, arguments joined and read once. A call that came without an id has an empty one. */
  finish(api: string): ToolCallContent[];
};

/** A gatherer for one answer. */
export function toolCallGatherer(): ToolCallGatherer {
  const calls: Growing[] = [];

  /**
   * Which call a piece continues. An id that is known says so; an unknown id, on an index whose call has another,
   * is a new call, because some servers number every call 0 or none at all; otherwise the index decides.
   */
  function callFor(piece: Record<string, unknown>): Growing {
    const id = typeof piece.id === "string" ? piece.id : "";
    const key = typeof piece.index === "number" ? piece.index : null;
    const sameId = id === "" ? undefined : calls.find((call) => call.id === id);
    if (sameId) return sameId;
    const sameKey = key === null ? calls.at(-1) : calls.findLast((call) => call.key === key);
    if (sameKey && (id === "" || sameKey.id === "") && !startsAnew(piece, key, sameKey)) {
      sameKey.id ||= id;
      return sameKey;
    }
    const fresh: Growing = { key, id, name: "", pieces: [], extra: null };
    calls.push(fresh);
    return fresh;
  }

  return {
    take(pieces) {
      if (!Array.isArray(pieces)) return;
      for (const piece of pieces) {
        if (isRecord(piece)) grow(callFor(piece), piece);
      }
    },
    count: () => calls.length,
    finish: (api) => calls.map((call) => contentOf(call, api)),
  };
}

/** Without id and index, a name after arguments is the next call's. */
function startsAnew(piece: Record<string, unknown>, key: number | null, call: Growing): boolean {
  if (key !== null || !isRecord(piece.function)) return false;
  return typeof piece.function.name === "string" && piece.function.name !== "" && call.name !== "";
}

function grow(call: Growing, piece: Record<string, unknown>): void {
  if (isRecord(piece.extra_content)) call.extra = { ...call.extra, ...piece.extra_content };
  if (!isRecord(piece.function)) return;
  const { name, arguments: text } = piece.function;
  if (typeof name === "string" && call.name === "") call.name = name;
  if (typeof text === "string") call.pieces.push(text);
  else if (isRecord(text)) call.pieces.push(JSON.stringify(text));
}

/**
 * `native.data` keeps what the arguments do not show: `rawArguments` where they had to be repaired, or, with
 * `unparsed: true`, could not be read at all, in which case `args` is empty and the call is to be answered with an error.
 */
function contentOf({ id, name, pieces, extra }: Growing, api: string): ToolCallContent {
  const raw = pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("");
  const { args, how } = readToolArguments(raw);
  const data = {
    ...(how === "repaired" ? { rawArguments: raw, repaired: true } : {}),
    ...(how === "unparsed" ? { rawArguments: raw, unparsed: true } : {}),
    ...(extra ? { extra_content: extra } : {}),
  };
  const native = Object.keys(data).length > 0 ? { native: { api, data } } : {};
  return { type: "tool_call", id, name, args, ...native };
}
