import type { SystemPart } from "../message/index.js";
import { anthropicDecoder, anthropicWhole } from "./anthropicAnswer.js";
import { anthropicSpell } from "./anthropicMessage.js";
import { claudeOf, isAnthropicHost } from "./anthropicModel.js";
import { endsInServerCall, withServerBlocks } from "./anthropicServerTools.js";
import { planThinking, signedThinking, withoutLoopThinking } from "./anthropicThinking.js";
import { inputSchema } from "./anthropicTools.js";
import { type BlockWriter, blockWriter } from "./blocks.js";
import type { Codec, EncodedRequest, Model, ModelRequest, ToolDefinition } from "./codec.js";
import type { Fitted, Target } from "./fitted.js";
import { handoff } from "./handoff.js";
import { quoteInside, toJson } from "./json.js";
import { takesMedia } from "./media.js";
import { mediaLimitsOf } from "./mediaLimits.js";
import { bodyOf, type EncodeMemory, memoryFor, spellHistory } from "./spelling.js";
import { systemPieces } from "./systemPieces.js";
import { writeToolItems } from "./toolItems.js";
import type { IdRule } from "./toolCallId.js";

/** Anthropic Messages, and every server that speaks it. */
export const anthropic: Codec = {
  encode: encodeAnthropic,
  decoder: anthropicDecoder,
  decodeWhole: anthropicWhole,
};

const IDS: IdRule = {
  fits: /^[A-Za-z0-9_-]{1,64}$/,
  make: (digest) => `toolu_${digest.slice(0, 32)}`,
};

/** Parameters, tools, system, messages: in the order the server caches them, what changes most often last. */
function encodeAnthropic(model: Model, request: ModelRequest, before?: EncodeMemory): EncodedRequest {
  const memory = memoryFor(model, before);
  const given = handoff(request.messages, targetOf(model), request.origins, memory.fits);
  const { history, leftOut } = signedThinking(withServerBlocks(given.messages));
  const claude = claudeOf(model.id);
  const maxTokens = maxTokensOf(request, model.maxOutput ?? claude.maxOutput);
  const plan = planThinking(claude, request.thinking, maxTokens, history);
  const fitting = plan.keepsLoop ? history : withoutLoopThinking(history);
  const thinks = plan.params.thinking !== undefined && plan.params.thinking.type !== "disabled";
  const warmth = claude.temperature && !thinks ? request.temperature : undefined;

  const writer = blockWriter();
  writer.frame("{");
  const cached = request.cache !== false;
  const params = {
    model: model.id,
    max_tokens: maxTokens,
    stream: true,
    ...(cached ? { cache_control: CACHE } : {}),
    ...(warmth === undefined ? {} : { temperature: Math.min(Math.max(warmth, 0), 1) }),
    ...plan.params,
  };
  writer.add("params", toJson(params).slice(1, -1), []);
  const renamedTools = writeTools(writer, request.tools ?? [], fitting);
  writeSystem(writer, systemPieces(request.system, given), cached);
  const messages = spellHistory(fitting, anthropicSpell(model.quirks), memory);
  return {
    url: messagesUrl(model.baseUrl),
    headers: headersOf(model, warmth !== undefined),
    ...bodyOf(writer, messages, closing(messages.role, endsInServerCall(fitting))),
    leftOut: [...given.leftOut, ...leftOut],
    renamedTools,
  };
}

function targetOf(model: Model): Target {
  const { provider, api, id } = model;
  return { provider, api, model: id, ids: IDS, takes: takesMedia(mediaLimitsOf(model)) };
}

/** The address is given without its version; one that has it is taken too. A query may follow. */
function messagesUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith("/v1") ? `${path}/messages` : `${path}/v1/messages`;
  return url.href;
}

/** The newer version has no temperature any more; servers that imitate the API know the older one. */
function headersOf({ apiKey, baseUrl }: Model, hasTemperature: boolean): Record<string, string> {
  const newer = isAnthropicHost(baseUrl) && !hasTemperature;
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    "anthropic-version": newer ? "2026-10-21" : "2023-06-01",
  };
  return apiKey === null ? headers : { ...headers, "x-api-key": apiKey };
}

const CACHE = { type: "ephemeral" } as const;
/** The API wants to be told a limit. Room for a long answer and the thinking before it. */
const DEFAULT_MAX_TOKENS = 32_000;
const UNKNOWN_MAX_TOKENS = 8192;

function maxTokensOf({ maxTokens }: ModelRequest, maxOutput: number | null): number {
  const wanted = maxTokens ?? (maxOutput === null ? UNKNOWN_MAX_TOKENS : DEFAULT_MAX_TOKENS);
  return Math.max(1, Math.min(wanted, maxOutput ?? wanted));
}

/** A history with calls in it is refused without any tool; this one is there to be named, and cannot be called. */
const NO_LONGER_TOOLS =
  ',"tools":[{"name":"none","description":"There are no tools now.","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"}';

function writeTools(
  writer: BlockWriter,
  tools: readonly ToolDefinition[],
  history: readonly Fitted[],
): Record<string, string> {
  if (tools.length === 0) {
    const called = history.some((one) => one.role === "assistant" && one.results.length > 0);
    if (called) writer.frame(NO_LONGER_TOOLS);
    return {};
  }
  writer.list(',"tools":[');
  const renamed = writeToolItems(writer, tools, (told, parameters) => ({
    ...told,
    input_schema: inputSchema(parameters),
  }));
  writer.frame("]");
  return renamed;
}

/**
 * The server caches up to the end of the messages by itself; a marker of our own stands where the notices begin,
 * which differ from turn to turn. It is no part of the block it stands on.
 */
function writeSystem(writer: BlockWriter, pieces: readonly SystemPart[], cached: boolean): void {
  if (pieces.length === 0) return;
  const marked = cached ? pieces.findLastIndex((piece) => piece.kind === "system") : -1;
  writer.frame(',"system":[');
  pieces.forEach(({ kind, text, sources }, at) => {
    writer.frame(`${at === 0 ? "" : ","}{"type":"text","text":"`);
    writer.add(kind, quoteInside(text), sources);
    writer.frame(at === marked ? `","cache_control":${toJson(CACHE)}}` : '"}');
  });
  writer.frame("]");
}

/** The API refuses a request without messages, and one that ends with an answer. */
const NOTHING_SAID =
  ',"messages":[{"role":"user","content":[{"type":"text","text":"[Nothing has been said yet.]"}]}]}';
const GO_ON =
  ']},{"role":"user","content":[{"type":"text","text":"[Nobody has said anything since. Go on.]"}]}]}';

/** What ends a body, by the role of what was said last. An answer that rests goes back as it is. */
function closing(role: string, rests: boolean): string {
  if (role === "") return NOTHING_SAID;
  return role === "assistant" && !rests ? GO_ON : "]}]}";
}
