import { isRecord, parseJson } from "../provider/json.js";
import {
  blocksOf,
  contentRules,
  type Fields,
  NAME,
  serverToolRules,
  type Verify,
} from "./anthropicBlockRules.js";
import { mediaRules } from "./mediaRules.js";

/** What the server knows that is in no request. */
export type AnthropicRuleSwitches = {
  verify?: Verify;
  /** What the header said. */
  version?: string | undefined;
};

type Kind = {
  thinking: readonly string[];
  /** Without a word about it, it thinks or it does not. */
  thinksUnasked: boolean;
  /** An unfinished tool loop must begin with thinking when thinking is enabled. */
  loopsStartThinking: boolean;
  sampling: boolean;
  prefill: boolean;
  midSystem: boolean;
  maxTokens: number;
};

const NEW = { loopsStartThinking: false, sampling: false, prefill: false, maxTokens: 128_000 };
/** The models there are, each with what it refuses, as the vendor's pages and its error messages tell. */
const MODELS: Readonly<Record<string, Kind>> = {
  "claude-3-5-haiku-20241022": {
    thinking: ["disabled"],
    thinksUnasked: false,
    loopsStartThinking: false,
    sampling: true,
    prefill: true,
    midSystem: false,
    maxTokens: 8192,
  },
  "claude-sonnet-4-5": {
    thinking: ["enabled", "disabled"],
    thinksUnasked: false,
    loopsStartThinking: true,
    sampling: true,
    prefill: true,
    midSystem: false,
    maxTokens: 64_000,
  },
  "claude-sonnet-4-6": {
    ...NEW,
    thinking: ["enabled", "disabled", "adaptive"],
    thinksUnasked: false,
    sampling: true,
    midSystem: false,
  },
  "claude-opus-4-8": { ...NEW, thinking: ["adaptive", "disabled"], thinksUnasked: false, midSystem: true },
  "claude-sonnet-5": { ...NEW, thinking: ["adaptive", "disabled"], thinksUnasked: true, midSystem: false },
  "claude-opus-5": { ...NEW, thinking: ["adaptive", "disabled"], thinksUnasked: true, midSystem: true },
  "claude-opus-5-5": { ...NEW, thinking: ["adaptive"], thinksUnasked: true, midSystem: true },
  "claude-fable-5": { ...NEW, thinking: ["adaptive"], thinksUnasked: true, midSystem: true },
};
const FIELDS = [
  ...["model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "temperature"],
  ...["thinking", "output_config", "cache_control", "stop_sequences", "metadata"],
];
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_MESSAGES = 100_000;

/**
 * Everything in a request body that Anthropic Messages would refuse, in words. Written from the API's rules, without
 * a line of the code that makes the bodies, so that each can catch the other's mistakes.
 */
export function brokenRules(body: string, switches: AnthropicRuleSwitches = {}): string[] {
  if (Buffer.byteLength(body) > MAX_BYTES) return ["request exceeds the maximum size"];
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const kind = MODELS[String(request.model)];
  if (!kind) return [`model: ${String(request.model)}`];
  const messages = Array.isArray(request.messages) ? request.messages.filter(isRecord) : [];
  return [
    ...Object.keys(request)
      .filter((key) => !FIELDS.includes(key))
      .map((key) => `${key}: extra inputs are not permitted`),
    ...loneSurrogates(request),
    ...mediaRules("anthropic", request, body),
    ...paramRules(request, kind),
    ...versionRules(request, messages, switches.version),
    ...systemRules(request.system),
    ...toolRules(request, messages),
    ...cacheRules(request, messages),
    ...messages.flatMap((message, at) =>
      contentRules(message.content, String(message.role), switches.verify).map(
        (rule) => `messages.${at}: ${rule}`,
      ),
    ),
    ...orderRules(messages, kind),
    ...pairingRules(messages),
    ...loopRules(messages, kind, isRecord(request.thinking) ? request.thinking : null),
  ];
}

function loneSurrogates(value: unknown): string[] {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? ["a lone surrogate"] : [];
  if (Array.isArray(value)) return value.flatMap(loneSurrogates);
  return isRecord(value)
    ? Object.entries(value).flatMap(([key, inner]) => [...loneSurrogates(key), ...loneSurrogates(inner)])
    : [];
}

function paramRules(request: Fields, kind: Kind): string[] {
  const broken: string[] = [];
  const { max_tokens: max, temperature, thinking, output_config: output } = request;
  if (typeof max !== "number" || !Number.isInteger(max) || max < 1) broken.push("max_tokens: field required");
  else if (max > kind.maxTokens)
    broken.push(`max_tokens: ${max} > ${kind.maxTokens}, the maximum of this model`);
  const type = isRecord(thinking) ? String(thinking.type) : null;
  if (type !== null && !kind.thinking.includes(type)) broken.push(`thinking.type: ${type} is not supported`);
  if (temperature !== undefined) {
    if (!kind.sampling) broken.push("temperature is deprecated for this model");
    if (typeof temperature !== "number" || temperature < 0 || temperature > 1)
      broken.push("temperature: range 0..1");
    if (type === "enabled" || type === "adaptive")
      broken.push("temperature may only be set to 1 when thinking");
  }
  if (isRecord(thinking) && type === "enabled")
    broken.push(...budgetRules(thinking.budget_tokens, Number(max)));
  if (isRecord(thinking) && type === "adaptive" && "budget_tokens" in thinking)
    broken.push("thinking.adaptive.budget_tokens: extra inputs are not permitted");
  if (output !== undefined && !kind.thinking.includes("adaptive"))
    broken.push("output_config is not supported");
  if (isRecord(output) && !["low", "medium", "high"].includes(String(output.effort))) broken.push("effort");
  return broken;
}

const NEWEST = "2026-10-21";

function versionRules({ temperature }: Fields, messages: readonly Fields[], version = NEWEST): string[] {
  const removed = version === NEWEST && temperature !== undefined;
  const tooNew = version !== NEWEST && messages.some((message) => message.role === "system");
  return [
    ...(removed ? ["temperature: extra inputs are not permitted"] : []),
    ...(tooNew ? ["role 'system' needs a beta header in this version"] : []),
  ];
}

function budgetRules(budget: unknown, max: number): string[] {
  if (typeof budget !== "number" || budget < 1024) return ["thinking.budget_tokens: at least 1024"];
  return budget < max ? [] : ["max_tokens must be greater than thinking.budget_tokens"];
}

function systemRules(system: unknown): string[] {
  return system === undefined
    ? []
    : contentRules(system, "system", undefined).map((rule) => `system: ${rule}`);
}

function toolRules({ tools, tool_choice: choice }: Fields, messages: readonly Fields[]): string[] {
  const used = messages
    .flatMap((one) => blocksOf(one.content))
    .some((block) => String(block.type).startsWith("tool_"));
  if (tools === undefined) {
    const broken = used ? ["requests which include tool_use or tool_result blocks must define tools"] : [];
    return choice === undefined ? broken : [...broken, "tool_choice without tools"];
  }
  if (!Array.isArray(tools) || tools.length === 0) return ["tools is empty"];
  const all = tools.filter(isRecord);
  const names = all.map((tool) => String(tool.name));
  const broken = names
    .filter((name) => !NAME.test(name))
    .map((name) => `tools: name ${JSON.stringify(name)}`);
  if (new Set(names).size < names.length) broken.push("tools: tool names must be unique");
  for (const { input_schema: schema, description } of all) {
    if (!isRecord(schema) || schema.type !== "object")
      broken.push("tools: input_schema.type should be object");
    else if (["anyOf", "oneOf", "allOf"].some((word) => word in schema))
      broken.push("tools: input_schema does not support oneOf, allOf, or anyOf at the top level");
    if (description !== undefined && !/\S/.test(String(description))) broken.push("tools: blank description");
  }
  return broken;
}

function cacheRules(request: Fields, messages: readonly Fields[]): string[] {
  const lists = [request.tools, request.system, ...messages.map((one) => one.content)];
  const marked = [request, ...lists.flatMap(blocksOf)].filter((one) => one.cache_control !== undefined);
  const odd = marked.filter(({ cache_control: mark }) => !isRecord(mark) || mark.type !== "ephemeral");
  const broken = odd.length > 0 ? ["cache_control is not ephemeral"] : [];
  return marked.length > 4 ? [...broken, "a maximum of 4 blocks with cache_control"] : broken;
}

/** Users and the assistant take turns; a system message stands only between the two. */
function orderRules(messages: readonly Fields[], kind: Kind): string[] {
  const roles = messages.map((message) => String(message.role));
  const broken: string[] = [];
  if (roles.length === 0) broken.push("messages: at least one message is required");
  if (roles.length > MAX_MESSAGES) broken.push("messages: too many");
  if (roles[0] === "assistant") broken.push("messages: first message must use the user role");
  roles.forEach((role, at) => {
    if (!["user", "assistant", "system"].includes(role)) broken.push(`messages.${at}: role ${role}`);
    if (role === roles[at - 1]) broken.push(`messages.${at}: roles must alternate`);
    if (role !== "system") return;
    if (!kind.midSystem) broken.push(`messages.${at}: role 'system' is not supported on this model`);
    if (roles[at - 1] !== "user") broken.push(`messages.${at}: role 'system' must follow a user message`);
    if (at + 1 < roles.length && roles[at + 1] !== "assistant")
      broken.push(`messages.${at}: role 'system' must precede an 'assistant' message or end the array`);
  });
  return [...broken, ...serverToolRules(messages), ...prefillRules(messages.at(-1), kind)];
}

function prefillRules(last: Fields | undefined, { prefill }: Kind): string[] {
  if (last?.role !== "assistant" || blocksOf(last.content).at(-1)?.type === "server_tool_use") return [];
  if (!prefill) return ["this model does not support assistant message prefill"];
  const text = String(blocksOf(last.content).at(-1)?.text ?? "");
  return /\s$/.test(text) ? ["final assistant content cannot end with trailing whitespace"] : [];
}

/** Every call answered once, in the next message; no answer anywhere else; every id its own. */
function pairingRules(messages: readonly Fields[]): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  let waiting: string[] = [];
  messages.forEach((message, at) => {
    const blocks = blocksOf(message.content);
    const answers = blocks
      .filter((block) => block.type === "tool_result")
      .map((block) => String(block.tool_use_id));
    for (const id of answers) {
      if (!waiting.includes(id)) broken.push(`messages.${at}: unexpected tool_use_id ${id}`);
      waiting = waiting.filter((one) => one !== id);
    }
    if (waiting.length > 0)
      broken.push(`messages.${at}: tool_use ids without tool_result: ${waiting.join()}`);
    waiting = blocks.filter((block) => block.type === "tool_use").map((block) => String(block.id));
    for (const id of waiting) {
      if (seen.has(id)) broken.push(`messages.${at}: tool_use ids must be unique: ${id}`);
      seen.add(id);
    }
  });
  return waiting.length > 0 ? [...broken, `tool_use ids without tool_result: ${waiting.join()}`] : broken;
}

/** The answers since a person last spoke are one turn to the API: it thinks in all of it or in none of it. */
function loopRules(messages: readonly Fields[], kind: Kind, thinking: Fields | null): string[] {
  const isResult = (block: Fields): boolean => block.type === "tool_result";
  const last = messages.findLastIndex((one) => one.role === "user");
  if (!blocksOf(messages[last]?.content).some(isResult)) return [];
  let from = last - 1;
  while (from > 1 && blocksOf(messages[from - 1]?.content).every(isResult)) from -= 2;
  const loop = messages.slice(from, last).filter((one) => one.role === "assistant");
  const blocks = loop.flatMap((one) => blocksOf(one.content)).map((block) => String(block.type));
  const on = thinking === null ? kind.thinksUnasked : thinking.type !== "disabled";
  if (!on && blocks.some((type) => type.endsWith("thinking")))
    return ["when thinking is disabled, an assistant message in the final position cannot contain thinking"];
  const mustStart = kind.loopsStartThinking && thinking?.type === "enabled";
  return mustStart && !blocks[0]?.endsWith("thinking")
    ? ["when thinking is enabled, a final assistant message must start with a thinking block"]
    : [];
}
