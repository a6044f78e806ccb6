import type { SystemPart } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import type { Target } from "./fitted.js";
import { handoff } from "./handoff.js";
import { quoteInside } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { openaiResponsesDecoder, openaiResponsesWhole } from "./openaiResponsesAnswer.js";
import { openaiResponsesSpell } from "./openaiResponsesItem.js";
import { paramsOf } from "./openaiResponsesParams.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import type { IdRule } from "./toolCallId.js";
import { writeToolItems } from "./toolItems.js";

/** OpenAI Responses, and every server that speaks it. Stateless: each request carries the whole conversation. */
export const openaiResponses: Codec = {
  encode: encodeOpenaiResponses,
  decoder: openaiResponsesDecoder,
  decodeWhole: openaiResponsesWhole,
};

const CALL_IDS: IdRule = {
  fits: /^[A-Za-z0-9_-]{1,64}$/,
  make: (digest) => `call_${digest.slice(0, 32)}`,
};
/** Servers refuse a request without any input. */
const NOTHING_SAID =
  '{"type":"message","role":"user","content":[{"type":"input_text","text":"[Nothing has been said yet.]"}]}';

/** The input comes last in the body, so that the next request of a chat begins with the bytes of this one. */
function encodeOpenaiResponses(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const history = handoff(request.messages, targetOf(model), request.origins, memory.fits);
  const items = spellHistory(history.messages, openaiResponsesSpell(model), memory);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writeInstructions(writer, systemPieces(request.system, history));
  writer.frame(',"input":[');
  if (items.role === "") writer.frame(NOTHING_SAID);
  return {
    url: responsesUrl(model.baseUrl),
    headers: headersOf(model),
    ...bodyOf(writer, items, "]}"),
    leftOut: [...history.leftOut, ...items.leftOut],
    renamedTools,
  };
}

function targetOf(model: Model): Target {
  const { provider, api, id } = model;
  return { provider, api, model: id, ids: CALL_IDS, takes: takesMedia(mediaLimitsOf(model)) };
}

/** A base URL may carry a query, as Azure's does. */
function responsesUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/responses`;
  return url.href;
}

function headersOf({ apiKey }: Model): Record<string, string> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  return apiKey === null ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

/** Schemas are taken as they are: without `strict: false` this API rewrites them, or refuses those it cannot. */
function writeTools(writer: BlockWriter, tools: readonly ToolDefinition[]): Record<string, string> {
  if (tools.length === 0) return {};
  writer.list(',"tools":[');
  const renamed = writeToolItems(writer, tools, (told, parameters) => {
    return { type: "function", ...told, parameters, strict: false };
  });
  writer.frame("]");
  return renamed;
}

/** One string, made of several blocks. */
function writeInstructions(writer: BlockWriter, pieces: readonly SystemPart[]): void {
  if (pieces.length === 0) return;
  writer.frame(',"instructions":"');
  pieces.forEach(({ kind, text, sources }, index) => {
    writer.add(kind, quoteInside(index === 0 ? text : `\n\n${text}`), sources);
  });
  writer.frame('"');
}
