import type { AssistantContent, ToolCallContent } from "../message/index.js";
import type { ModelDelta } from "./codec.js";
import { isServerBlock, type ServerBlock, serverContent } from "./anthropicServerTools.js";
import { isRecord } from "./json.js";
import { readToolArguments } from "./toolArguments.js";

type Growing =
  | { type: "text"; pieces: string[] }
  | { type: "thinking"; pieces: string[]; signature: string }
  | { type: "redacted"; data: string }
  | { type: "tool_use"; id: string; name: string; pieces: string[]; input: unknown }
  | { type: "server"; block: ServerBlock; pieces: string[] };

/** Gathers the contents of an answer from the blocks and deltas they stream in. */
export type ContentGatherer = {
  /** A block begins, perhaps with something in it already. */
  start(index: number, block: unknown): ModelDelta[];
  grow(index: number, delta: unknown): ModelDelta[];
  hasCalls(): boolean;
  /** Is the last thing in it the call of a tool that runs at the vendor? */
  endsInServerCall(): boolean;
  finish(api: string): AssistantContent[];
};

/** A gatherer for one answer. What is of no kind we know is skipped, and so is a block that stays empty. */
export function contentGatherer(): ContentGatherer {
  const blocks = new Map<number, Growing>();
  /** Blocks in which something came, in the order it first did. */
  const parts: Growing[] = [];

  function partOf(block: Growing): number {
    const known = parts.indexOf(block);
    return known === -1 ? parts.push(block) - 1 : known;
  }

  function say(block: Growing | undefined, type: "text" | "thinking", delta: unknown): ModelDelta[] {
    if (block?.type !== type || typeof delta !== "string" || delta === "") return [];
    block.pieces.push(delta);
    return [{ type, part: partOf(block), delta }];
  }

  function sign(block: Growing | undefined, signature: unknown): void {
    if (block?.type !== "thinking" || typeof signature !== "string" || signature === "") return;
    block.signature = signature;
    partOf(block);
  }

  /** The block a delta belongs to; servers that forget to begin one still say what it is. */
  function blockAt(index: number, type: "text" | "thinking"): Growing {
    const known = blocks.get(index);
    if (known) return known;
    const fresh: Growing = type === "text" ? { type, pieces: [] } : { type, pieces: [], signature: "" };
    blocks.set(index, fresh);
    return fresh;
  }

  function begin(index: number, block: Growing): Growing {
    blocks.set(index, block);
    return block;
  }

  return {
    start(index, block) {
      if (!isRecord(block)) return [];
      switch (block.type) {
        case "text":
          return say(begin(index, { type: "text", pieces: [] }), "text", block.text);
        case "thinking": {
          const thinking = begin(index, { type: "thinking", pieces: [], signature: "" });
          const deltas = say(thinking, "thinking", block.thinking);
          sign(thinking, block.signature);
          return deltas;
        }
        case "redacted_thinking":
          if (typeof block.data === "string" && block.data !== "")
            partOf(begin(index, { type: "redacted", data: block.data }));
          return [];
        case "tool_use":
          partOf(begin(index, callOf(block)));
          return [];
        default:
          if (isServerBlock(block)) partOf(begin(index, { type: "server", block, pieces: [] }));
          return [];
      }
    },
    grow(index, delta) {
      if (!isRecord(delta)) return [];
      switch (delta.type) {
        case "text_delta":
          return say(blockAt(index, "text"), "text", delta.text);
        case "thinking_delta":
          return say(blockAt(index, "thinking"), "thinking", delta.thinking);
        case "signature_delta":
          sign(blocks.get(index), delta.signature);
          return [];
        case "input_json_delta": {
          const call = blocks.get(index);
          if (
            (call?.type === "tool_use" || call?.type === "server") &&
            typeof delta.partial_json === "string"
          )
            call.pieces.push(delta.partial_json);
          return [];
        }
        default:
          return [];
      }
    },
    hasCalls: () => parts.some((part) => part.type === "tool_use"),
    endsInServerCall() {
      const last = parts.at(-1);
      return last?.type === "server" && last.block.type === "server_tool_use";
    },
    finish: (api) => parts.map((part) => contentOf(part, api)),
  };
}

function callOf({ id, name, input }: Record<string, unknown>): Growing {
  const known = { id: typeof id === "string" ? id : "", name: typeof name === "string" ? name : "" };
  return { type: "tool_use", ...known, pieces: [], input };
}

function contentOf(part: Growing, api: string): AssistantContent {
  switch (part.type) {
    case "text":
      return { type: "text", content: part.pieces.join("") };
    case "thinking":
      return { type: "thinking", content: part.pieces.join(""), signature: part.signature };
    case "redacted":
      return { type: "thinking", content: "", signature: part.data, redacted: true };
    case "tool_use":
      return callContent(part, api);
    case "server":
      return serverContent(withInput(part.block, part.pieces.join("")), api);
  }
}

function withInput(block: ServerBlock, streamed: string): ServerBlock {
  return streamed.trim() === "" ? block : { ...block, input: readToolArguments(streamed).args };
}

/** `native` keeps what the arguments do not show: how they were written, where they had to be repaired or are lost. */
function callContent(call: Extract<Growing, { type: "tool_use" }>, api: string): ToolCallContent {
  const { id, name, input } = call;
  const streamed = call.pieces.join("");
  const raw = streamed.trim() === "" && input !== undefined ? JSON.stringify(input) : streamed;
  const { args, how } = readToolArguments(raw);
  if (how === "strict") return { type: "tool_call", id, name, args };
  const data = { rawArguments: raw, ...(how === "repaired" ? { repaired: true } : { unparsed: true }) };
  return { type: "tool_call", id, name, args, native: { api, data } };
}
