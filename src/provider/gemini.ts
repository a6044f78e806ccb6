import type { Origin, SystemPart } from "../message/index.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import { isBlank, type Target } from "./fitted.js";
import { geminiDecoder, geminiWhole } from "./geminiAnswer.js";
import { type Spelled, spellGemini } from "./geminiMessage.js";
import { generationOf, paramsOf } from "./geminiParams.js";
import { geminiToolName } from "./geminiToolName.js";
import { handoff } from "./handoff.js";
import { quote, toJson } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { systemPieces } from "./systemPieces.js";
import type { IdRule } from "./toolCallId.js";

/** Google Gemini, by generateContent. */
export const gemini: Codec = {
  encode: encodeGemini,
  decoder: geminiDecoder,
  decodeWhole: geminiWhole,
};

/** The API takes any; two calls of one history must not share one. */
const IDS: IdRule = { fits: /^[A-Za-z0-9_.:-]{1,64}$/, make: (digest) => `call_${digest.slice(0, 32)}` };

/** Contents come last in the body, so that the next request of a chat begins with the bytes of this one. */
function encodeGemini(model: Model, request: ModelRequest): EncodedRequest {
  const generation = generationOf(model.id);
  const history = handoff(request.messages, targetOf(model), request.origins);
  const { contents, leftOut } = spellGemini(history.messages, generation, model.api);
  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", paramsOf(model, request), []);
  const renamedTools = writeTools(writer, request.tools ?? []);
  writeSystem(writer, systemPieces(request.system, history));
  writeContents(writer, contents);
  return {
    url: streamUrl(model),
    headers: headersOf(model),
    body: writer.body(),
    blocks: writer.blocks,
    leftOut: [...history.leftOut, ...leftOut],
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
  const renamed: Record<string, string> = {};
  if (tools.length === 0) return renamed;
  writer.list(',"tools":[{"functionDeclarations":[');
  for (const { name, description, parameters } of tools) {
    const wireName = geminiToolName(name);
    if (wireName !== name) renamed[wireName] = name;
    const told = isBlank(description) ? {} : { description };
    writer.item(
      { kind: "tools", sources: [{ type: "tool", id: name }] },
      toJson({ name: wireName, ...told, parametersJsonSchema: parameters }),
    );
  }
  writer.frame("]}]");
  return renamed;
}

function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[]): void {
  if (pieces.length === 0) return;
  writer.list(',"systemInstruction":{"parts":[');
  for (const { kind, text, sources } of pieces) writer.item({ kind, sources }, `{"text":${quote(text)}}`);
  writer.frame("]}");
}

const silence = (text: string): string => `{"role":"user","parts":[{"text":"[${text}]"}]}`;
const NOTHING_SAID = silence("Nothing has been said yet.");
const NOBODY_BEFORE = silence("Nobody said anything before that.");
const NOBODY_AFTER = silence("Nobody said anything after that.");

/**
 * Two contents of the model in a row are refused where the second calls a tool, and so are, by some of the models, one
 * at the beginning and one at the end. What then stands for the silence says that it was one.
 */
function writeContents(writer: BlockWriter, contents: readonly Spelled[]): void {
  writer.frame(',"contents":[');
  let before: Spelled["role"] | null = null;
  for (const content of contents) {
    if (content.role === "model" && before === null) writer.frame(`${NOBODY_BEFORE},`);
    if (content.role === "model" && before === "model") writer.frame(`,${NOBODY_AFTER}`);
    if (before !== null) writer.frame(",");
    if (content.role === "results") writeResults(writer, content.results);
    else writer.add(content.from.kind, content.text, content.from.sources);
    before = content.role;
  }
  if (before === null) writer.frame(NOTHING_SAID);
  writer.frame(before === "model" ? `,${NOBODY_AFTER}]}` : "]}");
}

/** All of one step share a content, and each is a block of its own. */
function writeResults(writer: BlockWriter, results: readonly { text: string; from: Origin }[]): void {
  writer.list('{"role":"user","parts":[');
  for (const { text, from } of results) writer.item(from, text);
  writer.frame("]}");
}
