import type { SystemPart } from "../message/index.js";
import { HANDOFF_LABEL } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, Quirks, ToolDefinition } from "./codec.js";
import type { Target } from "./fitted.js";
import { handoff } from "./handoff.js";
import { quoteInside, toJson } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { openaiChatDecoder, openaiChatWhole } from "./openaiChatAnswer.js";
import { openaiChatSpell } from "./openaiChatMessage.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import { EXACTLY_9, UP_TO_40 } from "./toolCallId.js";
import { writeToolItems } from "./toolItems.js";

/** OpenAI Chat Completions, and every server that speaks it. */
export const openaiChat: Codec = {
  encode: encodeOpenaiChat,
  decoder: openaiChatDecoder,
  decodeWhole: openaiChatWhole,
};

/** Messages come last in the body, so that the next request of a chat begins with the bytes of this one. */
function encodeOpenaiChat(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const history = handoff(request.messages, targetOf(model), request.origins, memory.fits);
  const messages = spellHistory(history.messages, openaiChatSpell(model.quirks), memory);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writer.frame(',"messages":[');
  const system = systemPieces(request.system, history);
  writeSystem(writer, system, model.quirks);
  if (system.length > 0 && messages.role !== "") writer.frame(",");
  if (system.length === 0 && messages.role === "") writer.frame(NOTHING_SAID);
  return {
    url: completionsUrl(model.baseUrl),
    headers: headersOf(model),
    ...bodyOf(writer, messages, "]}"),
    leftOut: [...history.leftOut, ...messages.leftOut],
    renamedTools,
  };
}

function targetOf(model: Model): Target {
  const { provider, api, id, quirks } = model;
  const ids = quirks.toolCallIds === "exactly9" ? EXACTLY_9 : UP_TO_40;
  return { provider, api, model: id, ids, takes: takesMedia(mediaLimitsOf(model)) };
}

/** A base URL may carry a query, as Azure's does. */
function completionsUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`;
  return url.href;
}

function headersOf({ apiKey }: Model): Record<string, string> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  return apiKey === null ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

function paramsOf({ id, quirks }: Model, request: ModelRequest): string {
  const params = {
    model: id,
    stream: true,
    ...(quirks.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxTokens === undefined ? {} : { [quirks.maxTokensField]: request.maxTokens }),
    ...effortOf(quirks.effort, request.thinking),
  };
  return toJson(params).slice(1, -1);
}

/** `off` is said only where a server has a word for it; elsewhere models that cannot think would refuse it. */
function effortOf(spelling: Quirks["effort"], thinking: ModelRequest["thinking"]): Record<string, unknown> {
  if (thinking === undefined || spelling === "none") return {};
  if (spelling === "reasoning")
    return { reasoning: thinking === "off" ? { enabled: false } : { effort: thinking } };
  return thinking === "off" ? {} : { reasoning_effort: thinking };
}

/** An empty list of tools is refused, so none is sent. Gives back which tools had to be renamed. */
function writeTools(writer: BlockWriter, tools: readonly ToolDefinition[]): Record<string, string> {
  if (tools.length === 0) return {};
  writer.list(',"tools":[');
  const renamed = writeToolItems(writer, tools, (told, parameters) => {
    return { type: "function", function: { ...told, parameters } };
  });
  writer.frame("]");
  return renamed;
}

/** One message with one string, made of several blocks: templates of compatible servers refuse a second one. */
function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[], { systemRole }: Quirks): void {
  if (pieces.length === 0) return;
  const marked = systemRole === "user";
  writer.frame(
    `{"role":"${systemRole}","content":"${marked ? quoteInside(`${HANDOFF_LABEL.system}\n`) : ""}`,
  );
  pieces.forEach(({ kind, text, sources }, index) => {
    writer.add(kind, quoteInside(index === 0 ? text : `\n\n${text}`), sources);
  });
  writer.frame(`${marked ? quoteInside(`\n${HANDOFF_LABEL.systemEnd}`) : ""}"}`);
}

/** Servers refuse a request without any message. */
const NOTHING_SAID = '{"role":"user","content":"[Nothing has been said yet.]"}';
