import { HANDOFF_LABEL, type ThinkingContent } from "../message/index.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import type { Generation } from "./geminiParams.js";
import { cutIntoPieces, isSignature, leftoversOf } from "./geminiPieces.js";
import { geminiToolName } from "./geminiToolName.js";
import { quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { mergeOrigins } from "./origin.js";
import type { Spell, Spelling } from "./spelling.js";

type Assistant = Extract<Fitted, { role: "assistant" }>;
type Role = "user" | "model" | "results";

/** The API's own word for "this call was made elsewhere: look for no signature". */
const MADE_ELSEWHERE = "skip_thought_signature_validator";

/** How the API spells a message: as a content, which is a block; the results of one step share one, and each is a block. */
export function geminiSpell(generation: Generation, api: string): Spell {
  return (message, spelling) => {
    switch (message.role) {
      case "system": {
        // There is no role for it: it stays where it is, marked.
        const text = `${HANDOFF_LABEL.system}\n${message.text}\n${HANDOFF_LABEL.systemEnd}`;
        next("user", spelling);
        spelling.begin(message.from);
        return spellUser([{ type: "text", text }], spelling);
      }
      case "user":
        next("user", spelling);
        spelling.begin(message.from);
        return spellUser(message.parts, spelling);
      case "assistant":
        return spellAssistant(message, generation, api, spelling);
    }
  };
}

const silence = (text: string): string => `{"role":"user","parts":[{"text":"[${text}]"}]}`;
export const NOTHING_SAID = silence("Nothing has been said yet.");
const NOBODY_BEFORE = silence("Nobody said anything before that.");
export const NOBODY_AFTER = silence("Nobody said anything after that.");

/**
 * What stands between two contents. Two of the model in a row are refused where the second calls a tool, and so is, by
 * some of the models, one at the beginning. What then stands for the silence says that it was one.
 */
function next(role: Role, spelling: Spelling): void {
  const before = spelling.role;
  if (role === "model" && before === "") spelling.frame(`${NOBODY_BEFORE},`);
  if (role === "model" && before === "model") spelling.frame(`,${NOBODY_AFTER}`);
  if (before !== "") spelling.frame(",");
  spelling.role = role;
}

function spellUser(parts: readonly (TextPart | MediaPart)[], spelling: Spelling): void {
  spelling.put('{"role":"user","parts":[');
  parts.forEach((part, at) => {
    if (at > 0) spelling.put(",");
    spellUserPart(part, spelling);
  });
  spelling.put("]}");
}

function spellUserPart(part: TextPart | MediaPart, spelling: Spelling): void {
  switch (part.type) {
    case "text":
      spellTextPart({ text: part.text }, spelling);
      return;
    case "image":
      spelling.put(imageByAddress(part.url));
      return;
    case "image_data":
    case "audio_data":
      spelling.put(inlineData(part));
  }
}

/** A stretch of a text, with the signature that stood on it. */
type Stretch = { text: string; signature?: string };

function spellTextPart({ text, signature }: Stretch, spelling: Spelling, thought = false): void {
  spelling.put('{"text":');
  spelling.quote(text);
  const signed = signature === undefined ? "" : `,"thoughtSignature":"${signature}"`;
  spelling.put(`${thought ? ',"thought":true' : ""}${signed}}`);
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
    return `{"text":"[An image was here: given as an address of ${ending}, which this model cannot take.]"}`;
  const mimeType = IMAGE_TYPES[ending] ?? "image/jpeg";
  return `{"fileData":{"mimeType":"${mimeType}","fileUri":${quote(url)}}}`;
}

/** An answer, then the results of its calls, then what those results had to show. */
function spellAssistant(message: Assistant, generation: Generation, api: string, spelling: Spelling): void {
  const { parts, results, from } = message;
  if (!parts.some((part) => saysSomething(part, api))) {
    const thought = parts.some((part) => part.type === "thinking");
    const reason = thought ? "thinking alone, which this API cannot take back" : "nothing in it to send";
    spelling.leaveOut(from, reason);
    return;
  }
  next("model", spelling);
  spelling.begin(from);
  let between = '{"role":"model","parts":[';
  let isFirstCall = true;
  const beginPart = (): Spelling => {
    spelling.put(between);
    between = ",";
    return spelling;
  };
  for (const part of parts) {
    spellPart(part, isFirstCall && generation.wantsSignatures, api, beginPart);
    if (part.type === "tool_call") isFirstCall = false;
  }
  spelling.put("]}");
  if (results.length === 0) return;
  spellResults(results, generation, spelling);
  spellResultMedia(results, generation, spelling);
}

/** Thoughts without a signature say nothing to the model that had them: a message of such alone is not sent. */
function saysSomething(part: Assistant["parts"][number], api: string): boolean {
  switch (part.type) {
    case "tool_call":
      return true;
    case "text":
      return textStretches(part, api).length > 0;
    case "thinking":
      return (
        leftoversOf(part.thinking.native, api).after.length > 0 ||
        thoughtStretches(part.thinking, api).some((one) => one.signature !== undefined)
      );
  }
}

function spellPart(
  part: Assistant["parts"][number],
  mustBeSigned: boolean,
  api: string,
  beginPart: () => Spelling,
): void {
  switch (part.type) {
    case "text":
      for (const one of textStretches(part, api)) spellTextPart(one, beginPart());
      return;
    case "thinking":
      for (const one of thoughtStretches(part.thinking, api).filter(isWorthSending))
        spellTextPart(one, beginPart(), true);
      spellAfter(leftoversOf(part.thinking.native, api).after, beginPart);
      return;
    case "tool_call":
      spellCall(part, mustBeSigned, api, beginPart);
  }
}

/** Each stretch bears its own signature; an empty one is sent only for the signature's sake. */
function textStretches({ text, native }: TextPart, api: string): Stretch[] {
  const cut = cutIntoPieces(text, leftoversOf(native, api).pieces);
  if (cut) return cut.filter(isWorthSending);
  return isBlank(text) ? [] : [{ text }];
}

function thoughtStretches({ content, signature, native }: ThinkingContent, api: string): Stretch[] {
  const cut = cutIntoPieces(content, leftoversOf(native, api).pieces);
  if (cut) return cut;
  return [isSignature(signature) ? { text: content, signature } : { text: content }];
}

function isWorthSending({ text, signature }: Stretch): boolean {
  return text !== "" || signature !== undefined;
}

/** Signatures that stood on empty texts. */
function spellAfter(signatures: readonly string[], beginPart: () => Spelling): void {
  for (const signature of signatures) spellTextPart({ text: "", signature }, beginPart());
}

/** Ids, names and signatures are of letters that need no quoting by now. */
function spellCall(
  { id, name, args, native }: CallPart,
  mustBeSigned: boolean,
  api: string,
  beginPart: () => Spelling,
): void {
  const { signature, after } = leftoversOf(native, api);
  const shown = signature ?? (mustBeSigned ? MADE_ELSEWHERE : null);
  const signed = shown === null ? "" : `,"thoughtSignature":"${shown}"`;
  const called = `{"id":"${id}","name":"${geminiToolName(name)}","args":${toJson(args)}}`;
  beginPart().put(`{"functionCall":${called}${signed}}`);
  spellAfter(after, beginPart);
}

/** What a result of the third generation may hold beside words. */
const RESULT_IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/webp"];

type ResultMedia = FittedResult["media"][number];

function fitsInResult(media: ResultMedia, generation: Generation): boolean {
  return generation.resultMedia && media.type === "image_data" && RESULT_IMAGES.includes(media.mime);
}

/** All of one step share a content, and each is a block of its own. */
function spellResults(results: readonly FittedResult[], generation: Generation, spelling: Spelling): void {
  next("results", spelling);
  results.forEach((result, at) => {
    spelling.frame(at === 0 ? '{"role":"user","parts":[' : ",");
    spelling.begin(result.from);
    spellResult(result, generation, spelling);
  });
  spelling.frame("]}");
}

function spellResult(
  { id, name, text, isError, media }: FittedResult,
  generation: Generation,
  spelling: Spelling,
): void {
  const inside = media.flatMap((one) =>
    fitsInResult(one, generation) && one.type === "image_data" ? [inlineData(one)] : [],
  );
  const kind = isError ? "error" : "output";
  spelling.put(`{"functionResponse":{"id":"${id}","name":"${geminiToolName(name)}","response":{"${kind}":`);
  spelling.quote(text || (media.length > 0 ? "(see what is attached)" : "(no output)"));
  spelling.put(inside.length > 0 ? `},"parts":[${inside.join()}]}}` : "}}}");
}

/** What a result cannot hold comes in one user content right after the step's results. */
function spellResultMedia(
  results: readonly FittedResult[],
  generation: Generation,
  spelling: Spelling,
): void {
  const outside = results
    .map((result) => ({ result, media: result.media.filter((one) => !fitsInResult(one, generation)) }))
    .filter(({ media }) => media.length > 0);
  if (outside.length === 0) return;
  const parts = outside.flatMap(({ result, media }): (TextPart | MediaPart)[] => [
    { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${geminiToolName(result.name)}, call ${result.id}]` },
    ...media,
  ]);
  next("user", spelling);
  spelling.begin(
    mergeOrigins(
      "message",
      outside.map(({ result }) => result.from),
    ),
  );
  spellUser(parts, spelling);
}
