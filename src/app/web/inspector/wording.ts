import type { BlockKind } from "../../../message/receipt.js";

/** A stretch of a block as a person reads it. `machine` is shown much as it stands in the request. */
export type Passage = { hand: "words" | "thinking" | "tool" | "machine"; text: string };
export type Wording = { role: string | null; passages: Passage[] };

/**
 * The words inside a block of a request. Every model API spells a message differently;
 * what is not recognised is shown as it is, never left out.
 */
export function wordingOf(kind: BlockKind, text: string): Wording {
  switch (kind) {
    case "system":
    case "notice":
      return { role: null, passages: [words(unquoted(text) ?? text)] };
    case "tools":
      return { role: null, passages: toolsOf(parsed(text)) ?? [machine(text)] };
    case "message":
    case "thread_context":
    case "summary": {
      const value = parsed(text);
      return isFields(value) ? messageOf(value) : { role: null, passages: [machine(text)] };
    }
    case "frame":
    case "params":
      return { role: null, passages: [machine(text)] };
  }
}

/** A fragment of a JSON string, without its escapes. */
function unquoted(fragment: string): string | null {
  const value = parsed(`"${fragment}"`);
  return typeof value === "string" ? value : null;
}

/** Each tool with its purpose, and its parameters below. */
function toolsOf(value: Json | undefined): Passage[] | null {
  if (Array.isArray(value)) return value.flatMap((tool) => toolsOf(tool) ?? [machine(pretty(tool))]);
  if (!isFields(value)) return null;
  const tool = isFields(value.function) ? value.function : value;
  if (typeof tool.name !== "string") return null;
  const { name, description, ...rest } = tool;
  const purpose = typeof description === "string" ? `: ${description}` : "";
  return [machine(`${name}${purpose}\n${JSON.stringify(rest)}`)];
}

/** Keys that say where a part belongs, and nothing to a reader. */
const BOOKKEEPING = new Set([
  "role",
  "type",
  "id",
  "call_id",
  "tool_call_id",
  "status",
  "index",
  "timestamp",
  "cache_control",
]);
/** Keys of a message that hold its parts, in the order in which they were said. */
const PARTS = ["reasoning_content", "reasoning_details", "content", "contents", "parts", "tool_calls"];

function messageOf(value: Fields): Wording {
  if (typeof value.role !== "string") return { role: null, passages: partOf(value) };
  const said = PARTS.flatMap((key) => partsOf(value[key], key.startsWith("reasoning")));
  const known = new Set([...BOOKKEEPING, ...PARTS]);
  const rest = Object.entries(value).flatMap(([key, inner]) =>
    known.has(key) || !isSaying(inner) ? [] : [machine(`${key}: ${pretty(inner)}`)],
  );
  return { role: value.role, passages: [...said, ...rest] };
}

function partsOf(value: Json | undefined, thinking: boolean): Passage[] {
  if (value === undefined || value === null) return [];
  const found = Array.isArray(value) ? value.flatMap(partOf) : partOf(value);
  return thinking
    ? found.map((passage) => (passage.hand === "words" ? thought(passage.text) : passage))
    : found;
}

function partOf(part: Json): Passage[] {
  if (typeof part === "string") return [words(part)];
  if (!isFields(part)) return [machine(pretty(part))];
  return thoughtOf(part) ?? callOf(part) ?? textOf(part) ?? resultOf(part) ?? [machine(pretty(part))];
}

function textOf(part: Fields): Passage[] | null {
  if (typeof part.text === "string") return [words(part.text)];
  // A container is told messages as they are kept here.
  return part.type === "text" && typeof part.content === "string" ? [words(part.content)] : null;
}

function thoughtOf(part: Fields): Passage[] | null {
  if (typeof part.thinking === "string") return [thought(part.thinking)];
  if (part.type === "thinking" && typeof part.content === "string") return [thought(part.content)];
  if (typeof part.text === "string" && part.thought === true) return [thought(part.text)];
  if (part.type === "reasoning" && Array.isArray(part.summary)) return partsOf(part.summary, true);
  const inner = isFields(part.reasoningContent) ? part.reasoningContent.reasoningText : undefined;
  return isFields(inner) && typeof inner.text === "string" ? [thought(inner.text)] : null;
}

function callOf(part: Fields): Passage[] | null {
  const call = [part.function, part.functionCall, part.toolUse, part].find(isFields);
  if (!call || typeof call.name !== "string") return null;
  const args = call.input ?? call.arguments ?? call.args;
  if (args === undefined) return null;
  return [tool(`${call.name} ${typeof args === "string" ? args : JSON.stringify(args)}`)];
}

function resultOf(part: Fields): Passage[] | null {
  const result = [part.functionResponse, part.toolResult, part].find(isFields);
  const output = result?.output ?? result?.content ?? result?.response;
  if (output === undefined) return null;
  if (typeof output === "string") return [tool(output)];
  if (!Array.isArray(output)) return [tool(pretty(output))];
  return output.flatMap(partOf).map((passage) => (passage.hand === "words" ? tool(passage.text) : passage));
}

type Json = string | number | boolean | null | Json[] | Fields;
type Fields = { [key: string]: Json | undefined };

function isFields(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSaying(value: Json | undefined): value is Json {
  return value !== undefined && value !== null && value !== "";
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** An image is a hundred thousand letters of base64; the raw bytes have them all. */
const LONGEST = 400;

function pretty(value: Json): string {
  const shorten = (_: string, inner: unknown): unknown =>
    typeof inner === "string" && inner.length > LONGEST
      ? `${inner.slice(0, 80)}… (${inner.length.toLocaleString()} characters)`
      : inner;
  return JSON.stringify(value, shorten, 2);
}

const words = (text: string): Passage => ({ hand: "words", text });
const thought = (text: string): Passage => ({ hand: "thinking", text });
const tool = (text: string): Passage => ({ hand: "tool", text });
const machine = (text: string): Passage => ({ hand: "machine", text });
