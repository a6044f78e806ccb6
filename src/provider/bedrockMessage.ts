import { showsApart, type WireRole } from "./anthropicMessage.js";
import type { BedrockModel } from "./bedrockModel.js";
import type { Quirks } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { HANDOFF_LABEL, type Origin, type ThinkingContent } from "../message/index.js";

/** A piece of a message: one complete JSON value. Neighbours of one role are one message. */
export type Piece = { role: WireRole; text: string; from: Origin; isResult: boolean };

type Assistant = Extract<Fitted, { role: "assistant" }>;
type System = Extract<Fitted, { role: "system" }>;
type Media = Exclude<MediaPart, { type: "text" }>;

/** What the API calls each kind of sound. */
const SOUNDS: ReadonlyMap<string, string> = new Map([
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/ogg", "ogg"],
  ["audio/opus", "opus"],
  ["audio/flac", "flac"],
  ["audio/aac", "aac"],
  ["audio/mp4", "mp4"],
  ["audio/webm", "webm"],
]);

/** Is there a word for this kind of sound? */
export function hasSoundFormat(mime: string): boolean {
  return SOUNDS.has(mime);
}

/** A fitted history as Converse spells it. */
export function spellBedrock(
  history: readonly Fitted[],
  facts: BedrockModel,
  { midSystem }: Pick<Quirks, "midSystem">,
): Piece[] {
  const pieces: Piece[] = [];
  history.forEach((message, at) => {
    switch (message.role) {
      case "system": {
        const before = pieces.at(-1)?.role;
        const next = history.slice(at + 1).find((one) => one.role !== "system");
        const fits = before !== undefined && before !== "assistant" && (!next || next.role === "assistant");
        pieces.push(systemPiece(message, midSystem !== "user" && fits));
        break;
      }
      case "user":
        pieces.push(...spellParts(message.parts).map((text) => piece("user", text, message.from)));
        break;
      case "assistant":
        pieces.push(...spellAssistant(message, facts));
    }
  });
  return pieces;
}

function piece(role: WireRole, text: string, from: Origin, isResult = false): Piece {
  return { role, text, from, isResult };
}

function textBlock(text: string): string {
  return `{"text":${quote(text)}}`;
}

/** A system message stays where it is, marked where the role has to be another. */
function systemPiece({ text, from }: System, ownRole: boolean): Piece {
  if (ownRole) return piece("system", textBlock(text), from);
  return piece("user", textBlock(`${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`), from);
}

/** Texts that follow each other are one, so that a message is one block where it can be. */
function spellParts(parts: readonly (TextPart | MediaPart)[]): string[] {
  const spelled: string[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) spelled.push(textBlock(texts.join("\n\n")));
    texts = [];
  };
  for (const part of parts) {
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

/** Bytes are base64 on the wire. An image by address is a line of text by now: the API fetches none. */
function spellMedia(part: Media): string {
  switch (part.type) {
    case "image":
      return textBlock(`[An image was here: ${part.url}]`);
    case "image_data":
      return toJson({ image: { format: part.mime.replace("image/", ""), source: { bytes: part.base64 } } });
    case "audio_data":
      return toJson({ audio: { format: SOUNDS.get(part.mime), source: { bytes: part.base64 } } });
  }
}

/** An answer, then the results of its calls, then what those results had to show and could not hold. */
function spellAssistant({ parts, results, from }: Assistant, facts: BedrockModel): Piece[] {
  const said = parts.map((part) => piece("assistant", spellPart(part), from));
  const answers = results.map((result) => piece("user", resultBlock(result, facts), result.from, true));
  return [...said, ...answers, ...results.flatMap((result) => shownApart(result, facts))];
}

function spellPart(part: Assistant["parts"][number]): string {
  switch (part.type) {
    case "text":
      return textBlock(part.text);
    case "thinking":
      return thinkingBlock(part.thinking);
    case "tool_call":
      return `{"toolUse":{"toolUseId":${quote(part.id)},"name":${quote(part.name)},"input":${toJson(part.args)}}}`;
  }
}

/** As it came, to the byte: the signature covers it. */
function thinkingBlock({ content, signature, redacted }: ThinkingContent): string {
  const inside = redacted
    ? `"redactedContent":${quote(signature)}`
    : `"reasoningText":{"text":${quote(content)},"signature":${quote(signature)}}`;
  return `{"reasoningContent":{${inside}}}`;
}

/** What a result may hold itself: images, where the model takes them there and nothing failed. */
function heldMedia(result: FittedResult, { richResults }: BedrockModel): Media[] {
  if (!richResults || showsApart(result)) return [];
  return result.media.filter((media) => media.type === "image_data");
}

function shownApart(result: FittedResult, facts: BedrockModel): Piece[] {
  const held = new Set(heldMedia(result, facts));
  const apart = result.media.filter((media) => !held.has(media));
  if (apart.length === 0) return [];
  const label = `${HANDOFF_LABEL.toolMedia} ${result.name}, call ${result.id}]`;
  return spellParts([{ type: "text", text: label }, ...apart]).map((text) =>
    piece("user", text, result.from),
  );
}

/** Only some models take the API's flag for a failed result; the others are told in words. */
function resultBlock(result: FittedResult, facts: BedrockModel): string {
  const { id, text, isError, media } = result;
  const held = heldMedia(result, facts);
  const empty = media.length > held.length ? "(see what is attached below)" : "(no output)";
  const said = text || (held.length > 0 ? "" : empty);
  const told = isError && !facts.richResults ? `Error: ${said}` : said;
  const texts: TextPart[] = told === "" ? [] : [{ type: "text", text: told }];
  const status = isError && facts.richResults ? ',"status":"error"' : "";
  const content = spellParts([...texts, ...held]).join();
  return `{"toolResult":{"toolUseId":${quote(id)},"content":[${content}]${status}}}`;
}
