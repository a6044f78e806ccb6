import { HANDOFF_LABEL, type LeftOut, type Origin, type ThinkingContent } from "../message/index.js";
import type { Quirks } from "./codec.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import { isRecord, quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { leaveOut, mergeOrigins } from "./origin.js";

/** A message in the API's spelling: one complete JSON value. */
export type Spelled = { role: "system" | "user" | "assistant" | "tool"; text: string; from: Origin };

export type Spelling = { messages: Spelled[]; leftOut: LeftOut[] };

type Assistant = Extract<Fitted, { role: "assistant" }>;

/** A fitted history as Chat Completions spells it. */
export function spell(history: readonly Fitted[], quirks: Quirks): Spelling {
  const spelling: Spelling = { messages: [], leftOut: [] };
  for (const message of history) {
    switch (message.role) {
      case "system":
        spelling.messages.push(spellSystem(message, quirks));
        break;
      case "user":
        spelling.messages.push({ role: "user", text: userJson(message.parts), from: message.from });
        break;
      case "assistant":
        spellAssistant(message, quirks, spelling);
    }
  }
  return spelling;
}

/** A system message in the middle of the history stays there, marked where the role has to be another. */
function spellSystem({ text, from }: Extract<Fitted, { role: "system" }>, { midSystem }: Quirks): Spelled {
  if (midSystem !== "user")
    return { role: "system", text: `{"role":"${midSystem}","content":${quote(text)}}`, from };
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  return { role: "user", text: userJson([{ type: "text", text: marked }]), from };
}

/** A string where it can be one: many compatible servers take nothing else. */
function userJson(parts: readonly (TextPart | MediaPart)[]): string {
  const texts = textsOf(parts);
  const content = texts.length === parts.length ? quote(texts.join("\n\n")) : toJson(parts.map(partOf));
  return `{"role":"user","content":${content}}`;
}

/** A text that this model left something on may be blank, which the API refuses. */
function textsOf(parts: readonly { type: string; text?: string }[]): string[] {
  const texts: string[] = [];
  for (const part of parts)
    if (part.type === "text" && part.text !== undefined && !isBlank(part.text)) texts.push(part.text);
  return texts;
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

/** An answer, then the results of its calls, then what those results had to show. */
function spellAssistant(message: Assistant, quirks: Quirks, { messages, leftOut }: Spelling): void {
  const texts = textsOf(message.parts);
  const calls = message.parts.filter((part) => part.type === "tool_call");
  if (texts.length === 0 && calls.length === 0) {
    leftOut.push(...leaveOut(message.from, "thinking alone, which this API cannot take back"));
    return;
  }
  const content = texts.length > 0 ? quote(texts.join("\n\n")) : "null";
  const reasoning = reasoningJson(message, calls.length > 0, quirks);
  const toolCalls = calls.length > 0 ? `,"tool_calls":[${calls.map(callJson).join()}]` : "";
  const text = `{"role":"assistant","content":${content}${reasoning}${toolCalls}}`;
  messages.push({ role: "assistant", text, from: message.from });
  for (const result of message.results) messages.push(spellResult(result, quirks));
  messages.push(...spellToolMedia(message.results));
}

function callJson({ id, name, args, native }: CallPart): string {
  const data = native?.data;
  const extra =
    isRecord(data) && isRecord(data.extra_content) ? `,"extra_content":${toJson(data.extra_content)}` : "";
  const called = `{"name":${quote(name)},"arguments":${quote(toJson(args))}}`;
  return `{"id":${quote(id)},"type":"function","function":${called}${extra}}`;
}

/**
 * This model's own thinking, where its server can take it back: signed details as they came, plain reasoning in the
 * field the server insists on for answers that call tools. OpenAI itself takes none.
 */
function reasoningJson(message: Assistant, callsTools: boolean, { replayReasoning }: Quirks): string {
  const thoughts: ThinkingContent[] = [];
  for (const part of message.parts) if (part.type === "thinking") thoughts.push(part.thinking);
  const details = thoughts.flatMap(detailsOf);
  if (details.length > 0) return `,"reasoning_details":${toJson(details)}`;
  if (replayReasoning === "none" || !callsTools) return "";
  return `,"${replayReasoning}":${quote(thoughts.map((thought) => thought.content).join("\n\n"))}`;
}

function detailsOf({ content, signature, native }: ThinkingContent): unknown[] {
  const data = native?.data;
  if (isRecord(data) && Array.isArray(data.reasoning_details)) return data.reasoning_details;
  return signature === "" ? [] : [{ type: "reasoning.text", text: content, signature }];
}

function spellResult(result: FittedResult, { toolResultName }: Quirks): Spelled {
  const name = toolResultName ? `,"name":${quote(result.name)}` : "";
  const text = `{"role":"tool","tool_call_id":${quote(result.id)}${name},"content":${quote(resultText(result))}}`;
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
  return [{ role: "user", text: userJson(parts), from }];
}
