import { HANDOFF_LABEL, type LeftOut, type Origin } from "../message/index.js";
import type { Quirks } from "./codec.js";
import type { CallPart, Fitted, FittedResult, TextPart } from "./fitted.js";
import { isRecord, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { leftOut, mergeOrigins } from "./origin.js";

/** A message in the API's spelling: one complete JSON value. */
export type Spelled = { role: "system" | "user" | "assistant" | "tool"; text: string; from: Origin };

type Spelling = { messages: Spelled[]; leftOut: LeftOut[] };
type Assistant = Extract<Fitted, { role: "assistant" }>;

/** A fitted message as Chat Completions spells it: one message, or an answer with its results. */
export function spell(message: Fitted, quirks: Quirks): Spelling {
  switch (message.role) {
    case "system":
      return { messages: [spellSystem(message, quirks)], leftOut: [] };
    case "user": {
      const text = toJson({ role: "user", content: contentOf(message.parts) });
      return { messages: [{ role: "user", text, from: message.from }], leftOut: [] };
    }
    case "assistant":
      return spellAssistant(message, quirks);
  }
}

/** A system message in the middle of the history stays there, marked where the role has to be another. */
function spellSystem({ text, from }: Extract<Fitted, { role: "system" }>, { midSystem }: Quirks): Spelled {
  if (midSystem !== "user") return { role: "system", text: toJson({ role: midSystem, content: text }), from };
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  return { role: "user", text: toJson({ role: "user", content: marked }), from };
}

/** A string where it can be one: many compatible servers take nothing else. */
function contentOf(parts: readonly (TextPart | MediaPart)[]): unknown {
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length === parts.length) return texts.join("\n\n");
  return parts.map(partOf);
}

function partOf(part: TextPart | MediaPart): Record<string, unknown> {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image_url", image_url: { url: part.url } };
    case "image_data":
      return { type: "image_url", image_url: { url: `data:${part.mime};base64,${part.base64}` } };
    case "audio_data":
      return { type: "input_audio", input_audio: { data: part.base64, format: soundFormat(part.mime) } };
  }
}

function soundFormat(mime: string): "wav" | "mp3" {
  return mime.includes("wav") ? "wav" : "mp3";
}

function spellAssistant(message: Assistant, quirks: Quirks): Spelling {
  const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const calls = message.parts.flatMap((part) => (part.type === "tool_call" ? [part] : []));
  if (texts.length === 0 && calls.length === 0) {
    return {
      messages: [],
      leftOut: leftOut(message.from, "thinking alone, which this API cannot take back"),
    };
  }
  const answer = toJson({
    role: "assistant",
    content: texts.length > 0 ? texts.join("\n\n") : null,
    ...reasoningOf(message, calls.length > 0, quirks),
    ...(calls.length > 0 ? { tool_calls: calls.map(callOf) } : {}),
  });
  const messages: Spelled[] = [{ role: "assistant", text: answer, from: message.from }];
  for (const result of message.results) messages.push(spellResult(result, quirks));
  return { messages: [...messages, ...spellToolMedia(message.results)], leftOut: [] };
}

function callOf({ id, name, args, native }: CallPart): Record<string, unknown> {
  const data = native?.data;
  const extra = isRecord(data) && isRecord(data.extra_content) ? { extra_content: data.extra_content } : {};
  return { id, type: "function", function: { name, arguments: toJson(args) }, ...extra };
}

/**
 * This model's own thinking, where its server can take it back: signed details as they came, plain reasoning in the
 * field the server insists on for answers that call tools. OpenAI itself takes none.
 */
function reasoningOf(message: Assistant, callsTools: boolean, quirks: Quirks): Record<string, unknown> {
  const thoughts = message.parts.flatMap((part) => (part.type === "thinking" ? [part.thinking] : []));
  const details = thoughts.flatMap(({ content, signature, native }): unknown[] => {
    const data = native?.data;
    if (isRecord(data) && Array.isArray(data.reasoning_details)) return data.reasoning_details;
    return signature === "" ? [] : [{ type: "reasoning.text", text: content, signature }];
  });
  if (details.length > 0) return { reasoning_details: details };
  if (quirks.replayReasoning === "none" || !callsTools) return {};
  return { [quirks.replayReasoning]: thoughts.map((thought) => thought.content).join("\n\n") };
}

function spellResult(result: FittedResult, quirks: Quirks): Spelled {
  const named = quirks.toolResultName ? { name: result.name } : {};
  const text = toJson({ role: "tool", tool_call_id: result.id, ...named, content: resultText(result) });
  return { role: "tool", text, from: result.from };
}

/** The API has no flag for a failed tool, so it is said in words; an empty result would be refused by some servers. */
function resultText({ text, isError, media }: FittedResult): string {
  const said = text || (media.length > 0 ? "(see what is attached below)" : "(no output)");
  return isError ? `Error: ${said}` : said;
}

/** Tool messages take text only: what else a batch gave comes in one user message right after it. */
function spellToolMedia(results: readonly FittedResult[]): Spelled[] {
  const withMedia = results.filter((result) => result.media.length > 0);
  if (withMedia.length === 0) return [];
  const parts = withMedia.flatMap((result): (TextPart | MediaPart)[] => [
    { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${result.name}, call ${result.id}]` },
    ...result.media,
  ]);
  const from = mergeOrigins(
    "message",
    withMedia.map((result) => result.from),
  );
  return [{ role: "user", text: toJson({ role: "user", content: contentOf(parts) }), from }];
}
