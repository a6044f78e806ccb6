import type { AssistantContent } from "../message/index.js";
import type { ModelDelta } from "./codec.js";
import { isSignature, nativeOf, type Piece } from "./geminiPieces.js";
import { callContent, continuesCall, type GrowingCall, growCall, startCall } from "./geminiToolCall.js";
import { isRecord } from "./json.js";

type Saying = { kind: "text" | "thinking"; texts: string[]; pieces: Piece[]; after: string[] };
type Calling = { kind: "tool_call"; call: GrowingCall; after: string[] };

/** Gathers an answer's contents from the parts they stream in, in the order they came. */
export type ContentGatherer = {
  take(part: unknown): ModelDelta[];
  hasCalls(): boolean;
  isEmpty(): boolean;
  /** Calls of an answer that did not end well are not to be run, so they are no part of it. */
  finish(withCalls: boolean): AssistantContent[];
};

/** A gatherer for one answer. */
export function contentGatherer(api: string): ContentGatherer {
  const slots: (Saying | Calling)[] = [];

  function sayingFor(kind: Saying["kind"]): Saying {
    const last = slots.at(-1);
    if (last?.kind === kind && last.after.length === 0) return last;
    const fresh: Saying = { kind, texts: [], pieces: [], after: [] };
    slots.push(fresh);
    return fresh;
  }

  /** An empty text that carries a signature is kept with what stands before it: alone, it would be an empty message. */
  function say(kind: Saying["kind"], text: string, signature: string | null): ModelDelta[] {
    const last = slots.at(-1);
    if (text === "" && signature === null) return [];
    if (text === "" && signature !== null && kind === "text" && last && last.kind !== "text") {
      last.after.push(signature);
      return [];
    }
    const saying = sayingFor(kind);
    saying.texts.push(text);
    addPiece(saying.pieces, text.length, signature);
    return text === "" ? [] : [{ type: kind, part: slots.length - 1, delta: text }];
  }

  function callTool(said: Record<string, unknown>, signature: string | null): void {
    const last = slots.at(-1);
    if (last?.kind === "tool_call" && continuesCall(last.call, said)) growCall(last.call, said, signature);
    // The end of a call that streamed may come as an empty one.
    else if (typeof said.name === "string" && said.name !== "")
      slots.push({ kind: "tool_call", call: startCall(said, signature), after: [] });
  }

  return {
    take(part) {
      if (!isRecord(part)) return [];
      const signature = isSignature(part.thoughtSignature) ? part.thoughtSignature : null;
      if (isRecord(part.functionCall)) {
        callTool(part.functionCall, signature);
        return [];
      }
      const text = typeof part.text === "string" ? part.text : standIn(part.inlineData);
      return say(part.thought === true ? "thinking" : "text", text, signature);
    },
    hasCalls: () => slots.some((slot) => slot.kind === "tool_call"),
    isEmpty: () => slots.length === 0,
    finish: (withCalls) =>
      slots.filter((slot) => withCalls || slot.kind !== "tool_call").map((slot) => contentOf(slot, api)),
  };
}

/** Stretches without a signature that follow each other are one. */
function addPiece(pieces: Piece[], length: number, signature: string | null): void {
  const last = pieces.at(-1);
  if (signature !== null) pieces.push({ length, signature });
  else if (last && last.signature === undefined) last.length += length;
  else pieces.push({ length });
}

/** What a model made that is no text is not dropped without a word. */
function standIn(inlineData: unknown): string {
  if (!isRecord(inlineData)) return "";
  return `[The model made something that cannot be shown here: ${String(inlineData.mimeType)}.]`;
}

function contentOf(slot: Saying | Calling, api: string): AssistantContent {
  switch (slot.kind) {
    case "tool_call":
      return callContent(slot.call, slot.after, api);
    case "text": {
      const signed = slot.pieces.some((piece) => piece.signature !== undefined);
      const native = nativeOf(api, { pieces: signed ? slot.pieces : undefined });
      return { type: "text", content: slot.texts.join(""), ...native };
    }
    case "thinking": {
      const signature = slot.pieces.findLast((piece) => piece.signature !== undefined)?.signature ?? "";
      const native = nativeOf(api, {
        pieces: slot.pieces.length > 1 ? slot.pieces : undefined,
        after: slot.after.length > 0 ? slot.after : undefined,
      });
      return { type: "thinking", content: slot.texts.join(""), signature, ...native };
    }
  }
}
