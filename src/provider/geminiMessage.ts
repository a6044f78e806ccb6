import { HANDOFF_LABEL, type LeftOut, type Origin, type ThinkingContent } from "../message/index.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import type { Generation } from "./geminiParams.js";
import { cutIntoPieces, isSignature, leftoversOf } from "./geminiPieces.js";
import { geminiToolName } from "./geminiToolName.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { leaveOut, mergeOrigins } from "./origin.js";

/** A content in the API's spelling: one complete JSON value; or the results of one step, which share a content. */
export type Spelled =
  | { role: "user" | "model"; text: string; from: Origin }
  | { role: "results"; results: { text: string; from: Origin }[] };

export type Spelling = { contents: Spelled[]; leftOut: LeftOut[] };

type Assistant = Extract<Fitted, { role: "assistant" }>;

/** The API's own word for "this call was made elsewhere: look for no signature". */
const MADE_ELSEWHERE = "skip_thought_signature_validator";

/** A fitted history as the API spells it. */
export function spellGemini(history: readonly Fitted[], generation: Generation, api: string): Spelling {
  const spelling: Spelling = { contents: [], leftOut: [] };
  for (const message of history) {
    switch (message.role) {
      case "system": {
        // There is no role for it: it stays where it is, marked.
        const text = `${HANDOFF_LABEL.system}\n${message.text}\n${HANDOFF_LABEL.systemEnd}`;
        spelling.contents.push(userContent([{ type: "text", text }], message.from));
        break;
      }
      case "user":
        spelling.contents.push(userContent(message.parts, message.from));
        break;
      case "assistant":
        spellAssistant(message, generation, api, spelling);
    }
  }
  return spelling;
}

function userContent(parts: readonly (TextPart | MediaPart)[], from: Origin): Spelled {
  return { role: "user", text: `{"role":"user","parts":[${parts.map(userPart).join()}]}`, from };
}

function userPart(part: TextPart | MediaPart): string {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "image":
      return imageByAddress(part.url);
    case "image_data":
    case "audio_data":
      return inlineData(part);
  }
}

function textPart(text: string, signature?: string, thought = false): string {
  const signed = signature === undefined ? "" : `,"thoughtSignature":${quote(signature)}`;
  return `{"text":${quote(text)}${thought ? ',"thought":true' : ""}${signed}}`;
}

function inlineData({ mime, base64 }: { mime: string; base64: string }): string {
  return `{"inlineData":{"mimeType":${quote(mime)},"data":${quote(base64)}}}`;
}

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  webp: "image/webp",
  heic: "image/heic",
  heif: "image/heif",
};

/** The API wants to be told what it will find there. */
function imageByAddress(url: string): string {
  const ending =
    /\.([a-z]+)$/i.exec(URL.canParse(url) ? new URL(url).pathname : "")?.[1]?.toLowerCase() ?? "";
  if (ending === "gif" || ending === "svg")
    return textPart(`[An image was here: given as an address of ${ending}, which this model cannot take.]`);
  const mimeType = IMAGE_TYPES[ending] ?? "image/jpeg";
  return `{"fileData":{"mimeType":"${mimeType}","fileUri":${quote(url)}}}`;
}

/** An answer, then the results of its calls, then what those results had to show. */
function spellAssistant(message: Assistant, generation: Generation, api: string, spelling: Spelling): void {
  const parts: string[] = [];
  let saysSomething = false;
  let callsBefore = 0;
  for (const part of message.parts) {
    const spelled = spellPart(part, callsBefore === 0 && generation.wantsSignatures, api);
    parts.push(...spelled.parts);
    saysSomething ||= spelled.saysSomething;
    if (part.type === "tool_call") callsBefore++;
  }
  if (!saysSomething) {
    const thought = message.parts.some((part) => part.type === "thinking");
    const reason = thought ? "thinking alone, which this API cannot take back" : "nothing in it to send";
    spelling.leftOut.push(...leaveOut(message.from, reason));
    return;
  }
  spelling.contents.push({
    role: "model",
    text: `{"role":"model","parts":[${parts.join()}]}`,
    from: message.from,
  });
  if (message.results.length === 0) return;
  spelling.contents.push({
    role: "results",
    results: message.results.map((result) => ({ text: resultPart(result, generation), from: result.from })),
  });
  spelling.contents.push(...resultMedia(message.results, generation));
}

