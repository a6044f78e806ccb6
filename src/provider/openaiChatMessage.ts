import { HANDOFF_LABEL, type ThinkingContent } from "../message/index.js";
import type { Quirks } from "./codec.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import { isRecord, quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { mergeOrigins } from "./origin.js";
import type { Spell, Spelling } from "./spelling.js";

type Assistant = Extract<Fitted, { role: "assistant" }>;
type Role = "system" | "user" | "assistant" | "tool";

/** How Chat Completions spells a message. Each is a block, and so is each result. */
export function openaiChatSpell(quirks: Quirks): Spell {
  return (message, spelling) => {
    switch (message.role) {
      case "system":
        return spellSystem(message, quirks, spelling);
      case "user":
        next("user", quirks, spelling);
        spelling.begin(message.from);
        return spellUser(message.parts, spelling);
      case "assistant":
        return spellAssistant(message, quirks, spelling);
    }
  };
}

const TOOLS_DONE = '{"role":"assistant","content":"I have the results."}';

/** What stands between two messages: a comma, and where a server wants an answer between results and a user, one. */
function next(role: Role, { assistantAfterTools }: Quirks, spelling: Spelling): void {
  if (spelling.role !== "") spelling.frame(",");
  if (assistantAfterTools && spelling.role === "tool" && role === "user") {
    spelling.frame(TOOLS_DONE);
    spelling.frame(",");
  }
  spelling.role = role;
}

/** A system message in the middle of the history stays there, marked where the role has to be another. */
function spellSystem(
  { text, from }: Extract<Fitted, { role: "system" }>,
  quirks: Quirks,
  spelling: Spelling,
): void {
  const { midSystem } = quirks;
  next(midSystem === "user" ? "user" : "system", quirks, spelling);
  spelling.begin(from);
  spelling.put(`{"role":"${midSystem}","content":`);
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  spelling.quote(midSystem === "user" ? marked : text);
  spelling.put("}");
}

/** A string where it can be one: many compatible servers take nothing else. */
function spellUser(parts: readonly (TextPart | MediaPart)[], spelling: Spelling): void {
  const texts = textsOf(parts);
  spelling.put('{"role":"user","content":');
  if (texts.length === parts.length) spelling.quote(texts.join("\n\n"));
  else spelling.put(toJson(parts.map(partOf)));
  spelling.put("}");
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
function spellAssistant(message: Assistant, quirks: Quirks, spelling: Spelling): void {
  const texts = textsOf(message.parts);
  const calls = message.parts.filter((part) => part.type === "tool_call");
  if (texts.length === 0 && calls.length === 0) {
    spelling.leaveOut(message.from, "thinking alone, which this API cannot take back");
    return;
  }
  next("assistant", quirks, spelling);
  spelling.begin(message.from);
  spelling.put('{"role":"assistant","content":');
  if (texts.length > 0) spelling.quote(texts.join("\n\n"));
  else spelling.put("null");
  spelling.put(reasoningJson(message, calls.length > 0, quirks));
  calls.forEach((call, at) => {
    spelling.put(at === 0 ? ',"tool_calls":[' : ",");
    spellCall(call, spelling);
  });
  spelling.put(calls.length > 0 ? "]}" : "}");
  for (const result of message.results) spellResult(result, quirks, spelling);
  spellToolMedia(message.results, quirks, spelling);
}

/** Ids and names are of letters that need no quoting by now. */
function spellCall({ id, name, args, native }: CallPart, spelling: Spelling): void {
  spelling.put(`{"id":"${id}","type":"function","function":{"name":"${name}","arguments":`);
  spelling.quote(toJson(args));
  const data = native?.data;
  const extra =
    isRecord(data) && isRecord(data.extra_content) ? `,"extra_content":${toJson(data.extra_content)}` : "";
  spelling.put(`}${extra}}`);
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

function spellResult(result: FittedResult, quirks: Quirks, spelling: Spelling): void {
  next("tool", quirks, spelling);
  spelling.begin(result.from);
  const name = quirks.toolResultName ? `,"name":"${result.name}"` : "";
  spelling.put(`{"role":"tool","tool_call_id":"${result.id}"${name},"content":`);
  spelling.quote(resultText(result));
  spelling.put("}");
}

/** The API has no flag for a failed tool, so it is said in words; an empty result would be refused by some servers. */
function resultText({ text, isError, media }: FittedResult): string {
  const said = text || (media.length > 0 ? "(see what is attached below)" : "(no output)");
  return isError ? `Error: ${said}` : said;
}

/** Tool messages take text only: what else a batch gave comes in one user message right after it. */
function spellToolMedia(results: readonly FittedResult[], quirks: Quirks, spelling: Spelling): void {
  const withMedia = results.filter((result) => result.media.length > 0);
  if (withMedia.length === 0) return;
  const parts = withMedia.flatMap((result): (TextPart | MediaPart)[] => [
    { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${result.name}, call ${result.id}]` },
    ...result.media,
  ]);
  next("user", quirks, spelling);
  spelling.begin(
    mergeOrigins(
      "message",
      withMedia.map((result) => result.from),
    ),
  );
  spellUser(parts, spelling);
}
