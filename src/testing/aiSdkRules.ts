import { modelMessageSchema } from "ai";
import { isRecord, parseJson } from "../provider/json.js";
import { loneSurrogates } from "./chatCompletionsRules.js";

/** Which of the rules that language models differ in are enforced. */
export type AiSdkRuleSwitches = {
  version: "v2" | "v3";
  /** The letters and length of tool-call ids. */
  ids?: RegExp;
  audio?: boolean;
  /** Images by address, and images inside a tool's result. */
  imageUrls?: boolean;
  resultImages?: boolean;
};

type Part = Record<string, unknown>;
type Rule = (part: Part, switches: AiSdkRuleSwitches) => string[];

const NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const BASE64 = /^[A-Za-z0-9+/]+=*$/;
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;
const TOP = ["prompt", "tools", "maxOutputTokens", "temperature", "providerOptions"];

/**
 * Everything in a request that a language model of the AI SDK, or the strictest of the vendors behind it, would refuse,
 * in words: by the published schema of messages and by the types of the interface. Shares no line with the code that
 * makes the requests.
 */
export function brokenRules(body: string, switches: AiSdkRuleSwitches): string[] {
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const prompt = Array.isArray(request.prompt) ? request.prompt : [];
  const messages = prompt.filter(isRecord);
  const unknown = Object.keys(request).filter((key) => !TOP.includes(key));
  return [
    ...unknown.map((key) => `unknown field ${key}`),
    ...loneSurrogates(request),
    ...(request.tools === undefined ? [] : toolRules(request.tools)),
    ...(messages.length === prompt.length ? [] : ["a message is not an object"]),
    ...messages.flatMap((message, at) =>
      [...schemaRules(message), ...messageRules(message, at, switches)].map(
        (rule) => `message ${at}: ${rule}`,
      ),
    ),
    ...orderRules(messages),
    ...pairingRules(messages, switches.ids ?? /^[A-Za-z0-9_-]{1,40}$/),
  ];
}

/** The AI SDK's own word on what a message is. */
function schemaRules(message: Part): string[] {
  const checked = modelMessageSchema.safeParse(message);
  return checked.success ? [] : [`no message to the AI SDK: ${checked.error.message}`];
}

function toolRules(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ["tools is empty"];
  const known = tools.filter(isRecord);
  const names = known.map((tool) => String(tool.name));
  return [
    ...known.flatMap((tool) => keysBeside(tool, ["type", "name", "description", "inputSchema"])),
    ...known
      .filter((tool) => tool.type !== "function" || !isRecord(tool.inputSchema))
      .map(() => "no function"),
    ...names.filter((name) => !NAME.test(name)).map((name) => `tool name ${JSON.stringify(name)}`),
    ...(new Set(names).size === tools.length ? [] : ["two tools with one name"]),
  ];
}

function keysBeside(part: Part, keys: readonly string[]): string[] {
  return Object.keys(part)
    .filter((key) => !keys.includes(key))
    .map((key) => `unknown field ${key}`);
}

function messageRules(message: Part, at: number, switches: AiSdkRuleSwitches): string[] {
  const odd = keysBeside(message, ["role", "content"]);
  const { role, content } = message;
  if (role === "system") {
    const broken = at > 0 ? ["a system message that is not the first"] : [];
    return [...odd, ...broken, ...(isText(content) ? [] : ["blank system"])];
  }
  const parts = Array.isArray(content) ? content.filter(isRecord) : [];
  if (parts.length === 0) return [...odd, "no content"];
  const rules = PARTS[String(role)] ?? {};
  const broken = parts.flatMap((part) => {
    const rule = rules[String(part.type)];
    return rule ? rule(part, switches) : [`a part ${String(part.type)} in role ${String(role)}`];
  });
  const thinksOnly = role === "assistant" && parts.every((part) => part.type === "reasoning");
  return [...odd, ...broken, ...(thinksOnly ? ["reasoning alone"] : [])];
}

function isText(text: unknown): boolean {
  return typeof text === "string" && text.trim() !== "";
}

