import { isRecord } from "../provider/json.js";
import type { BedrockKind } from "./bedrockRules.js";

export type Fields = Record<string, unknown>;

const ID = /^[a-zA-Z0-9_.:-]{1,64}$/;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const IMAGES = ["png", "jpeg", "gif", "webp"];
const SOUNDS = [
  ...["aac", "flac", "m4a", "mka", "mkv", "mp3", "mp4", "mpeg", "mpga", "ogg", "opus", "pcm", "wav"],
  ...["webm", "x-aac"],
];
const IN_ROLE: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "image", "audio", "toolResult"],
  assistant: ["text", "toolUse", "reasoningContent"],
  system: ["text"],
};

/** Which of the union's members a block is. */
export function kindOf(block: Fields): string {
  return Object.keys(block).join("+");
}

export function isText(text: unknown): boolean {
  return typeof text === "string" && /\S/.test(text);
}

/** What is wrong with one block, looked at alone. */
export function blockRules(block: Fields, role: string, kind: BedrockKind): string[] {
  const type = kindOf(block);
  if (!IN_ROLE[role]?.includes(type)) return [`a block ${type} in role ${role}`];
  switch (type) {
    case "text":
      return isText(block.text) ? [] : ["The text field in the ContentBlock object is blank."];
    case "image":
      return kind.images ? mediaRules(block.image, IMAGES) : ["This model doesn't support the image field."];
    case "audio":
      return kind.audio ? mediaRules(block.audio, SOUNDS) : ["This model doesn't support the audio field."];
    case "toolUse":
      return callRules(block.toolUse, kind);
    case "toolResult":
      return resultRules(block.toolResult, kind);
    default:
      return reasoningRules(block.reasoningContent, kind);
  }
}

function onlyKeys(fields: Fields, keys: readonly string[]): string[] {
  return Object.keys(fields)
    .filter((key) => !keys.includes(key))
    .map((key) => `${key}: extra inputs are not permitted`);
}

function isBytes(bytes: unknown): boolean {
  return typeof bytes === "string" && bytes !== "" && BASE64.test(bytes);
}

function mediaRules(media: unknown, formats: readonly string[]): string[] {
  if (!isRecord(media)) return ["media without a source"];
  const broken = onlyKeys(media, ["format", "source"]);
  if (!formats.includes(String(media.format))) broken.push(`format ${String(media.format)}`);
  const bytes = isRecord(media.source) ? media.source.bytes : undefined;
  return isBytes(bytes) ? broken : [...broken, "source.bytes is no base64"];
}

function callRules(call: unknown, kind: BedrockKind): string[] {
  if (!isRecord(call)) return ["toolUse is no object"];
  const broken = [...onlyKeys(call, ["toolUseId", "name", "input"]), ...idRules(call.toolUseId, kind)];
  if (!NAME.test(String(call.name))) broken.push(`toolUse.name ${JSON.stringify(call.name)}`);
  if (!isRecord(call.input))
    broken.push("The format of the value at toolUse.input is invalid. Provide a json object.");
  return broken;
}

function idRules(id: unknown, kind: BedrockKind): string[] {
  return ID.test(String(id)) && kind.ids.test(String(id)) ? [] : [`toolUseId ${JSON.stringify(id)}`];
}

function resultRules(result: unknown, kind: BedrockKind): string[] {
  if (!isRecord(result)) return ["toolResult is no object"];
  const { toolUseId, content, status } = result;
  const broken = [...onlyKeys(result, ["toolUseId", "content", "status"]), ...idRules(toolUseId, kind)];
  if (status !== undefined && !["success", "error"].includes(String(status)))
    broken.push("toolResult.status");
  if (status !== undefined && !kind.richResults) broken.push("This model doesn't support the status field.");
  const blocks = Array.isArray(content) ? content.filter(isRecord) : [];
  if (blocks.length === 0) broken.push("toolResult.content is empty");
  for (const block of blocks) {
    const type = kindOf(block);
    if (type === "text")
      broken.push(...(isText(block.text) ? [] : ["The text field in a toolResult is blank."]));
    else if (type !== "image" || !kind.richResults) broken.push(`a block ${type} in a toolResult`);
    else if (status === "error") broken.push("all content must be type text if is_error is true");
    else broken.push(...blockRules(block, "user", kind));
  }
  return broken;
}

function reasoningRules(reasoning: unknown, kind: BedrockKind): string[] {
  if (!kind.reasoning) return ["User messages cannot contain reasoning content."];
  if (!isRecord(reasoning)) return ["reasoningContent is no object"];
  switch (kindOf(reasoning)) {
    case "redactedContent":
      return isBytes(reasoning.redactedContent) ? [] : ["redactedContent is no base64"];
    case "reasoningText": {
      const { text, signature } = isRecord(reasoning.reasoningText) ? reasoning.reasoningText : {};
      if (typeof text !== "string") return ["reasoningText.text: Member must not be null"];
      return typeof signature === "string" && signature !== "" ? [] : ["thinking.signature: Field required"];
    }
    default:
      return ["reasoningContent is none"];
  }
}
