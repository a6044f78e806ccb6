import { isRecord, parseJson } from "../provider/json.js";
import { blockRules, type Fields, isText, kindOf } from "./bedrockBlockRules.js";
import { mediaRules } from "./mediaRules.js";

/** What AWS knows of a model that is in no request. */
export type BedrockKind = {
  /** Its id in the address has this in it. */
  id: string;
  /** The words of its own that it takes beside the API's. */
  fields: readonly string[];
  thinking: readonly string[];
  thinksUnasked: boolean;
  loopsStartThinking: boolean;
  sampling: boolean;
  maxTokens: number;
  /** Where it takes cache markers. */
  cache: readonly ("tools" | "system" | "messages")[];
  reasoning: boolean;
  images: boolean;
  audio: boolean;
  richResults: boolean;
  streamsTools: boolean;
  /** Which ids of calls it takes, beyond what the API takes. */
  ids: RegExp;
  /** Refuses anything beside results in one message. */
  resultsAlone: boolean;
  midSystem: boolean;
};

const CLAUDE = {
  fields: ["thinking", "output_config"],
  thinksUnasked: false,
  loopsStartThinking: false,
  sampling: true,
  maxTokens: 128_000,
  cache: ["tools", "system", "messages"],
  reasoning: true,
  images: true,
  audio: false,
  richResults: true,
  streamsTools: true,
  ids: /^[a-zA-Z0-9_-]+$/,
  resultsAlone: false,
  midSystem: false,
} as const;
const OTHER = {
  ...CLAUDE,
  fields: [],
  thinking: [],
  // What these can write is not told in one place; whoever asks for more than they can is on their own.
  maxTokens: Number.POSITIVE_INFINITY,
  cache: [],
  reasoning: false,
  richResults: false,
  ids: /./,
} as const;

/** The models there are, each with what it refuses, as AWS's pages and error messages tell. */
const KINDS: readonly BedrockKind[] = [
  {
    ...CLAUDE,
    id: "anthropic.claude-sonnet-4-5",
    thinking: ["enabled", "disabled"],
    loopsStartThinking: true,
    maxTokens: 64_000,
  },
  { ...CLAUDE, id: "anthropic.claude-opus-4-6", thinking: ["enabled", "adaptive", "disabled"] },
  {
    ...CLAUDE,
    id: "anthropic.claude-opus-5",
    thinking: ["adaptive", "disabled"],
    thinksUnasked: true,
    sampling: false,
    midSystem: true,
  },
  {
    ...CLAUDE,
    id: "anthropic.claude-3-5-haiku",
    thinking: ["disabled"],
    maxTokens: 8192,
    images: false,
  },
  { ...CLAUDE, id: "anthropic.claude-3-haiku", thinking: ["disabled"], maxTokens: 4096, cache: [] },
  {
    ...OTHER,
    id: "amazon.nova-micro",
    cache: ["system", "messages"],
    images: false,
    richResults: true,
    maxTokens: 10_000,
  },
  {
    ...OTHER,
    id: "amazon.nova-2-omni",
    fields: ["reasoningConfig"],
    cache: ["system", "messages"],
    audio: true,
    richResults: true,
  },
  { ...OTHER, id: "meta.llama3-3", images: false, streamsTools: false, resultsAlone: true, maxTokens: 8192 },
  { ...OTHER, id: "mistral.pixtral", ids: /^[a-zA-Z0-9]{9}$/, streamsTools: false, resultsAlone: true },
  { ...OTHER, id: "openai.gpt-oss", fields: ["reasoning_effort"], images: false },
  { ...OTHER, id: "moonshot.kimi-k2", images: false },
  // An ARN of one's own, with a Claude behind it.
  {
    ...CLAUDE,
    maxTokens: Number.POSITIVE_INFINITY,
    id: "application-inference-profile/",
    thinking: [],
    fields: [],
    loopsStartThinking: false,
  },
];

