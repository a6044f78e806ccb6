import type { LeftOut, SystemPart } from "../message/index.js";
import { planThinking, signedThinking, withoutLoopThinking } from "./anthropicThinking.js";
import { inputSchema } from "./anthropicTools.js";
import { bedrockDecoder, bedrockWhole } from "./bedrockAnswer.js";
import { frameReader } from "./bedrockFrames.js";
import { bedrockSpell, hasSoundFormat } from "./bedrockMessage.js";
import { type BedrockModel, bedrockModelOf, effortFields } from "./bedrockModel.js";
import { bedrockTransport } from "./bedrockTransport.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import type { Fitted, Target } from "./fitted.js";
import { handoff } from "./handoff.js";
import { quoteInside, toJson } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { leaveOut } from "./origin.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import { writeToolItems } from "./toolItems.js";

/** Amazon Bedrock's Converse, for every model behind it. */
export const bedrock: Codec = {
  encode: encodeBedrock,
  decoder: bedrockDecoder,
  decodeWhole: bedrockWhole,
  transport: bedrockTransport,
  reader: frameReader,
};

/** Parameters, tools, system, messages: in the order models cache them, what changes most often last. */
function encodeBedrock(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const facts = bedrockModelOf(model.id);
  const given = handoff(request.messages, targetOf(model, facts), request.origins, memory.fits);
  const { history, leftOut } = withOwnThinking(given.messages, facts);
  const { params, fitting } = paramsOf(
    request,
    { ...facts, maxOutput: model.maxOutput ?? facts.maxOutput },
    history,
  );
  const tools = request.tools ?? [];
  const calls = fitting.some((one) => one.role === "assistant" && one.results.length > 0);
  const marks = request.cache === false ? [] : facts.cache;

  const writer = blockWriter();
  writer.frame("{");
  writer.add("params", toJson(params).slice(1, -1), []);
  const renamedTools = writeTools(writer, tools, calls, marks.includes("tools"));
  writeSystem(writer, systemPieces(request.system, given), marks.includes("system"));
  const messages = spellHistory(fitting, bedrockSpell(facts, model.quirks), memory);
  const streams = facts.streamsTools || (tools.length === 0 && !calls);
  return {
    url: converseUrl(model, streams),
    headers: headersOf(model, streams),
    ...bodyOf(writer, messages, closing(messages.role, marks.includes("messages"))),
    leftOut: [...given.leftOut, ...leftOut],
    renamedTools,
  };
}

function targetOf(model: Model, { ids }: BedrockModel): Target {
  const { provider, api, id, quirks } = model;
  const takes = takesMedia(mediaLimitsOf(model));
  const audio = (mime: string): boolean => quirks.audio && hasSoundFormat(mime) && takes.audio(mime);
  return { provider, api, model: id, ids, takes: { ...takes, audio } };
}

/** The id may be an ARN, whose slashes and colons are part of one step of the path. */
function converseUrl({ baseUrl, id }: Model, streams: boolean): string {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = `${path}/model/${encodeURIComponent(id)}/${streams ? "converse-stream" : "converse"}`;
  return url.href;
}

