import { isRecord, parseJson } from "../provider/json.js";
import { mediaRules } from "./mediaRules.js";

/** Which of the rules that servers differ in are enforced. */
export type RuleSwitches = {
  /** Templates of compatible servers refuse a system message anywhere but first. */
  systemOnlyFirst?: boolean;
  /** The letters and length of tool-call ids. */
  ids?: RegExp;
  audio?: boolean;
};

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const IMAGE = /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$)/;
const KEYS: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  developer: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "reasoning_details", "reasoning_content", "reasoning"],
  tool: ["role", "content", "tool_call_id", "name"],
};

type Message = Record<string, unknown>;

/**
 * Everything in a request body that a strict Chat Completions server would refuse, in words. Written from the API's
 * rules, without a line of the code that makes the bodies, so that each can catch the other's mistakes.
 */
export function brokenRules(body: string, switches: RuleSwitches = {}): string[] {
  const request = parseJson(body);
  if (!isRecord(request)) return ["the body is not a JSON object"];
  const messages = Array.isArray(request.messages) ? request.messages : [];
  const broken = [...loneSurrogates(request), ...mediaRules("openai", request, body)];
  if (typeof request.model !== "string" || request.model === "") broken.push("no model");
  if (messages.length === 0) broken.push("no messages");
  if (request.tools !== undefined) broken.push(...toolRules(request.tools));
  messages.forEach((message: unknown, at) => {
    if (!isRecord(message)) broken.push(`message ${at} is not an object`);
    else broken.push(...messageRules(message, at, switches).map((rule) => `message ${at}: ${rule}`));
  });
  return [...broken, ...pairingRules(messages.filter(isRecord), switches.ids ?? /^.{1,40}$/su)];
}

/** Half characters anywhere in a body, which no server can read. */
export function loneSurrogates(value: unknown): string[] {
  if (typeof value === "string") return /\p{Surrogate}/u.test(value) ? ["a lone surrogate"] : [];
  if (Array.isArray(value)) return value.flatMap(loneSurrogates);
  return isRecord(value)
    ? Object.entries(value).flatMap(([key, inner]) => [...loneSurrogates(key), ...loneSurrogates(inner)])
    : [];
}

function toolRules(tools: unknown): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return ["tools is empty"];
  const names = tools.map((tool: unknown) =>
    isRecord(tool) && isRecord(tool.function) ? String(tool.function.name) : "",
  );
  const odd = names.filter((name) => !NAME.test(name)).map((name) => `tool name ${JSON.stringify(name)}`);
  return new Set(names).size === names.length ? odd : [...odd, "two tools with one name"];
}

function messageRules(message: Message, at: number, switches: RuleSwitches): string[] {
  const role = String(message.role);
  const keys = KEYS[role];
  if (!keys) return [`role ${role}`];
  const unknown = Object.keys(message).filter((key) => !keys.includes(key));
  const broken = unknown.map((key) => `unknown field ${key}`);
  if (switches.systemOnlyFirst && at > 0 && role === "system")
    broken.push("a system message that is not the first");
  if (role === "assistant") return [...broken, ...assistantRules(message)];
  return [...broken, ...contentRules(message.content, role, switches)];
}

function assistantRules(message: Message): string[] {
  const calls = message.tool_calls;
  if (calls !== undefined && (!Array.isArray(calls) || calls.length === 0)) return ["tool_calls is empty"];
  if (message.content === null || message.content === undefined)
    return calls ? [] : ["neither content nor tool calls"];
  return contentRules(message.content, "assistant", {});
}

function contentRules(content: unknown, role: string, switches: RuleSwitches): string[] {
  if (typeof content === "string") return content.trim() === "" ? ["blank content"] : [];
  if (!Array.isArray(content) || content.length === 0) return ["no content"];
  return content.flatMap((part: unknown) =>
    isRecord(part) ? partRules(part, role, switches) : ["a part is not an object"],
  );
}

function partRules(part: Message, role: string, switches: RuleSwitches): string[] {
  if (part.type === "text")
    return typeof part.text === "string" && part.text.trim() !== "" ? [] : ["a blank text part"];
  if (role !== "user") return [`a part ${String(part.type)} in role ${role}`];
  if (part.type === "image_url") {
    const url = isRecord(part.image_url) ? String(part.image_url.url) : "";
    return IMAGE.test(url) ? [] : ["an image that is none"];
  }
  if (part.type !== "input_audio" || !switches.audio) return [`a part ${String(part.type)}`];
  const audio = isRecord(part.input_audio) ? part.input_audio : {};
  return audio.format === "wav" || audio.format === "mp3" ? [] : ["a sound that is neither wav nor mp3"];
}

/** Every call answered once, in order, directly after its message; no answer anywhere else; every id its own. */
function pairingRules(messages: readonly Message[], ids: RegExp): string[] {
  const broken: string[] = [];
  const seen = new Set<string>();
  let waiting: string[] = [];
  messages.forEach((message, at) => {
    const expected = waiting.shift();
    if (message.role === "tool") {
      if (message.tool_call_id !== expected) broken.push(`message ${at}: a result that no call waits for`);
      return;
    }
    if (expected !== undefined) broken.push(`message ${at}: stands before the result of ${expected}`);
    waiting = [];
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls.filter(isRecord) : []) {
      broken.push(...callRules(call, ids, seen).map((rule) => `message ${at}: ${rule}`));
      waiting.push(String(call.id));
    }
  });
  return waiting.length > 0 ? [...broken, `no result for ${waiting.join(", ")}`] : broken;
}

function callRules(call: Message, ids: RegExp, seen: Set<string>): string[] {
  const broken: string[] = [];
  if (typeof call.id !== "string" || !ids.test(call.id)) broken.push(`call id ${JSON.stringify(call.id)}`);
  if (seen.has(String(call.id))) broken.push(`call id ${String(call.id)} is used twice`);
  seen.add(String(call.id));
  const called = isRecord(call.function) ? call.function : {};
  if (!NAME.test(String(called.name))) broken.push(`tool name ${JSON.stringify(called.name)}`);
  if (typeof called.arguments !== "string" || !isRecord(parseJson(called.arguments)))
    broken.push("arguments are no object");
  return broken;
}