const FIELDS = [
  ...["messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig", "outputConfig"],
  ...["additionalModelRequestFields", "requestMetadata", "performanceConfig", "serviceTier"],
];
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** What a model of this id is; undefined where there is none. */
export function bedrockKind(modelId: string): BedrockKind | undefined {
  return KINDS.find((kind) => modelId.includes(kind.id));
}

/**
 * Everything in a request that Converse, or the model behind it, would refuse, in words. Written from the API's rules,
 * without a line of the code that makes the bodies, so that each can catch the other's mistakes.
 */
export function bedrockBrokenRules(modelId: string, operation: string, body: string): string[] {
  const kind = bedrockKind(modelId);
  if (!kind) return ["The provided model identifier is invalid."];
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const messages = Array.isArray(request.messages) ? request.messages.filter(isRecord) : [];
  const blocks = messages.flatMap((message) => contentOf(message));
  return [
    ...Object.keys(request)
      .filter((key) => !FIELDS.includes(key))
      .map((key) => `${key}: extra inputs are not permitted`),
    ...(/\\ud[89a-f]/i.test(body.replaceAll("\\\\", "")) ? ["a lone surrogate"] : []),
    ...mediaRules("bedrock", request, body),
    ...paramRules(request, kind),
    ...systemRules(request.system, kind),
    ...toolRules(request, blocks, operation, kind),
    ...cacheRules(request, blocks, kind),
    ...messages.flatMap((message, at) =>
      messageRules(message, kind).map((rule) => `messages.${at}: ${rule}`),
    ),
    ...orderRules(messages, kind),
    ...pairingRules(messages),
    ...loopRules(messages, kind, thinkingIn(request)),
  ];
}

function contentOf(message: Fields | undefined): Fields[] {
  return Array.isArray(message?.content) ? message.content.filter(isRecord) : [];
}

function extraFields(request: Fields): Fields {
  return isRecord(request.additionalModelRequestFields) ? request.additionalModelRequestFields : {};
}

function thinkingIn(request: Fields): Fields | null {
  const { thinking } = extraFields(request);
  return isRecord(thinking) ? thinking : null;
}

function paramRules(request: Fields, kind: BedrockKind): string[] {
  const broken: string[] = [];
  const config = isRecord(request.inferenceConfig) ? request.inferenceConfig : {};
  for (const key of Object.keys(config))
    if (!["maxTokens", "temperature", "topP", "stopSequences"].includes(key))
      broken.push(`inferenceConfig.${key}`);
  const { maxTokens: max, temperature } = config;
  if (max !== undefined && (!Number.isInteger(max) || Number(max) < 1)) broken.push("maxTokens: at least 1");
  if (Number(max) > kind.maxTokens) broken.push("The maximum tokens you requested exceeds the model limit");
  const extra = extraFields(request);
  for (const key of Object.keys(extra))
    if (!kind.fields.includes(key)) broken.push(`${key}: Extra inputs are not permitted`);
  const type = thinkingIn(request)?.type;
  if (type !== undefined && !kind.thinking.includes(String(type)))
    broken.push(`thinking.type: ${type} is not supported`);
  if (extra.output_config !== undefined && !kind.thinking.includes("adaptive"))
    broken.push("output_config is not supported");
  if (temperature !== undefined) {
    if (typeof temperature !== "number" || temperature < 0 || temperature > 1)
      broken.push("temperature: range 0..1");
    if (!kind.sampling) broken.push("`temperature` is deprecated for this model.");
    if (type === "enabled" || type === "adaptive")
      broken.push("`temperature` may only be set to 1 when thinking");
  }
  return [...broken, ...effortRules(extra, config, max)];
}

