import type { BlockKind } from "../../../message/receipt.js";

/** A stretch of a block as a person reads it. `machine` is shown as it stands in the request. */
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
      return { role: null, passages: [plain(unquoted(text) ?? text)] };
    case "tools":
      return { role: null, passages: toolsOf(parsed(text)) ?? [machine(text)] };
    case "message":
    case "thread_context":
    case "summary": {
      const value = parsed(text);
      return isObject(value) || Array.isArray(value)
        ? ofValue(value)
        : { role: null, passages: [machine(text)] };
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

/** Each tool in a line with its purpose, and its parameters below. */
function toolsOf(value: Json | undefined): Passage[] | null {
  if (!Array.isArray(value)) return null;
  return value.map((given) => {
    const tool = isObject(given) && isObject(given.function) ? given.function : given;
    if (!isObject(tool) || typeof tool.name !== "string") return machine(JSON.stringify(given));
    const { name, description, ...rest } = tool;
    return machine(
      `${name}${typeof description === "string" ? `: ${description}` : ""}\n${JSON.stringify(rest)}`,
    );
  });
}

function ofValue(value: Json[] | Fields): Wording {
  if (Array.isArray(value)) return { role: null, passages: value.flatMap(ofPart) };
  const role = typeof value.role === "string" ? value.role : null;
  const found = [value.content, value.parts, value.tool_calls, value.reasoning_content].flatMap((inner) =>
    inner === undefined || inner === null ? [] : Array.isArray(inner) ? inner.flatMap(ofPart) : ofPart(inner),
  );
  // An item that is no message of a role (a function call, its output) is a part itself.
  return { role, passages: role !== null && found.length > 0 ? found : ofPart(value) };
}

function ofPart(part: Json): Passage[] {
  if (typeof part === "string") return [plain(part)];
  if (!isObject(part)) return [machine(pretty(part))];
  return ofKnownPart(part) ?? [machine(pretty(part))];
}

function ofKnownPart(part: Fields): Passage[] | null {
  if (typeof part.thinking === "string") return [{ hand: "thinking", text: part.thinking }];
  if (typeof part.text === "string") return [part.thought === true ? thought(part.text) : plain(part.text)];
  const call = isObject(part.function) ? part.function : (part.functionCall ?? part.toolUse ?? part);
  if (isObject(call) && typeof call.name === "string") {
    const args = call.input ?? call.arguments ?? call.args;
    if (args !== undefined)
      return [tool(`${call.name} ${typeof args === "string" ? args : JSON.stringify(args)}`)];
  }
  const result = part.functionResponse ?? part.toolResult ?? part;
  if (!isObject(result)) return null;
  const output = result.output ?? result.content ?? result.response;
  if (output === undefined) return null;
  const said =
    typeof output === "string" ? [tool(output)] : Array.isArray(output) ? output.flatMap(ofPart) : null;
  return said ?? [tool(pretty(output))];
}

type Json = string | number | boolean | null | Json[] | Fields;
type Fields = { [key: string]: Json | undefined };

function isObject(value: Json | undefined): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const plain = (text: string): Passage => ({ hand: "words", text });
const thought = (text: string): Passage => ({ hand: "thinking", text });
const tool = (text: string): Passage => ({ hand: "tool", text });
const machine = (text: string): Passage => ({ hand: "machine", text });
const pretty = (value: Json): string => JSON.stringify(value, null, 2);
