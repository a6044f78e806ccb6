import { HANDOFF_LABEL, type Origin, type ThinkingContent } from "../message/index.js";
import type { Quirks } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";

export type WireRole = "user" | "assistant" | "system";

/** A piece of a message in the API's spelling: one complete JSON value. Neighbours of one role are one message. */
export type Spelled = { role: WireRole; text: string; from: Origin };

type Assistant = Extract<Fitted, { role: "assistant" }>;
type System = Extract<Fitted, { role: "system" }>;

/** A fitted history as Anthropic Messages spells it. */
export function spell(history: readonly Fitted[], { midSystem }: Pick<Quirks, "midSystem">): Spelled[] {
  const spelled: Spelled[] = [];
  history.forEach((message, at) => {
    switch (message.role) {
      case "system": {
        const fits = midSystem !== "user" && followsUser(spelled) && precedesAnswer(history, at);
        spelled.push(fits ? ownSystem(message) : markedSystem(message));
        break;
      }
      case "user":
        spelled.push(...spellParts(message.parts).map((text) => userPiece(text, message.from)));
        break;
      case "assistant":
        spelled.push(...spellAssistant(message));
    }
  });
  return spelled;
}

function userPiece(text: string, from: Origin): Spelled {
  return { role: "user", text, from };
}

function textBlock(text: string): string {
  return `{"type":"text","text":${quote(text)}}`;
}

/** The API's own system role stands only between what a user said and the answer to it. */
function followsUser(before: readonly Spelled[]): boolean {
  const role = before.at(-1)?.role;
  return role === "user" || role === "system";
}

function precedesAnswer(history: readonly Fitted[], at: number): boolean {
  const next = history.slice(at + 1).find((one) => one.role !== "system");
  return next === undefined || next.role === "assistant";
}

function ownSystem({ text, from }: System): Spelled {
  return { role: "system", text: textBlock(text), from };
}

/** Elsewhere a system message stays where it is, marked, because the role has to be another. */
function markedSystem({ text, from }: System): Spelled {
  return userPiece(textBlock(`${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`), from);
}

/** Texts that follow each other are one, so that a message is one block where it can be. */
function spellParts(parts: readonly (TextPart | MediaPart)[]): string[] {
  const spelled: string[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) spelled.push(textBlock(texts.join("\n\n")));
    texts = [];
  };
  for (const part of parts.map(withoutPlainAddress)) {
    if (part.type === "text") {
      texts.push(part.text);
      continue;
    }
    flush();
    spelled.push(spellMedia(part));
  }
  flush();
  return spelled;
}

/** The API fetches images over https alone. */
function withoutPlainAddress(part: TextPart | MediaPart): TextPart | MediaPart {
  if (part.type !== "image" || /^https:/i.test(part.url)) return part;
  return {
    type: "text",
    text: "[An image was here: its address is not https, which this model cannot take.]",
  };
}

function spellMedia(part: Exclude<MediaPart, { type: "text" }>): string {
  switch (part.type) {
    case "image":
      return toJson({ type: "image", source: { type: "url", url: part.url } });
    case "image_data":
    case "audio_data":
      // There is no sound among what is taken, so these are images.
      return toJson({ type: "image", source: { type: "base64", media_type: part.mime, data: part.base64 } });
  }
}

/** An answer, then the results of its calls, in one message with whatever a user says next. */
function spellAssistant({ parts, results, from }: Assistant): Spelled[] {
  const said = parts.map((part): Spelled => ({ role: "assistant", text: spellPart(part), from }));
  const answers = results.map((result) => userPiece(resultBlock(result), result.from));
  return [...said, ...answers, ...results.filter(showsApart).flatMap(shownApart)];
}

function spellPart(part: Assistant["parts"][number]): string {
  switch (part.type) {
    case "text":
      return textBlock(part.text);
    case "thinking":
      return thinkingBlock(part.thinking);
    case "tool_call":
      return `{"type":"tool_use","id":${quote(part.id)},"name":${quote(part.name)},"input":${toJson(part.args)}}`;
  }
}

/** As it came, to the byte: the signature covers it. */
function thinkingBlock({ content, signature, redacted }: ThinkingContent): string {
  return redacted
    ? `{"type":"redacted_thinking","data":${quote(signature)}}`
    : `{"type":"thinking","thinking":${quote(content)},"signature":${quote(signature)}}`;
}

/** A failed result may hold text alone; what it has to show follows the results. */
export function showsApart({ isError, media }: FittedResult): boolean {
  return isError && media.length > 0;
}

function shownApart({ name, id, media, from }: FittedResult): Spelled[] {
  const label: TextPart = { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${name}, call ${id}]` };
  return spellParts([label, ...media]).map((text) => userPiece(text, from));
}

function resultBlock(result: FittedResult): string {
  const { id, text, isError, media } = result;
  const inside = showsApart(result) ? [] : media;
  const said = text || (showsApart(result) ? "(see what is attached below)" : "(no output)");
  const texts: TextPart[] = text === "" ? [] : [{ type: "text", text }];
  const content = inside.length > 0 ? `[${spellParts([...texts, ...inside]).join()}]` : quote(said);
  const failed = isError ? `,"is_error":true` : "";
  return `{"type":"tool_result","tool_use_id":${quote(id)},"content":${content}${failed}}`;
}