function effortRules(
  { thinking, reasoningConfig, reasoning_effort: effort }: Fields,
  config: Fields,
  max: unknown,
): string[] {
  const broken: string[] = [];
  if (isRecord(thinking) && thinking.type === "enabled") {
    const budget = Number(thinking.budget_tokens);
    if (!(budget >= 1024)) broken.push("thinking.enabled.budget_tokens: at least 1024");
    if (typeof max !== "number" || budget >= max)
      broken.push("max_tokens must be greater than budget_tokens");
  }
  if (
    isRecord(reasoningConfig) &&
    reasoningConfig.maxReasoningEffort === "high" &&
    Object.keys(config).length > 0
  )
    broken.push("maxTokens and temperature must be unset at high effort");
  if (effort !== undefined && !["low", "medium", "high"].includes(String(effort)))
    broken.push("reasoning_effort");
  return broken;
}

function systemRules(system: unknown, kind: BedrockKind): string[] {
  if (system === undefined) return [];
  if (!Array.isArray(system) || system.length === 0) return ["system is empty"];
  return system
    .filter(isRecord)
    .filter((block) => kindOf(block) !== "cachePoint")
    .flatMap((block) => blockRules(block, "system", kind))
    .map((rule) => `system: ${rule}`);
}

function toolRules(
  request: Fields,
  blocks: readonly Fields[],
  operation: string,
  kind: BedrockKind,
): string[] {
  const used = blocks.some((block) => block.toolUse !== undefined || block.toolResult !== undefined);
  const { toolConfig } = request;
  if (toolConfig === undefined)
    return used
      ? ["The toolConfig field must be defined when using toolUse and toolResult content blocks."]
      : [];
  const broken: string[] = [];
  if (operation === "converse-stream" && !kind.streamsTools)
    broken.push("This model doesn't support tool use in streaming mode.");
  const listed =
    isRecord(toolConfig) && Array.isArray(toolConfig.tools) ? toolConfig.tools.filter(isRecord) : [];
  const specs = listed.map((tool) => tool.toolSpec).filter(isRecord);
  if (specs.length === 0) broken.push("toolConfig.tools: at least 1");
  const names = specs.map((spec) => String(spec.name));
  for (const name of names) if (!NAME.test(name)) broken.push(`toolSpec.name ${JSON.stringify(name)}`);
  if (new Set(names).size < names.length) broken.push("toolConfig.tools: names must be unique");
  for (const { description, inputSchema } of specs) {
    if (description !== undefined && !isText(description)) broken.push("toolSpec.description: at least 1");
    const schema = isRecord(inputSchema) ? inputSchema.json : undefined;
    if (!isRecord(schema) || schema.type !== "object")
      broken.push("toolSpec.inputSchema.json.type must be object");
    else if (["anyOf", "oneOf", "allOf"].some((word) => word in schema))
      broken.push("a choice at the top of a schema");
  }
  return broken;
}

function cacheRules({ toolConfig, system }: Fields, blocks: readonly Fields[], kind: BedrockKind): string[] {
  const places = {
    tools: isRecord(toolConfig) && Array.isArray(toolConfig.tools) ? toolConfig.tools : [],
    system: Array.isArray(system) ? system : [],
    messages: blocks,
  };
  const broken: string[] = [];
  let total = 0;
  for (const place of ["tools", "system", "messages"] as const) {
    const points = places[place].filter(isRecord).filter((one) => one.cachePoint !== undefined);
    total += points.length;
    if (points.length > 0 && !kind.cache.includes(place))
      broken.push(`You invoked an unsupported model or your request did not allow prompt caching: ${place}`);
    if (points.some(({ cachePoint: point }) => !isRecord(point) || point.type !== "default"))
      broken.push("cachePoint.type");
    if (points.length > 0 && isRecord(places[place][0]) && places[place][0].cachePoint !== undefined)
      broken.push("a cachePoint with nothing before it");
  }
  return total > 4 ? [...broken, "A maximum of 4 cache points"] : broken;
}

