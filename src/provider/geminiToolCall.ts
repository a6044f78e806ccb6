import type { ToolCallContent } from "../message/index.js";
import { type PartialArgs, partialArgs, put } from "./geminiPartialArgs.js";
import { nativeOf } from "./geminiPieces.js";
import { isRecord } from "./json.js";
import { readToolArguments } from "./toolArguments.js";

/** A tool call while it streams in. Most come whole; Vertex can send their arguments in pieces. */
export type GrowingCall = {
  id: string;
  name: string;
  /** More of it follows. */
  open: boolean;
  /** Where the arguments came as a text that had to be read. */
  raw: { text: string; how: "repaired" | "unparsed" } | null;
  partial: PartialArgs;
  placed: boolean;
  signature: string | null;
};

/** A call from the first the server says of it. */
export function startCall(said: Record<string, unknown>, signature: string | null): GrowingCall {
  const read = typeof said.args === "string" ? readToolArguments(said.args) : null;
  const args = read?.args ?? (isRecord(said.args) ? said.args : {});
  const call: GrowingCall = {
    id: "",
    name: "",
    open: false,
    raw: read && read.how !== "strict" ? { text: String(said.args), how: read.how } : null,
    partial: partialArgs(args),
    placed: true,
    signature: null,
  };
  growCall(call, { ...said, args: undefined }, signature);
  return call;
}

/** Does what the server says now belong to a call that was not finished? */
export function continuesCall(call: GrowingCall, said: Record<string, unknown>): boolean {
  if (!call.open) return false;
  const otherId = typeof said.id === "string" && said.id !== "" && call.id !== "" && said.id !== call.id;
  return !otherId && (typeof said.name !== "string" || said.name === "" || said.name === call.name);
}

/** More of a call. */
export function growCall(call: GrowingCall, said: Record<string, unknown>, signature: string | null): void {
  if (typeof said.id === "string") call.id ||= said.id;
  if (typeof said.name === "string") call.name ||= said.name;
  if (isRecord(said.args))
    for (const [key, value] of Object.entries(said.args)) put(call.partial.args, key, value);
  if (said.partialArgs !== undefined && !call.partial.take(said.partialArgs)) call.placed = false;
  call.open = said.willContinue === true;
  call.signature = signature ?? call.signature;
}

/**
 * `unparsed` in the leftovers says that the arguments are not what the model meant, also because their end never
 * came; then `args` is empty and the call is to be answered with an error.
 */
export function callContent(call: GrowingCall, after: readonly string[], api: string): ToolCallContent {
  const broken = call.open || !call.placed || call.raw?.how === "unparsed";
  const native = nativeOf(api, {
    thoughtSignature: call.signature ?? undefined,
    after: after.length > 0 ? [...after] : undefined,
    rawArguments: broken ? (call.raw?.text ?? JSON.stringify(call.partial.args)) : call.raw?.text,
    unparsed: broken ? true : undefined,
    repaired: call.raw?.how === "repaired" ? true : undefined,
  });
  return {
    type: "tool_call",
    id: call.id,
    name: call.name,
    args: broken ? {} : call.partial.args,
    ...native,
  };
}
