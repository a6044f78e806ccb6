import { HANDOFF_LABEL, type LeftOut, type Native, type Origin } from "../message/index.js";
import type { AiSdkBridge } from "./aiSdkModel.js";
import type { Model } from "./codec.js";
import { type CallPart, type Fitted, type FittedResult, isBlank, type TextPart } from "./fitted.js";
import { geminiToolName } from "./geminiToolName.js";
import { isRecord, quote, toJson } from "./json.js";
import type { MediaPart } from "./media.js";
import { leaveOut, mergeOrigins } from "./origin.js";

/** A message in the AI SDK's spelling: one complete JSON value; or the results of a batch, which share a message. */
export type Spelled =
  | { role: "system" | "user" | "assistant"; text: string; from: Origin }
  | { role: "tool"; results: { text: string; from: Origin }[] };

export type Spelling = { messages: Spelled[]; leftOut: LeftOut[] };

type Assistant = Extract<Fitted, { role: "assistant" }>;
type ResultMedia = FittedResult["media"][number];

/** A fitted history as a prompt of the AI SDK. */
export function spellAiSdk(history: readonly Fitted[], model: Model): Spelling {
  const spelling: Spelling = { messages: [], leftOut: [] };
  for (const message of history) {
    switch (message.role) {
      case "system":
        spelling.messages.push(spellSystem(message, model));
        break;
      case "user":
        spelling.messages.push(userMessage(message.parts, message.from, model));
        break;
      case "assistant":
        spellAssistant(message, model, spelling);
    }
  }
  return spelling;
}

/** Several providers refuse a system message in the middle, so it stays where it is, marked, in the user's role. */
function spellSystem({ text, from }: Extract<Fitted, { role: "system" }>, model: Model): Spelled {
  if (model.quirks.midSystem === "system")
    return { role: "system", text: `{"role":"system","content":${quote(text)}}`, from };
  const marked = `${HANDOFF_LABEL.system}\n${text}\n${HANDOFF_LABEL.systemEnd}`;
  return userMessage([{ type: "text", text: marked }], from, model);
}

function userMessage(parts: readonly (TextPart | MediaPart)[], from: Origin, model: Model): Spelled {
  const content = parts.map((part) => userPart(part, model.aiSdk)).join();
  return { role: "user", text: `{"role":"user","content":[${content}]}`, from };
}

function userPart(part: TextPart | MediaPart, bridge: AiSdkBridge | undefined): string {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "image":
      return imageByAddress(part.url, bridge?.imageUrls ?? []);
    case "image_data":
    case "audio_data":
      return filePart(part.mime, part.base64);
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
function spellAssistant(message: Assistant, model: Model, { messages, leftOut }: Spelling): void {
  const { parts, saysSomething } = spellParts(message);
  if (!saysSomething) {
    leftOut.push(...leaveOut(message.from, "thinking alone, which this API cannot take back"));
    return;
  }
  const { from } = message;
  messages.push({ role: "assistant", text: `{"role":"assistant","content":[${parts.join()}]}`, from });
  if (message.results.length === 0) return;
  const inside = model.aiSdk?.resultImages ?? false;
  messages.push({
    role: "tool",
    results: message.results.map((result) => ({
      text: resultPart(result, inside, model),
      from: result.from,
    })),
  });
  messages.push(...mediaAfter(message.results, inside, model));
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
function mediaAfter(results: readonly FittedResult[], inside: boolean, model: Model): Spelled[] {
  const outside = results
    .map((result) => ({ result, media: result.media.filter((one) => !isInside(one, inside)) }))
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
  return [userMessage(parts, from, model)];
}