function messageRules(message: Fields, kind: BedrockKind): string[] {
  const role = String(message.role);
  const blocks = contentOf(message);
  const said = blocks.filter((block) => kindOf(block) !== "cachePoint");
  if (said.length === 0) return ["The content field in the Message object is empty."];
  const broken = said.flatMap((block) => blockRules(block, role, kind));
  const results = said.filter((block) => block.toolResult !== undefined).length;
  if (kind.resultsAlone && results > 0 && results < said.length)
    broken.push("This model doesn't support content beside tool results");
  const firstOther = said.findIndex((block) => block.toolResult === undefined);
  if (firstOther !== -1 && said.slice(firstOther).some((block) => block.toolResult !== undefined))
    broken.push("a toolResult after other content");
  if (said.filter((block) => block.image !== undefined).length > 20) broken.push("too many images");
  if (role === "assistant" && said.at(-1)?.reasoningContent !== undefined)
    broken.push("The final block in an assistant message cannot be `thinking`.");
  return broken;
}

/** Users and the assistant take turns; a system message stands only between the two. */
function orderRules(messages: readonly Fields[], kind: BedrockKind): string[] {
  const roles = messages.map((message) => String(message.role));
  const broken: string[] = [];
  if (roles.length === 0) broken.push("messages: at least one message is required");
  if (roles[0] !== undefined && roles[0] !== "user")
    broken.push("A conversation must start with a user message.");
  if (roles.at(-1) === "assistant") broken.push("A conversation must end with a user message.");
  roles.forEach((role, at) => {
    if (!["user", "assistant", "system"].includes(role)) broken.push(`messages.${at}: role ${role}`);
    if (role === roles[at - 1])
      broken.push(`messages.${at}: roles must alternate between user and assistant`);
    if (role !== "system") return;
    if (!kind.midSystem) broken.push(`messages.${at}: role 'system' is not supported on this model`);
    if (roles[at - 1] !== "user" || (at + 1 < roles.length && roles[at + 1] !== "assistant"))
      broken.push(`messages.${at}: role 'system' stands between a user and the assistant`);
  });
  return broken;
}

/** Every call answered once, in the next message; no answer anywhere else; every id its own. */
function pairingRules(messages: readonly Fields[]): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  let waiting: string[] = [];
  const idsOf = (message: Fields, word: "toolUse" | "toolResult"): string[] =>
    contentOf(message).flatMap(({ [word]: block }) => (isRecord(block) ? [String(block.toolUseId)] : []));
  messages.forEach((message, at) => {
    for (const id of idsOf(message, "toolResult")) {
      if (!waiting.includes(id)) broken.push(`messages.${at}: unexpected toolResult ${id}`);
      waiting = waiting.filter((one) => one !== id);
    }
    if (waiting.length > 0)
      broken.push(
        `Expected toolResult blocks at messages.${at}.content for the following Ids: ${waiting.join()}`,
      );
    waiting = idsOf(message, "toolUse");
    for (const id of waiting) {
      if (seen.has(id)) broken.push(`messages.${at}: toolUse ids must be unique: ${id}`);
      seen.add(id);
    }
  });
  return waiting.length > 0 ? [...broken, `calls without results: ${waiting.join()}`] : broken;
}

/** The answers since a person last spoke are one turn to a Claude: it thinks in all of it or in none of it. */
function loopRules(messages: readonly Fields[], kind: BedrockKind, thinking: Fields | null): string[] {
  const isResult = (block: Fields): boolean =>
    block.toolResult !== undefined || block.cachePoint !== undefined;
  const last = messages.findLastIndex((one) => one.role === "user");
  const lastBlocks = contentOf(messages[last]);
  if (!kind.loopsStartThinking || !lastBlocks.some((block) => block.toolResult !== undefined)) return [];
  let from = last - 1;
  while (from > 1 && contentOf(messages[from - 1]).every(isResult)) from -= 2;
  const loop = messages.slice(from, last).filter((one) => one.role === "assistant");
  const blocks = loop.flatMap(contentOf);
  const thought = blocks.some((block) => block.reasoningContent !== undefined);
  if (thinking?.type !== "enabled" && thought)
    return ["When thinking is disabled, an assistant message in the final position cannot contain thinking"];
  return thinking?.type === "enabled" && blocks[0]?.reasoningContent === undefined
    ? ["Expected `thinking` or `redacted_thinking`, but found something else"]
    : [];
}
