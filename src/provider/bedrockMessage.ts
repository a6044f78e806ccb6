import { showsApart, type WireRole } from "./anthropicMessage.js";
import type { BedrockModel } from "./bedrockModel.js";
import type { Quirks } from "./codec.js";
import type { Fitted, FittedResult, TextPart } from "./fitted.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import type { Spell } from "./spelling.js";
import { HANDOFF_LABEL, type Origin, type ThinkingContent } from "../message/index.js";

/** What stands last in a history on its way: results are the user's, and some models want them told apart. */
type Place = WireRole | "results";

/** One complete JSON value. Neighbours of one role are one message. */
type Piece = { place: Place; text: string; from: Origin };

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

/** How Converse spells a message. */
export function bedrockSpell(
  facts: BedrockModel,
  { midSystem, assistantAfterTools }: Pick<Quirks, "midSystem" | "assistantAfterTools">,
): Spell {
  return (message, spelling, at, history) => {
    for (const { place, text, from } of piecesOf(message, spelling.role, at, history)) {
      spelling.frame(between(spelling.role, place, assistantAfterTools));
      spelling.role = place;
      spelling.begin(from);
      spelling.put(text);
    }
  };

  function piecesOf(message: Fitted, before: string, at: number, history: readonly Fitted[]): Piece[] {
    switch (message.role) {
      case "system": {
        const own = midSystem !== "user" && before !== "" && before !== "assistant";
        return [systemPiece(message, own && precedesAnswer(history, at))];
      }
      case "user":
        return spellParts(message.parts).map((text) => ({ place: "user", text, from: message.from }));
      case "assistant":
        return spellAssistant(message, facts);
    }
  }
}

/** Models refuse a request that begins with an answer. */
const BEGINNING = '{"role":"user","content":[{"text":"[What was said before is not shown.]"}]},';
/** Some refuse any word beside the results of tools, and a second message of the user's after them. */
const TOOLS_DONE = '{"role":"assistant","content":[{"text":"I have the results."}]},';

/** What stands between two blocks is one frame, so that a request that only grew differs in its last frame alone. */
function between(before: string, place: Place, resultsAlone: boolean): string {
  const start = `{"role":"${wireRole(place)}","content":[`;
  if (before === "") return `,"messages":[${place === "assistant" ? BEGINNING : ""}${start}`;
  if (wireRole(before) !== wireRole(place)) return `]},${start}`;
  return resultsAlone && before === "results" && place === "user" ? `]},${TOOLS_DONE}${start}` : ",";
}

function wireRole(place: string): string {
  return place === "results" ? "user" : place;
}

/** The API's own system role stands only between what a user said and the answer to it. */
function precedesAnswer(history: readonly Fitted[], at: number): boolean {
  let next = at + 1;
  while (history[next]?.role === "system") next++;
  return next >= history.length || history[next]?.role === "assistant";
}

function textBlock(text: string): string {
  return `{"text":${quote(text)}}`;
}

/** A system message stays where it is, marked where the role has to be another. */
function systemPiece({ text, from }: System, ownRole: boolean): Piece {
  if (ownRole) return { place: "system", text: textBlock(text), from };
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  return { place: "user", text: textBlock(marked), from };
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
  return [
    ...parts.map((part): Piece => ({ place: "assistant", text: spellPart(part), from })),
    ...results.map((result): Piece => {
      return { place: "results", text: resultBlock(result, facts), from: result.from };
    }),
    ...results.flatMap((result) => shownApart(result, facts)),
  ];
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
  return spellParts([{ type: "text", text: label }, ...apart]).map((text) => {
    return { place: "user", text, from: result.from };
  });
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
