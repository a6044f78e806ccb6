import type { Origin, SystemPart } from "../message/index.js";
import { aiSdkDecoder, aiSdkWhole } from "./aiSdkAnswer.js";
import { type Spelled, spellAiSdk } from "./aiSdkMessage.js";
import { AI_SDK } from "./aiSdkModel.js";
import { aiSdkTransport } from "./aiSdkTransport.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import { isBlank, type Target } from "./fitted.js";
import { geminiToolName } from "./geminiToolName.js";
import { handoff } from "./handoff.js";
import { quoteInside, toJson } from "./json.js";
import { systemPieces } from "./systemPieces.js";
import { EXACTLY_9, type IdRule } from "./toolCallId.js";

/**
 * Any language model of the AI SDK. The body is what `doStream` is called with, as JSON: the receipt shows what the
 * language model was handed, and its provider spells that for a vendor.
 */
export const aiSdk: Codec = {
  encode: encodeAiSdk,
  decoder: aiSdkDecoder,
  decodeWhole: aiSdkWhole,
  transport: aiSdkTransport,
};

const IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const SOUNDS: readonly string[] = ["audio/wav", "audio/mpeg", "audio/mp3"];
/** Providers hand ids on as they are, so these are the letters that every vendor takes. */
const IDS: IdRule = { fits: /^[A-Za-z0-9_-]{1,40}$/, make: (digest) => `call_${digest.slice(0, 32)}` };

/** The prompt comes last, so that the next request of a chat begins with the bytes of this one. */
function encodeAiSdk(model: Model, request: ModelRequest): EncodedRequest {
  const history = handoff(request.messages, targetOf(model), request.origins);
  const { messages, leftOut } = spellAiSdk(history.messages, model);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writer.list('"prompt":[');
  const opened = writeSystem(writer, systemPieces(request.system, history));
  writeMessages(writer, messages, opened);
  return {
    url: AI_SDK,
    headers: {},
    body: writer.body(),
    blocks: writer.blocks,
    leftOut: [...history.leftOut, ...leftOut],
    renamedTools,
  };
}

function targetOf({ provider, api, id, quirks, aiSdk }: Model): Target {
  const fetches = aiSdk !== undefined && aiSdk.imageUrls.length > 0;
  return {
    provider,
    api,
    model: id,
    ids: quirks.toolCallIds === "exactly9" ? EXACTLY_9 : IDS,
    takes: {
      image: (mime) => quirks.images && (mime === null ? fetches : IMAGES.includes(mime)),
      audio: (mime) => quirks.audio && SOUNDS.includes(mime),
    },
  };
}

/** Ends in a comma, where there are any. How hard to think has no place in the interface but the provider's options. */
function paramsOf({ aiSdk }: Model, { maxTokens, temperature }: ModelRequest): string {
  const params = {
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(aiSdk?.providerOptions ? { providerOptions: aiSdk.providerOptions } : {}),
  };
  const inside = toJson(params).slice(1, -1);
  return inside === "" ? "" : `${inside},`;
}

/** Gives back which tools had to be renamed: their names are those that every vendor takes. */
function writeTools(writer: BlockWriter, tools: readonly ToolDefinition[]): Record<string, string> {
  const renamed: Record<string, string> = {};
  if (tools.length === 0) return renamed;
  writer.list('"tools":[');
  for (const { name, description, parameters } of tools) {
    const wireName = geminiToolName(name);
    if (wireName !== name) renamed[wireName] = name;
    const told = isBlank(description) ? {} : { description };
    writer.item(
      { kind: "tools", sources: [{ type: "tool", id: name }] },
      toJson({ type: "function", name: wireName, ...told, inputSchema: parameters }),
    );
  }
  writer.frame("],");
  return renamed;
}

/** One message with one string, made of several blocks. Says whether there is one. */
function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[]): boolean {
  if (pieces.length === 0) return false;
  writer.frame('{"role":"system","content":"');
  pieces.forEach(({ kind, text, sources }, index) => {
    writer.add(kind, quoteInside(index === 0 ? text : `\n\n${text}`), sources);
  });
  writer.frame('"}');
  return true;
}

const silence = (text: string): string => `{"role":"user","content":[{"type":"text","text":"[${text}]"}]}`;
const NOTHING_SAID = silence("Nothing has been said yet.");
const NOBODY_BEFORE = silence("Nobody said anything before that.");
const NOBODY_AFTER = silence("Nobody said anything after that.");

/** Some vendors want a person to speak first, in between and last; what stands for the silence says that it was one. */
function writeMessages(writer: BlockWriter, messages: readonly Spelled[], opened: boolean): void {
  let before: Spelled["role"] | null = null;
  const comma = (): string => (opened || before !== null ? "," : "");
  for (const message of messages) {
    if (message.role === "assistant" && before === null) {
      writer.frame(`${comma()}${NOBODY_BEFORE}`);
      before = "user";
    }
    if (message.role === "assistant" && before === "assistant") writer.frame(`,${NOBODY_AFTER}`);
    writer.frame(comma());
    if (message.role === "tool") writeResults(writer, message.results);
    else writer.add(message.from.kind, message.text, message.from.sources);
    before = message.role;
  }
  const last =
    before === null ? `${comma()}${NOTHING_SAID}` : before === "assistant" ? `,${NOBODY_AFTER}` : "";
  writer.frame(`${last}]}`);
}

/** All of one batch share a message, and each is a block of its own. */
function writeResults(writer: BlockWriter, results: readonly { text: string; from: Origin }[]): void {
  writer.list('{"role":"tool","content":[');
  for (const { text, from } of results) writer.item(from, text);
  writer.frame("]}");
}
