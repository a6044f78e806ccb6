import { isRecord, parseJson } from "../provider/json.js";
import { loneSurrogates } from "./chatCompletionsRules.js";
import { mediaRules } from "./mediaRules.js";

/** What a server knows besides the request. */
export type ResponsesRuleSwitches = {
  /** Models that think refuse a temperature; the others refuse every word about reasoning. */
  reasons?: boolean;
  /** Servers that are not OpenAI take reasoning that is not encrypted. */
  plainReasoning?: boolean;
  /** What the server gave out: the reasoning an item came of, and what came of a reasoning item. */
  issued?: Issued;
};

/** By item id. */
export type Issued = {
  /** The reasoning item that must stand right before it. */
  reasoningBefore: ReadonlyMap<string, string>;
  /** The type of the item that came of a reasoning item, and its encrypted content. */
  reasoning: ReadonlyMap<string, { next: string; encrypted: string }>;
};

type Item = Record<string, unknown>;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const IMAGE = /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$)/;
const ITEM_ID: Readonly<Record<string, RegExp>> = {
  message: /^msg_[\w-]{1,60}$/,
  function_call: /^fc_[\w-]{1,61}$/,
  reasoning: /^rs_[\w-]{1,61}$/,
};
const TOP = [
  "model",
  "stream",
  "store",
  "include",
  "reasoning",
  "temperature",
  "max_output_tokens",
  "tools",
  "instructions",
  "input",
];
const KEYS: Readonly<Record<string, readonly string[]>> = {
  message: ["type", "id", "role", "status", "content", "phase"],
  function_call: ["type", "id", "call_id", "name", "arguments"],
  function_call_output: ["type", "call_id", "output"],
  reasoning: ["type", "id", "summary", "content", "encrypted_content"],
};

/**
 * Everything in a request body that a strict Responses server, which stored nothing, would refuse, in words. Written
 * from the API's rules, without a line of the code that makes the bodies, so that each can catch the other's mistakes.
 */
export function brokenRules(body: string, switches: ResponsesRuleSwitches = {}): string[] {
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const input = Array.isArray(request.input) ? request.input : [];
  const items = input.filter(isRecord);
  const broken = [
    ...loneSurrogates(request),
    ...mediaRules("openai", request, body),
    ...paramRules(request, switches),
  ];
  if (input.length === 0) broken.push("One of input, previous_response_id or prompt must be provided");
  if (items.length !== input.length) broken.push("an item that is not an object");
  items.forEach((item, at) => {
    broken.push(...itemRules(item, switches).map((rule) => `input[${at}]: ${rule}`));
  });
  return [...broken, ...idRules(items), ...pairingRules(items), ...reasoningRules(items, switches)];
}

function paramRules(request: Item, { reasons }: ResponsesRuleSwitches): string[] {
  const broken = unknownKeys(request, TOP);
  if (typeof request.model !== "string" || request.model === "") broken.push("no model");
  if (request.store !== false) broken.push("store is not false");
  if (request.instructions !== undefined && !isSaid(request.instructions)) broken.push("blank instructions");
  const most = request.max_output_tokens;
  if (most !== undefined && (!Number.isInteger(most) || Number(most) < 16))
    broken.push("max_output_tokens below minimum value 16");
  if (request.tools !== undefined) broken.push(...toolRules(request.tools));
  if (reasons === true && request.temperature !== undefined)
    broken.push("Unsupported parameter: 'temperature' is not supported with this model");
  if (reasons === false && request.include !== undefined)
    broken.push("Encrypted content is not supported with this model");
  if (reasons === false && request.reasoning !== undefined)
    broken.push("Unsupported parameter: 'reasoning.effort' is not supported with this model");
  return broken;
}

function toolRules(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ["tools is empty"];
  const all = tools.filter(isRecord);
  const names = all.map((tool) => String(tool.name));
  const broken = all.flatMap((tool) =>
    unknownKeys(tool, ["type", "name", "description", "parameters", "strict"]),
  );
  broken.push(...names.filter((name) => !NAME.test(name)).map((name) => `tool name ${JSON.stringify(name)}`));
  if (new Set(names).size < tools.length) broken.push("two tools with one name");
  for (const tool of all) {
    if (tool.type !== "function" || !isRecord(tool.parameters)) broken.push("a tool that is no function");
    if (tool.strict !== false) broken.push("a schema that would have to be strict");
  }
  return broken;
}

function itemRules(item: Item, switches: ResponsesRuleSwitches): string[] {
  const type = String(item.type);
  const keys = KEYS[type];
  if (!keys) return [`Invalid value: '${type}'`];
  const broken = unknownKeys(item, keys);
  if (item.id !== undefined && !ITEM_ID[type]?.test(String(item.id))) broken.push(`Invalid 'id': ${item.id}`);
  switch (type) {
    case "message":
      return [...broken, ...messageRules(item)];
    case "function_call":
      return [...broken, ...callRules(item)];
    case "function_call_output":
      return [
        ...broken,
        ...(typeof item.output === "string" ? blankRules(item.output) : partsRules(item.output, true)),
      ];
    default:
      return [...broken, ...reasoningItemRules(item, switches)];
  }
}

