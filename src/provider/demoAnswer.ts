import { createHash } from "node:crypto";
import { clip, HANDOFF_LABEL } from "../message/index.js";
import { isRecord, parseJson } from "./json.js";

type Chunk = Record<string, unknown>;
type Answer = { status: 200; chunks: Chunk[] } | { status: 400 | 503; body: Record<string, unknown> };
type Said = { role: string; text: string };
type Seen = { all: Said[]; asked: Said | null; results: Said[]; tools: Record<string, unknown>[] };

/** What the demo model answers to a request body: pieces of a stream, or an error. */
export function demoAnswer(body: string): Answer {
  const request = parseJson(body);
  if (!isRecord(request) || !Array.isArray(request.messages)) {
    return {
      status: 400,
      body: { error: { message: "the request is not a chat completion", code: "bad_request" } },
    };
  }
  const seen = read(request);
  const words = seen.asked?.text ?? "";
  if (hasDirective(words, "/fail")) {
    return {
      status: 503,
      body: { error: { message: "the demo model was asked to fail", code: "overloaded" } },
    };
  }
  const tool = seen.results.length === 0 ? toolToCall(seen.tools) : null;
  const thought = thoughtsOf(seen, tool?.name ?? null);
  const id = createHash("sha256").update(body).digest("hex");
  const thinking = streamThinking(thought);
  const said = tool ? "" : replyOf(seen, hasDirective(words, "/long"));
  const rest = tool ? [toolCallChunk(`call_demo_${id.slice(0, 24)}`, tool)] : pieces(said).map(textChunk);
  const end = [
    finishChunk(tool ? "tool_calls" : "stop"),
    usageChunk(body, thought, said || JSON.stringify(tool)),
  ];
  return {
    status: 200,
    chunks: [...thinking, ...rest, ...end].map((chunk) => ({ id: `demo-${id.slice(0, 12)}`, ...chunk })),
  };
}

function hasDirective(text: string, directive: "/fail" | "/long"): boolean {
  return text.split(/\s+/).includes(directive);
}

/** Who asked last, and what tools have said since. */
function read(request: Record<string, unknown>): Seen {
  const messages = Array.isArray(request.messages) ? request.messages.filter(isRecord) : [];
  const all = messages.map((message) => ({ role: String(message.role), text: textOf(message.content) }));
  const people = all.filter((said) => said.role === "user" && !isOurs(said.text));
  const asked = people.findLast((said) => speakerOf(said.text) !== null) ?? people.at(-1) ?? null;
  const since = asked ? all.slice(all.lastIndexOf(asked) + 1) : all;
  const tools = Array.isArray(request.tools) ? request.tools.filter(isRecord) : [];
  return {
    all,
    asked,
    results: since.filter((said) => said.role === "tool"),
    tools: tools.map((tool) => tool.function).filter(isRecord),
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.filter(isRecord).map((part) => part.text);
  return texts.filter((text) => typeof text === "string").join("\n");
}

/** Words the handoff put into the user role. */
function isOurs(text: string): boolean {
  return text.startsWith(HANDOFF_LABEL.system) || text.startsWith(HANDOFF_LABEL.toolMedia);
}

const SPEAKER = /^\[([^\]\n]+?)(?: \(<[^\]\n]*>\))?\]: (.*)$/gm;

/** The last line that says who speaks; the assembler sees to it that nobody can write such a line themselves. */
function speakerOf(text: string): { name: string; words: string } | null {
  const last = [...text.matchAll(SPEAKER)].at(-1);
  if (!last?.[1]) return null;
  return { name: last[1], words: text.slice(last.index + last[0].length - (last[2]?.length ?? 0)) };
}

type ToolCall = { name: string; arguments: string };

function toolToCall(tools: readonly Record<string, unknown>[]): ToolCall | null {
  const tool =
    tools.find(({ name }) => name === "clock") ??
    tools.find((other) => required(other).length === 0) ??
    tools[0];
  if (typeof tool?.name !== "string") return null;
  return { name: tool.name, arguments: JSON.stringify(argumentsFor(tool)) };
}

