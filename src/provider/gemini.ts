import type { SystemPart } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import type { Target } from "./fitted.js";
import { geminiDecoder, geminiWhole } from "./geminiAnswer.js";
import { geminiSpell, NOBODY_AFTER, NOTHING_SAID } from "./geminiMessage.js";
import { generationOf, paramsOf } from "./geminiParams.js";
import { geminiToolName } from "./geminiToolName.js";
import { handoff } from "./handoff.js";
import { quote } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import type { IdRule } from "./toolCallId.js";
import { type ToldTool, writeToolItems } from "./toolItems.js";

/** Google Gemini, by generateContent. */
export const gemini: Codec = {
  encode: encodeGemini,
  decoder: geminiDecoder,
  decodeWhole: geminiWhole,
};

/** The API takes any; two calls of one history must not share one. */
const IDS: IdRule = { fits: /^[A-Za-z0-9_.:-]{1,64}$/, make: (digest) => `call_${digest.slice(0, 32)}` };

/** Contents come last in the body, so that the next request of a chat begins with the bytes of this one. */
function encodeGemini(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const history = handoff(request.messages, targetOf(model), request.origins, memory.fits);
  const contents = spellHistory(history.messages, geminiSpell(generationOf(model.id), model.api), memory);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writeSystem(writer, systemPieces(request.system, history));
  writer.frame(',"contents":[');
  if (contents.role === "") writer.frame(NOTHING_SAID);
  return {
    url: streamUrl(model),
    headers: headersOf(model),
    // Some of the models refuse a request that ends with what they said themselves.
    ...bodyOf(writer, contents, contents.role === "model" ? `,${NOBODY_AFTER}]}` : "]}"),
    leftOut: [...history.leftOut, ...contents.leftOut],
    renamedTools,
  };
}

function targetOf(model: Model): Target {
  const { provider, api, id } = model;
  return { provider, api, model: id, ids: IDS, takes: takesMedia(mediaLimitsOf(model)) };
}

/** A base URL without a version gets the usual one; a publisher's path on Vertex is taken as it is. */
function streamUrl({ baseUrl, id }: Model): string {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, "");
  const versioned = /\/v\d+[a-z0-9]*$|\/publishers\//.test(path) ? path : `${path}/v1beta`;
  url.pathname = `${versioned}/${resourceOf(id)}:streamGenerateContent`;
  url.searchParams.set("alt", "sse");
  return url.href;
}

/** A model may be named with a path of its own. Whoever may choose a model must not lead us up and out of it. */
function resourceOf(id: string): string {
  const steps = id.split("/");
  if (steps.length === 1 || steps.some((step) => /^\.*$/.test(step)))
    return `models/${encodeURIComponent(id)}`;
  return steps.map(encodeURIComponent).join("/");
}

function headersOf({ apiKey }: Model): Record<string, string> {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  return apiKey === null ? headers : { ...headers, "x-goog-api-key": apiKey };
}

/** An empty list of tools is refused, so none is sent. Gives back which tools had to be renamed. */
function writeTools(writer: BlockWriter, tools: readonly ToolDefinition[]): Record<string, string> {
  if (tools.length === 0) return {};
  writer.list(',"tools":[{"functionDeclarations":[');
  const spell = (told: ToldTool, parameters: object) => ({ ...told, parametersJsonSchema: parameters });
  const renamed = writeToolItems(writer, tools, spell, geminiToolName);
  writer.frame("]}]");
  return renamed;
}

function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[]): void {
  if (pieces.length === 0) return;
  writer.list(',"systemInstruction":{"parts":[');
  for (const { kind, text, sources } of pieces) writer.item({ kind, sources }, `{"text":${quote(text)}}`);
  writer.frame("]}");
}
