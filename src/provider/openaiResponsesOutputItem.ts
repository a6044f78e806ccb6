import type { ToolCallContent } from "../message/index.js";
import { isRecord } from "./json.js";
import type { Trace } from "./openaiResponsesTrace.js";
import { readToolArguments } from "./toolArguments.js";

/** Words that stream in: a text, or the thinking of a reasoning item. `part` is given with the first of them. */
export type Voice = { type: "text" | "thinking"; pieces: string[]; part: number | null };

type Common = { at: number; index: number | null; id: string; isDone: boolean };
export type ReasoningItem = Common & {
  kind: "reasoning";
  fields: Record<string, unknown>;
  encrypted: string;
  voice: Voice;
  /** Servers send a summary or the reasoning itself; of both, what came first. */
  source: "summary" | "content" | null;
  /** Which passage was last spoken. */
  passage: unknown;
};
export type MessageItem = Common & { kind: "message"; phase: string; voices: Map<number, Voice> };
export type CallItem = Common & {
  kind: "call";
  callId: string;
  name: string;
  pieces: string[];
  whole: string | null;
};
/** What we never asked for, and only keep the place of. */
export type OtherItem = Common & { kind: "other" };
export type OutputItem = ReasoningItem | MessageItem | CallItem | OtherItem;
export type ItemKind = OutputItem["kind"];

/** Which kind an item's own word means. */
export function kindOf(type: unknown): ItemKind {
  if (type === "reasoning" || type === "message") return type;
  return type === "function_call" ? "call" : "other";
}

/** An item of which nothing is known yet. */
export function newItem(kind: ItemKind, at: number, index: number | null, id: string): OutputItem {
  const common = { at, index, id, isDone: false };
  switch (kind) {
    case "reasoning": {
      const voice: Voice = { type: "thinking", pieces: [], part: null };
      return { ...common, kind, fields: {}, encrypted: "", voice, source: null, passage: null };
    }
    case "message":
      return { ...common, kind, phase: "", voices: new Map() };
    case "call":
      return { ...common, kind, callId: "", name: "", pieces: [], whole: null };
    case "other":
      return { ...common, kind };
  }
}

/** Takes over what an item says of itself. Later word outweighs earlier, nothing outweighs no word. */
export function learn(item: OutputItem, said: Record<string, unknown>): void {
  if (typeof said.id === "string" && said.id !== "") item.id = said.id;
  switch (item.kind) {
    case "reasoning":
      if (typeof said.encrypted_content === "string" && said.encrypted_content !== "")
        item.encrypted = said.encrypted_content;
      item.fields = { ...item.fields, ...replayable(said) };
      return;
    case "message":
      if (typeof said.phase === "string") item.phase = said.phase;
      return;
    case "call":
      if (typeof said.call_id === "string") item.callId ||= said.call_id;
      if (typeof said.name === "string") item.name ||= said.name;
      learnArguments(item, said.arguments);
      return;
    case "other":
      return;
  }
}

/** Arguments in one piece, which some servers write as an object. */
export function learnArguments(item: CallItem, said: unknown): void {
  if (typeof said === "string" && said !== "") item.whole = said;
  else if (isRecord(said)) item.whole = JSON.stringify(said);
}

/** What of a reasoning item goes back: the API refuses a status, and empty fields, that it sent itself. */
function replayable(said: Record<string, unknown>): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean => value === null || value === undefined;
  const kept = Object.entries(said).filter(([name, value]) => {
    if (name === "status" || name === "encrypted_content" || isEmpty(value)) return false;
    return name !== "content" || (Array.isArray(value) && value.length > 0);
  });
  return Object.fromEntries(kept);
}

/** What to keep of an item with the content that came of it. */
export function traceOf(item: OutputItem): Trace {
  const { at, id } = item;
  if (item.kind === "reasoning") return { at, item: item.fields };
  const phase = item.kind === "message" && item.phase !== "" ? { phase: item.phase } : {};
  return { at, ...(id === "" ? {} : { id }), ...phase };
}

/** A call, its arguments read once. One that came without an id has an empty one. */
export function callOf(item: CallItem, api: string): ToolCallContent {
  const raw = item.whole ?? item.pieces.join("");
  const { args, how } = readToolArguments(raw);
  const data = {
    ...traceOf(item),
    ...(how === "repaired" ? { rawArguments: raw, repaired: true } : {}),
    ...(how === "unparsed" ? { rawArguments: raw, unparsed: true } : {}),
  };
  return { type: "tool_call", id: item.callId, name: item.name, args, native: { api, data } };
}