type SpelledPart = { parts: string[]; saysSomething: boolean };

/** Thoughts without a signature say nothing to the model that had them: a message of such alone is not sent. */
function spellPart(part: Assistant["parts"][number], mustBeSigned: boolean, api: string): SpelledPart {
  switch (part.type) {
    case "text": {
      const parts = spellText(part, api);
      return { parts, saysSomething: parts.length > 0 };
    }
    case "thinking":
      return spellThinking(part.thinking, api);
    case "tool_call":
      return { parts: spellCall(part, mustBeSigned, api), saysSomething: true };
  }
}

/** Each stretch bears its own signature; an empty one is sent only for the signature's sake. */
function spellText({ text, native }: TextPart, api: string): string[] {
  const stretches = cutIntoPieces(text, leftoversOf(native, api).pieces) ?? (isBlank(text) ? [] : [{ text }]);
  return stretches.filter(isWorthSending).map((one) => textPart(one.text, one.signature));
}

function spellThinking({ content, signature, native }: ThinkingContent, api: string): SpelledPart {
  const { pieces, after } = leftoversOf(native, api);
  const whole = isSignature(signature) ? { text: content, signature } : { text: content };
  const stretches: { text: string; signature?: string }[] = cutIntoPieces(content, pieces) ?? [whole];
  return {
    parts: [
      ...stretches.filter(isWorthSending).map((one) => textPart(one.text, one.signature, true)),
      ...after.map((one) => textPart("", one)),
    ],
    saysSomething: after.length > 0 || stretches.some((one) => one.signature !== undefined),
  };
}

function isWorthSending({ text, signature }: { text: string; signature?: string }): boolean {
  return text !== "" || signature !== undefined;
}

function spellCall({ id, name, args, native }: CallPart, mustBeSigned: boolean, api: string): string[] {
  const { signature, after } = leftoversOf(native, api);
  const shown = signature ?? (mustBeSigned ? MADE_ELSEWHERE : null);
  const signed = shown === null ? "" : `,"thoughtSignature":${quote(shown)}`;
  const called = `{"id":${quote(id)},"name":${quote(geminiToolName(name))},"args":${toJson(args)}}`;
  return [`{"functionCall":${called}${signed}}`, ...after.map((one) => textPart("", one))];
}

/** What a result of the third generation may hold beside words. */
const RESULT_IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/webp"];

type ResultMedia = FittedResult["media"][number];

function fitsInResult(media: ResultMedia, generation: Generation): boolean {
  return generation.resultMedia && media.type === "image_data" && RESULT_IMAGES.includes(media.mime);
}

function resultPart({ id, name, text, isError, media }: FittedResult, generation: Generation): string {
  const inside = media.flatMap((one) =>
    fitsInResult(one, generation) && one.type === "image_data" ? [inlineData(one)] : [],
  );
  const said = text || (media.length > 0 ? "(see what is attached)" : "(no output)");
  const response = `{"${isError ? "error" : "output"}":${quote(said)}}`;
  const parts = inside.length > 0 ? `,"parts":[${inside.join()}]` : "";
  return `{"functionResponse":{"id":${quote(id)},"name":${quote(geminiToolName(name))},"response":${response}${parts}}}`;
}

/** What a result cannot hold comes in one user content right after the step's results. */
function resultMedia(results: readonly FittedResult[], generation: Generation): Spelled[] {
  const outside = results
    .map((result) => ({ result, media: result.media.filter((one) => !fitsInResult(one, generation)) }))
    .filter(({ media }) => media.length > 0);
  if (outside.length === 0) return [];
  const parts = outside.flatMap(({ result, media }): (TextPart | MediaPart)[] => [
    { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${geminiToolName(result.name)}, call ${result.id}]` },
    ...media,
  ]);
  const from = mergeOrigins(
    "message",
    outside.map(({ result }) => result.from),
  );
  return [userContent(parts, from)];
}