const text: Rule = (part) => [
  ...keysBeside(part, ["type", "text", "providerOptions"]),
  ...(isText(part.text) ? [] : ["a blank text"]),
  ...optionRules(part),
];
const reasoning: Rule = (part) => [
  ...keysBeside(part, ["type", "text", "providerOptions"]),
  ...(typeof part.text === "string" ? [] : ["reasoning without a text"]),
  ...optionRules(part),
];
const file: Rule = (part, { audio, imageUrls }) => {
  const odd = keysBeside(part, ["type", "mediaType", "data"]);
  const [type, data] = [String(part.mediaType), String(part.data)];
  if (/^https?:/.test(data))
    return imageUrls && type === "image/*" && URL.canParse(data) ? odd : [...odd, `a file at ${data}`];
  const taken = IMAGE.test(type) || (audio && /^audio\/(wav|mpeg|mp3)$/.test(type));
  return taken && BASE64.test(data) ? odd : [...odd, `a file of ${type}`];
};
const call: Rule = (part) => [
  ...keysBeside(part, ["type", "toolCallId", "toolName", "input", "providerOptions"]),
  ...(NAME.test(String(part.toolName)) ? [] : [`tool name ${JSON.stringify(part.toolName)}`]),
  ...(isRecord(part.input) ? [] : ["input is no object"]),
  ...optionRules(part),
];
const result: Rule = (part, switches) => [
  ...keysBeside(part, ["type", "toolCallId", "toolName", "output"]),
  ...outputRules(isRecord(part.output) ? part.output : {}, switches),
];
const PARTS: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  user: { text, file },
  assistant: { text, reasoning, "tool-call": call },
  tool: { "tool-result": result },
};

function outputRules({ type, value }: Part, switches: AiSdkRuleSwitches): string[] {
  if (type === "text") return isText(value) ? [] : ["a blank result"];
  if (type === "error-text")
    return String(value).startsWith("Error: ") ? [] : ["a failure that its words do not tell"];
  if (type !== "content" || !switches.resultImages) return [`an output ${String(type)}`];
  const image = switches.version === "v2" ? "media" : "image-data";
  return (Array.isArray(value) ? value : []).filter(isRecord).flatMap((one) => {
    if (one.type === "text") return text(one, switches);
    return one.type === image && IMAGE.test(String(one.mediaType)) && BASE64.test(String(one.data))
      ? []
      : [`a result's ${String(one.type)}`];
  });
}

/** Settings of a provider stand under its name. */
function optionRules({ providerOptions }: Part): string[] {
  if (providerOptions === undefined) return [];
  const sound = isRecord(providerOptions) && Object.values(providerOptions).every(isRecord);
  return sound ? [] : ["providerOptions are not by provider"];
}

/** A person speaks first and last, and the assistant never twice in a row. */
function orderRules(messages: readonly Part[]): string[] {
  const roles = messages.map((message) => String(message.role)).filter((role) => role !== "system");
  const broken = roles[0] === "user" ? [] : [`begins with ${roles[0]}`];
  if (roles.at(-1) === "assistant") broken.push("ends with the assistant");
  roles.forEach((role, at) => {
    const before = roles[at - 1];
    if (role === "assistant" && before === "assistant") broken.push(`message ${at}: two answers in a row`);
    if (role === "tool" && before !== "assistant") broken.push(`message ${at}: results after ${before}`);
  });
  return broken;
}

/** Every call answered once, in order, in the message after its own; every id its own. */
function pairingRules(messages: readonly Part[], ids: RegExp): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  messages.forEach((message, at) => {
    const calls = idsOf(message, "tool-call");
    for (const id of calls) {
      if (!ids.test(id)) broken.push(`call id ${JSON.stringify(id)}`);
      if (seen.has(id)) broken.push(`call id ${id} is used twice`);
      seen.add(id);
    }
    const next = messages[at + 1];
    const answered = next?.role === "tool" ? idsOf(next, "tool-result") : [];
    if (message.role === "assistant" && answered.join() !== calls.join())
      broken.push(`message ${at}: calls ${calls.join()}, results ${answered.join()}`);
  });
  return broken;
}

function idsOf(message: Part, type: string): string[] {
  const parts = Array.isArray(message.content) ? message.content.filter(isRecord) : [];
  return parts.filter((part) => part.type === type).map((part) => String(part.toolCallId));
}