function required(tool: Record<string, unknown>): string[] {
  const schema = isRecord(tool.parameters) ? tool.parameters : {};
  return Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
}

/** The least a tool asks for, in values of the right kind. */
function argumentsFor(tool: Record<string, unknown>): Record<string, unknown> {
  const schema = isRecord(tool.parameters) ? tool.parameters : {};
  const properties = isRecord(schema.properties) ? schema.properties : {};
  return Object.fromEntries(required(tool).map((name) => [name, exampleOf(properties[name])]));
}

function exampleOf(schema: unknown): unknown {
  if (!isRecord(schema)) return "demo";
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  const examples: Record<string, unknown> = {
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: {},
    null: null,
  };
  const type = String(schema.type);
  return Object.hasOwn(examples, type) ? examples[type] : "demo";
}

function thoughtsOf({ asked, results }: Seen, tool: string | null): string {
  if (!asked) return "Nobody has said anything yet. I will say who I am.";
  const speaker = speakerOf(asked.text)?.name ?? "Someone";
  if (tool)
    return `${speaker} wrote to me. Before I answer I will ask the tool ${tool}, so that there is something to see.`;
  if (results.length > 0) return `The tool has answered. Now I can tell ${speaker} what I saw.`;
  return `${speaker} wrote to me. I have no tool to ask, so I will answer right away.`;
}

function replyOf(seen: Seen, long: boolean): string {
  const sentences = [
    "Hello! I am the demo model: I run inside this server, offline, and I only tell what I was sent.",
    lastWords(seen.asked),
    countOf(seen.all),
    ...seen.results.map(({ text }) => `The tool I asked said “${brief(text)}”.`),
    "Open the inspector on this answer to see the request itself, byte for byte.",
  ];
  const answer = sentences.join(" ");
  return long ? `${answer}\n\n${LONG}` : answer;
}

function lastWords(asked: Said | null): string {
  if (!asked) return "Nobody has spoken yet.";
  const speaker = speakerOf(asked.text);
  if (speaker) return `${speaker.name} spoke last and said “${brief(speaker.words)}”.`;
  return `The last message was “${brief(asked.text)}”.`;
}

function countOf(all: readonly Said[]): string {
  return all.length === 1
    ? "There was 1 message in the request."
    : `There were ${all.length} messages in the request.`;
}

function brief(text: string): string {
  return clip(text.replace(/\s+/g, " ").trim(), 120);
}

const LONG = Array.from(
  { length: 40 },
  (_, index) =>
    `Line ${index + 1} of 40: this is here so that you can watch a long answer arrive, or stop it half-way.`,
).join("\n");

/** A few words at a time, spaces kept, so that the pieces add up to the text. */
function pieces(text: string): string[] {
  return text.match(/(?:\S*\s*){1,3}/g)?.filter((piece) => piece !== "") ?? [];
}

const choice = (delta: Record<string, unknown>, finish: string | null = null): Chunk => ({
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** Signed, as the thinking of real models is, so that it must come back in later requests as it was. */
function streamThinking(thought: string): Chunk[] {
  const signature = createHash("sha256").update(`demo:${thought}`).digest("base64");
  const detail = (more: Record<string, unknown>): Chunk =>
    choice({ reasoning_details: [{ type: "reasoning.text", index: 0, ...more }] });
  return [...pieces(thought).map((text) => detail({ text })), detail({ signature })];
}

function textChunk(content: string): Chunk {
  return choice({ content });
}

function toolCallChunk(id: string, call: ToolCall): Chunk {
  return choice({ tool_calls: [{ index: 0, id, type: "function", function: call }] });
}

function finishChunk(reason: string): Chunk {
  return choice({}, reason);
}

/** Four characters to a token: right in the median. */
function usageChunk(body: string, thought: string, said: string): Chunk {
  const [prompt = 0, reasoning = 0, answer = 0] = [body, thought, said].map((text) =>
    Math.ceil(text.length / 4),
  );
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: reasoning + answer,
    total_tokens: prompt + reasoning + answer,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
  return { object: "chat.completion.chunk", choices: [], usage };
}