function messageRules(item: Item): string[] {
  const role = String(item.role);
  if (role === "assistant") return assistantRules(item);
  if (!["user", "system", "developer"].includes(role)) return [`role ${role}`];
  const broken = ["id", "status", "phase"]
    .filter((key) => key in item)
    .map((key) => `${key} in role ${role}`);
  if (typeof item.content === "string") return [...broken, ...blankRules(item.content)];
  return [...broken, ...partsRules(item.content, role === "user")];
}

/** With an id it is an output item, which has parts; without one it is the short form, which is a string. */
function assistantRules(item: Item): string[] {
  if (item.phase !== undefined && item.phase !== "commentary" && item.phase !== "final_answer")
    return [`phase ${String(item.phase)}`];
  if (item.id === undefined)
    return typeof item.content === "string" ? blankRules(item.content) : ["Missing required parameter: 'id'"];
  if (item.status !== "completed") return ["Missing required parameter: 'status'"];
  const parts = Array.isArray(item.content) ? item.content : [];
  const good = parts.every(
    (part: unknown) =>
      isRecord(part) && part.type === "output_text" && isSaid(part.text) && Array.isArray(part.annotations),
  );
  return good && parts.length > 0 ? [] : ["content that is no output text"];
}

function partsRules(content: unknown, mayHaveImages: boolean): string[] {
  if (!Array.isArray(content) || content.length === 0) return ["no content"];
  return content.flatMap((part: unknown) => {
    if (!isRecord(part)) return ["a part is not an object"];
    if (part.type === "input_text") return isSaid(part.text) ? [] : ["a blank text part"];
    if (part.type !== "input_image" || !mayHaveImages) return [`a part ${String(part.type)}`];
    return IMAGE.test(String(part.image_url)) ? [] : ["Invalid 'image_url'"];
  });
}

function callRules(item: Item): string[] {
  const broken: string[] = [];
  if (!NAME.test(String(item.call_id))) broken.push(`call_id ${JSON.stringify(item.call_id)}`);
  if (!NAME.test(String(item.name))) broken.push(`tool name ${JSON.stringify(item.name)}`);
  if (typeof item.arguments !== "string" || !isRecord(parseJson(item.arguments)))
    broken.push("arguments are no object");
  return broken;
}

function reasoningItemRules(item: Item, { plainReasoning }: ResponsesRuleSwitches): string[] {
  const summary = Array.isArray(item.summary) ? item.summary : null;
  if (
    !summary?.every(
      (part: unknown) => isRecord(part) && part.type === "summary_text" && typeof part.text === "string",
    )
  )
    return ["Missing required parameter: 'summary'"];
  if (isSaid(item.encrypted_content)) return [];
  if (plainReasoning && Array.isArray(item.content) && item.content.length > 0) return [];
  return [`Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`];
}

function idRules(items: readonly Item[]): string[] {
  const ids = items.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  return ids
    .filter((id, at) => ids.indexOf(id) !== at)
    .map((id) => `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`);
}

/** Every call answered once, after it, before anybody else speaks; no answer without its call; every id its own. */
function pairingRules(items: readonly Item[]): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  let waiting: string[] = [];
  for (const item of items) {
    const callId = String(item.call_id);
    if (item.type === "function_call") {
      if (seen.has(callId)) broken.push(`call_id ${callId} is used twice`);
      seen.add(callId);
      waiting.push(callId);
    } else if (item.type === "function_call_output") {
      if (!waiting.includes(callId))
        broken.push(`No tool call found for function call output with call_id ${callId}.`);
      waiting = waiting.filter((one) => one !== callId);
    } else if (item.type === "message" && item.role !== "assistant" && waiting.length > 0) {
      broken.push(`somebody speaks before the output of ${waiting.join(", ")}`);
    }
  }
  return [...broken, ...waiting.map((callId) => `No tool output found for function call ${callId}.`)];
}

/** Reasoning and what came of it belong together, both ways. */
function reasoningRules(items: readonly Item[], { issued }: ResponsesRuleSwitches): string[] {
  return items.flatMap((item, at) => {
    const [before, next] = [items[at - 1], items[at + 1]];
    const required = issued?.reasoningBefore.get(String(item.id));
    if (required !== undefined && before?.id !== required)
      return [`Item '${item.id}' was provided without its required 'reasoning' item: '${required}'.`];
    if (item.type !== "reasoning") return [];
    const known = issued?.reasoning.get(String(item.id));
    if (known && item.encrypted_content !== known.encrypted)
      return [`The encrypted content for item ${item.id} could not be verified.`];
    const isFollowed = known ? next?.type === known.next : isOutput(next);
    return isFollowed
      ? []
      : [`Item '${item.id}' of type 'reasoning' was provided without its required following item.`];
  });
}

function isOutput(item: Item | undefined): boolean {
  if (item?.type === "message") return item.role === "assistant";
  return item?.type === "function_call" || item?.type === "reasoning";
}

function unknownKeys(value: Item, known: readonly string[]): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `Unknown parameter: '${key}'`);
}

function isSaid(text: unknown): boolean {
  return typeof text === "string" && text.trim() !== "";
}

function blankRules(text: string): string[] {
  return isSaid(text) ? [] : ["blank content"];
}
