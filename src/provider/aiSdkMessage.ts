import { HANDOFF_LABEL, type Native, type Origin } from "../message/index.js";
import type { AiSdkBridge } from "./aiSdkBridge.js";
import type { Model } from "./codec.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import { geminiToolName } from "./geminiToolName.js";
import { isRecord, quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { mergeOrigins } from "./origin.js";
import type { Spell, Spelling } from "./spelling.js";

type Assistant = Extract<Fitted, { role: "assistant" }>;
type ResultMedia = FittedResult["media"][number];

/** A message of a prompt of the AI SDK is a block; the results of a batch share a message, and each is a block. */
export function aiSdkSpell(model: Model): Spell {
  return (message, spelling) => {
    switch (message.role) {
      case "system":
        return spellSystem(message, model, spelling);
      case "user":
        return spellUser(message.parts, message.from, model, spelling);
      case "assistant":
        return spellAssistant(message, model, spelling);
    }
  };
}

const silence = (text: string): string => `{"role":"user","content":[{"type":"text","text":"[${text}]"}]}`;
export const NOTHING_SAID = silence("Nothing has been said yet.");
const NOBODY_BEFORE = silence("Nobody said anything before that.");
export const NOBODY_AFTER = silence("Nobody said anything after that.");

/**
 * What stands between two messages. Some vendors want a person to speak first, and between two answers; what stands for
 * the silence says that it was one.
 */
function next(role: "system" | "user" | "assistant" | "tool", spelling: Spelling): void {
  const before = spelling.role;
  if (role === "assistant" && before === "") spelling.frame(`${NOBODY_BEFORE},`);
  if (role === "assistant" && before === "assistant") spelling.frame(`,${NOBODY_AFTER}`);
  if (before !== "") spelling.frame(",");
  spelling.role = role;
}

/** Several providers refuse a system message in the middle, so it stays where it is, marked, in the user's role. */
function spellSystem(
  { text, from }: Extract<Fitted, { role: "system" }>,
  model: Model,
  spelling: Spelling,
): void {
  if (model.quirks.midSystem !== "system") {
    const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
    spellUser([{ type: "text", text: marked }], from, model, spelling);
    return;
  }
  next("system", spelling);
  spelling.begin(from);
  spelling.put(`{"role":"system","content":${quote(text)}}`);
}

function spellUser(
  parts: readonly (TextPart | MediaPart)[],
  from: Origin,
  model: Model,
  spelling: Spelling,
): void {
  next("user", spelling);
  spelling.begin(from);
  spelling.put(`{"role":"user","content":[${parts.map((part) => userPart(part, model.aiSdk)).join()}]}`);
}

function userPart(part: TextPart | MediaPart, bridge: AiSdkBridge | undefined): string {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "image":
      return imageByAddress(part.url, bridge?.imageUrls ?? []);
    case "image_data":
      return filePart(part.mime, part.base64);
    case "audio_data":
      // Providers know one of its names.
      return filePart(part.mime.includes("wav") ? "audio/wav" : part.mime, part.base64);
  }
}

function textPart(text: string, options = ""): string {
  return `{"type":"text","text":${quote(text)}${options}}`;
}

function filePart(mediaType: string, data: string): string {
  return `{"type":"file","mediaType":${quote(mediaType)},"data":${quote(data)}}`;
}

/** The AI SDK itself would fetch what a model does not; we do not follow addresses that people send. */
function imageByAddress(url: string, fetched: readonly RegExp[]): string {
  const isFetched = fetched.some((pattern) =>
    new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(url.toLowerCase()),
  );
  if (isFetched && URL.canParse(url)) return filePart("image/*", url);
  return textPart("[An image was here: given as an address, which this model cannot take.]");
}