function headersOf({ apiKey }: Model, streams: boolean): Record<string, string> {
  const accept = streams ? "application/vnd.amazon.eventstream" : "application/json";
  const headers = { "content-type": "application/json", accept };
  return apiKey === null ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;

type Assistant = Extract<Fitted, { role: "assistant" }>;

/** The history with the thinking the model hears again: a Claude's, with its signature. Others refuse even their own. */
function withOwnThinking(
  history: readonly Fitted[],
  facts: BedrockModel,
): { history: Fitted[]; leftOut: LeftOut[] } {
  const leftOut: LeftOut[] = [];
  const heard: Fitted[] = [];
  for (const one of history) {
    const kept = one.role === "assistant" ? heardAnswer(one, facts) : one;
    if (kept) heard.push(kept);
    else leftOut.push(...leaveOut(one.from, "thinking alone, which this API cannot take back"));
  }
  const signed = signedThinking(heard);
  return { history: signed.history, leftOut: [...leftOut, ...signed.leftOut] };
}

/** The same of the same, so that what was spelled once is known again. An answer is fitted to one model. */
const HEARD = new WeakMap<Assistant, Assistant>();

function heardAnswer(one: Assistant, facts: BedrockModel): Assistant | null {
  const known = HEARD.get(one);
  if (known) return known;
  const parts = one.parts.filter((part) => isHeard(part, facts));
  if (parts.length === 0) return null;
  const heard = parts.length === one.parts.length ? one : { ...one, parts };
  HEARD.set(one, heard);
  return heard;
}

/** A Claude's thinking without a signature may still become text. */
function isHeard(part: Assistant["parts"][number], { claude, takesThinking }: BedrockModel): boolean {
  if (part.type !== "thinking") return true;
  const { signature, redacted } = part.thinking;
  if (redacted) return takesThinking && BASE64.test(signature);
  return takesThinking && (claude !== null || signature !== "");
}

type Params = { inferenceConfig: Record<string, number>; additionalModelRequestFields?: object };

/** AWS counts the limit of an answer against one's quota as soon as it is asked, so a Claude is given a modest one. */
const CLAUDE_MAX_TOKENS = 32_000;

function paramsOf(
  request: ModelRequest,
  facts: BedrockModel,
  history: Fitted[],
): { params: Params; fitting: Fitted[] } {
  const { claude, maxOutput } = facts;
  const wanted = request.maxTokens ?? (claude ? CLAUDE_MAX_TOKENS : undefined);
  const maxTokens = wanted === undefined ? undefined : Math.max(1, Math.min(wanted, maxOutput ?? wanted));
  if (!claude) {
    const more = effortFields(facts, request.thinking);
    // Nova at its highest effort decides about these itself, and refuses to be told.
    const own = facts.effort === "nova" && request.thinking === "high";
    return {
      params: fields(own ? {} : { maxTokens, temperature: request.temperature }, more),
      fitting: history,
    };
  }
  const plan = planThinking(claude, request.thinking, maxTokens ?? CLAUDE_MAX_TOKENS, history);
  const thinks = plan.params.thinking !== undefined && plan.params.thinking.type !== "disabled";
  const temperature = claude.temperature && !thinks ? request.temperature : undefined;
  return {
    params: fields({ maxTokens, temperature }, plan.params),
    fitting: plan.keepsLoop ? history : withoutLoopThinking(history),
  };
}

function fields(
  { maxTokens, temperature }: { maxTokens?: number | undefined; temperature?: number | undefined },
  more: object,
): Params {
  const inferenceConfig = {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature: Math.min(Math.max(temperature, 0), 1) }),
  };
  return Object.keys(more).length === 0
    ? { inferenceConfig }
    : { inferenceConfig, additionalModelRequestFields: more };
}

const CACHE_POINT = '{"cachePoint":{"type":"default"}}';
/** A history with calls in it is refused without any tool; this one is there to be named. The API has no "call none". */
const NO_LONGER_TOOLS =
  ',"toolConfig":{"tools":[{"toolSpec":{"name":"none","description":"There are no tools now. Never call this.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}';

function writeTools(
  writer: BlockWriter,
  tools: readonly ToolDefinition[],
  calls: boolean,
  marked: boolean,
): Record<string, string> {
  if (tools.length === 0) {
    if (calls) writer.frame(NO_LONGER_TOOLS);
    return {};
  }
  writer.list(',"toolConfig":{"tools":[');
  const renamed = writeToolItems(writer, tools, (told, parameters) => {
    return { toolSpec: { ...told, inputSchema: { json: inputSchema(parameters) } } };
  });
  writer.frame(marked ? `,${CACHE_POINT}]}` : "]}");
  return renamed;
}

/** A marker stands where the notices begin, which differ from turn to turn. It is no part of the block before it. */
function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[], marked: boolean): void {
  if (pieces.length === 0) return;
  const last = marked ? pieces.findLastIndex((piece) => piece.kind === "system") : -1;
  writer.frame(',"system":[');
  pieces.forEach(({ kind, text, sources }, at) => {
    writer.frame(`${at === 0 ? "" : ","}{"text":"`);
    writer.add(kind, quoteInside(text), sources);
    writer.frame(at === last ? `"},${CACHE_POINT}` : '"}');
  });
  writer.frame("]");
}

/** Models refuse a request without messages, and one that ends with an answer. */
const NOTHING_SAID = ',"messages":[{"role":"user","content":[{"text":"[Nothing has been said yet.]"}]}]}';
const GO_ON = ']},{"role":"user","content":[{"text":"[Nobody has said anything since. Go on.]"}]}]}';

/** What ends a body, by what stands last. The marker moves with the end, so it is no part of the block it stands on. */
function closing(last: string, marked: boolean): string {
  if (last === "") return NOTHING_SAID;
  if (last === "assistant") return GO_ON;
  return marked && last !== "system" ? `,${CACHE_POINT}]}]}` : "]}]}";
}
