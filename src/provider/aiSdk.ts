import type { SystemPart } from "../message/index.js";
import { aiSdkDecoder, aiSdkWhole } from "./aiSdkAnswer.js";
import { aiSdkSpell, NOBODY_AFTER, NOTHING_SAID } from "./aiSdkMessage.js";
import { AI_SDK } from "./aiSdkModel.js";
import { aiSdkTransport } from "./aiSdkTransport.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import type { Target } from "./fitted.js";
import { geminiToolName } from "./geminiToolName.js";
import { handoff } from "./handoff.js";
import { quoteInside, toJson } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import { EXACTLY_9, type IdRule } from "./toolCallId.js";
import { type ToldTool, writeToolItems } from "./toolItems.js";

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

/** Providers hand ids on as they are, so these are the letters that every vendor takes. */
const IDS: IdRule = { fits: /^[A-Za-z0-9_-]{1,40}$/, make: (digest) => `call_${digest.slice(0, 32)}` };

/** The prompt comes last, so that the next request of a chat begins with the bytes of this one. */
function encodeAiSdk(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const history = handoff(request.messages, targetOf(model), request.origins, memory.fits);
  const messages = spellHistory(history.messages, aiSdkSpell(model), memory);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writer.frame('"prompt":[');
  writeSystem(writer, systemPieces(request.system, history));
  if (messages.role === "") writer.frame(NOTHING_SAID);
  return {
    url: AI_SDK,
    headers: {},
    // Some vendors refuse a request that ends with what the model said itself.
    ...bodyOf(writer, messages, messages.role === "assistant" ? `,${NOBODY_AFTER}]}` : "]}"),
    leftOut: [...history.leftOut, ...messages.leftOut],
    renamedTools,
  };
}

function targetOf(model: Model): Target {
  const { provider, api, id, quirks, aiSdk } = model;
  const takes = takesMedia(mediaLimitsOf(model));
  const fetches = quirks.images && aiSdk !== undefined && aiSdk.imageUrls.length > 0;
  return {
    provider,
    api,
    model: id,
    ids: quirks.toolCallIds === "exactly9" ? EXACTLY_9 : IDS,
    takes: { ...takes, image: (mime) => (mime === null ? fetches : takes.image(mime)) },
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
  if (tools.length === 0) return {};
  writer.list('"tools":[');
  const spell = (told: ToldTool, parameters: object) => ({
    type: "function",
    ...told,
    inputSchema: parameters,
  });
  const renamed = writeToolItems(writer, tools, spell, geminiToolName);
  writer.frame("],");
  return renamed;
}

/** One message with one string, made of several blocks; something always follows it. */
function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[]): void {
  if (pieces.length === 0) return;
  writer.frame('{"role":"system","content":"');
  pieces.forEach(({ kind, text, sources }, index) => {
    writer.add(kind, quoteInside(index === 0 ? text : `\n\n${text}`), sources);
  });
  writer.frame('"},');
}