/** An answer, then the results of its calls, then what those results had to show. */
function spellAssistant(message: Assistant, model: Model, spelling: Spelling): void {
  const { results, from } = message;
  const { parts, saysSomething } = spellParts(message);
  if (!saysSomething) {
    spelling.leaveOut(from, "thinking alone, which this API cannot take back");
    return;
  }
  next("assistant", spelling);
  spelling.begin(from);
  spelling.put(`{"role":"assistant","content":[${parts.join()}]}`);
  if (results.length === 0) return;
  const inside = model.aiSdk?.resultImages ?? false;
  next("tool", spelling);
  results.forEach((result, at) => {
    spelling.frame(at === 0 ? '{"role":"tool","content":[' : ",");
    spelling.begin(result.from);
    spelling.put(resultPart(result, inside, model));
  });
  spelling.frame("]}");
  spellMediaAfter(results, inside, model, spelling);
}

function spellParts(message: Assistant): { parts: string[]; saysSomething: boolean } {
  const parts: string[] = [];
  let saysSomething = false;
  for (const part of message.parts) {
    if (part.type === "thinking") {
      const { content, native } = part.thinking;
      parts.push(`{"type":"reasoning","text":${quote(content)}${optionsOf(native)}}`);
      continue;
    }
    // A blank text that only carries what its provider left on it would be refused by the others.
    if (part.type === "text" && isBlank(part.text)) continue;
    parts.push(part.type === "text" ? textPart(part.text, optionsOf(part.native)) : callPart(part));
    saysSomething = true;
  }
  return { parts, saysSomething };
}

function callPart({ id, name, args, native }: CallPart): string {
  const called = `"toolCallId":${quote(id)},"toolName":${quote(geminiToolName(name))},"input":${toJson(args)}`;
  return `{"type":"tool-call",${called}${optionsOf(native)}}`;
}

/** What a provider left on a part goes back to it, under the name the AI SDK has for that. */
function optionsOf(native: Native | null | undefined): string {
  const data = native?.api === "ai-sdk" ? native.data : null;
  if (!isRecord(data) || !isRecord(data.providerMetadata)) return "";
  return `,"providerOptions":${toJson(data.providerMetadata)}`;
}

function resultPart(result: FittedResult, inside: boolean, model: Model): string {
  const { id, name } = result;
  const output = outputOf(result, inside, model);
  return `{"type":"tool-result","toolCallId":${quote(id)},"toolName":${quote(geminiToolName(name))},"output":${output}}`;
}

/** That a tool failed is said in words too: many providers drop the difference. */
function outputOf(result: FittedResult, inside: boolean, model: Model): string {
  const { text, isError, media } = result;
  const said = text || (media.length > 0 ? "(see what is attached)" : "(no output)");
  const words = isError ? `Error: ${said}` : said;
  const images = media.flatMap((one) => (isInside(one, inside) ? [imageInside(one, model)] : []));
  if (images.length > 0) return `{"type":"content","value":[${[textPart(words), ...images].join()}]}`;
  return `{"type":"${isError ? "error-text" : "text"}","value":${quote(words)}}`;
}

function isInside(
  media: ResultMedia,
  inside: boolean,
): media is Extract<ResultMedia, { type: "image_data" }> {
  return inside && media.type === "image_data";
}

/** The second version of the interface has one word for all media, the third one for each kind. */
function imageInside({ mime, base64 }: { mime: string; base64: string }, { aiSdk }: Model): string {
  const type = aiSdk?.languageModel.specificationVersion === "v2" ? "media" : "image-data";
  return `{"type":"${type}","data":${quote(base64)},"mediaType":${quote(mime)}}`;
}

/** What does not go inside the results comes in one user message right after them. */
function spellMediaAfter(
  results: readonly FittedResult[],
  inside: boolean,
  model: Model,
  spelling: Spelling,
): void {
  const outside = results
    .map((result) => ({ result, media: result.media.filter((one) => !isInside(one, inside)) }))
    .filter(({ media }) => media.length > 0);
  if (outside.length === 0) return;
  const parts = outside.flatMap(({ result, media }): (TextPart | MediaPart)[] => [
    { type: "text", text: `${HANDOFF_LABEL.toolMedia} ${geminiToolName(result.name)}, call ${result.id}]` },
    ...media,
  ]);
  const from = mergeOrigins(
    "message",
    outside.map(({ result }) => result.from),
  );
  spellUser(parts, from, model, spelling);
}
