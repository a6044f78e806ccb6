import type { AssistantContent, LLMMessage, ToolResultContent, UserContent } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest } from "./codec.js";
import { failed } from "./failure.js";
import { quoteInside, toJson } from "./json.js";
import { fitMedia, type MediaPart, type TakesMedia } from "./media.js";
import { originOf } from "./origin.js";
import { quirksOf } from "./quirks.js";

/** The version of the protocol; it changes when an old container would misread a new line. */
export const CONTAINER_PROTOCOL = 1;

/**
 * An agent outside this process, which is told everything in one line of JSON (docs/container.md). It is run, not
 * called: what comes back is read by whoever runs it, so the reading half of this codec only says so.
 */
export const container: Codec = {
  encode: encodeInput,
  decoder: (model) => ({ push: () => [], end: () => notCallable(model) }),
  decodeWhole: (model) => notCallable(model),
  transport: (_, { fetch }) => fetch ?? (async () => Response.json({}, { status: 501 })),
};

const NOT_CALLABLE =
  "a container runs whole turns and cannot be asked for a single answer: name a model for that";

function notCallable(model: Model) {
  return failed(model, { kind: "invalid_request", text: NOT_CALLABLE });
}

/** The container as the model of a chat: receipts and previews know it by this. */
export function containerModel(name: string, outside: NonNullable<Model["outside"]>): Model {
  const baseUrl = "container:";
  return {
    provider: "container",
    api: "container",
    id: name,
    baseUrl,
    apiKey: null,
    window: null,
    quirks: quirksOf(baseUrl, name),
    price: null,
    delayMs: 0,
    outside,
  };
}

/** What is the same from turn to turn stands first, so that the receipts of a chat share it. */
function encodeInput(model: Model, request: ModelRequest): EncodedRequest {
  const { chat_jid = "", turn_id = "", assistant_name = "", time_zone = "UTC" } = request.about ?? {};
  const { steps, timeMs, idleMs, model: wanted } = model.outside ?? NO_TERMS;
  const params = {
    protocol: CONTAINER_PROTOCOL,
    chat_jid,
    assistant_name,
    time_zone,
    ...(wanted === null ? {} : { model: wanted }),
    limits: { steps, time_ms: timeMs, idle_ms: idleMs },
  };
  const writer = blockWriter();
  writer.frame('{"type":"input",');
  writer.add("params", toJson(params).slice(1, -1), []);
  writeSystem(writer, request.system);
  writer.list(',"messages":[');
  for (const message of request.messages) writeMessage(writer, message, request);
  writer.frame(`],"turn_id":${toJson(turn_id)}}\n`);
  return encodedFrom(writer);
}

const NO_TERMS: NonNullable<Model["outside"]> = { steps: 0, timeMs: 0, idleMs: 0, model: null };

/** What people said since the last line, for a container at work. What it said itself, it knows. */
export function encodeSteer(request: ModelRequest, isNews: (message: LLMMessage) => boolean): EncodedRequest {
  const writer = blockWriter();
  writer.list('{"type":"steer","messages":[');
  for (const message of request.messages) if (isNews(message)) writeMessage(writer, message, request);
  writer.frame("]}\n");
  return { ...encodedFrom(writer), follows: true };
}

/** Nothing new was said: go on. */
export function encodeContinue(): EncodedRequest {
  const writer = blockWriter();
  writer.frame('{"type":"continue"}\n');
  return { ...encodedFrom(writer), follows: true };
}

function encodedFrom(writer: BlockWriter): EncodedRequest {
  return {
    url: "container:",
    headers: {},
    body: writer.body(),
    blocks: writer.blocks,
    leftOut: [],
    renamedTools: {},
  };
}

function writeSystem(writer: BlockWriter, system: ModelRequest["system"]): void {
  const parts =
    typeof system === "string"
      ? [{ kind: "system" as const, text: system, sources: [{ type: "prompt", id: "system" }] }]
      : (system ?? []);
  writer.frame(',"system":"');
  parts
    .filter((part) => part.kind === "system")
    .forEach(({ kind, text, sources }, index) => {
      writer.add(kind, quoteInside(index === 0 ? text : `\n\n${text}`), sources);
    });
  writer.list('","system_notices":[');
  for (const { kind, text, sources } of parts)
    if (kind === "notice") writer.item({ kind, sources }, toJson(text));
  writer.frame("]");
}

function writeMessage(writer: BlockWriter, message: LLMMessage, { origins = new Map() }: ModelRequest): void {
  writer.item(originOf(message, origins), toJson(plainMessage(message)));
}

/** A message as plain JSON. What belongs to our hooks and logs stays here: metadata never leaves for a model. */
function plainMessage(message: LLMMessage): LLMMessage {
  const { id, timestamp } = message;
  switch (message.role) {
    case "system":
      return { role: "system", id, timestamp, contents: message.contents };
    case "user":
      return { role: "user", id, timestamp, contents: message.contents.flatMap(plainUserContent) };
    case "assistant": {
      const { provider, api, model, stopReason, usage } = message;
      const contents: AssistantContent[] = message.contents;
      return { role: "assistant", id, timestamp, contents, provider, api, model, stopReason, usage };
    }
    case "tool":
      return { role: "tool", id, timestamp, contents: message.contents.map(plainResult) };
  }
}

function plainUserContent(content: UserContent): UserContent[] {
  switch (content.type) {
    case "text":
      return [content];
    case "tool_result":
      return [plainResult(content)];
    case "image":
      return plainMedia("image", content.images).map((part) =>
        part.isText ? { type: "text", content: part.text } : { type: "image", images: [part.text] },
      );
    case "audio":
      return plainMedia("audio", content.audio).map((part) =>
        part.isText ? { type: "text", content: part.text } : { type: "audio", audio: [part.text] },
      );
  }
}

/** Media that cannot be read are told in the result's words, as in a message of a person. */
function plainResult(result: ToolResultContent): ToolResultContent {
  const { type, id, isError } = result;
  const images = plainMedia("image", result.images ?? []);
  const audio = plainMedia("audio", result.audio ?? []);
  const words = [...images, ...audio].filter((part) => part.isText).map((part) => part.text);
  const content = [result.content, ...words].filter((text) => text !== "").join("\n");
  const [shown, heard] = [images, audio].map((parts) => parts.filter((part) => !part.isText));
  return {
    type,
    id,
    content,
    isError,
    metadata: {},
    terminate: false,
    ...(shown?.length ? { images: shown.map((part) => part.text) } : {}),
    ...(heard?.length ? { audio: heard.map((part) => part.text) } : {}),
  };
}

const EVERYTHING: TakesMedia = { image: () => true, audio: () => true };

type PlainMedia = { isText: boolean; text: string };

function plainMedia(kind: "image" | "audio", media: readonly (string | Uint8Array)[]): PlainMedia[] {
  return media.map((item) => plainMediaItem(fitMedia(kind, item, EVERYTHING)));
}

/** Addresses as they are, bytes and files as `data:` URLs; a line of words for what cannot be read. */
function plainMediaItem(part: MediaPart): PlainMedia {
  switch (part.type) {
    case "text":
      return { isText: true, text: part.text };
    case "image":
      return { isText: false, text: part.url };
    case "image_data":
    case "audio_data":
      return { isText: false, text: `data:${part.mime};base64,${part.base64}` };
  }
}
