import type { Native, ThinkingContent } from "../message/index.js";
import type { Fitted } from "./fitted.js";
import { isRecord } from "./json.js";

/** A block of a tool that runs at the vendor: the call of one, or what it gave. */
export type ServerBlock = Record<string, unknown> & { type: string };

type Assistant = Extract<Fitted, { role: "assistant" }>;

/** Is it of a tool that runs at the vendor? We ask for none, but a server in between may. */
export function isServerBlock(block: unknown): block is ServerBlock {
  if (!isRecord(block) || typeof block.type !== "string") return false;
  if (block.type === "server_tool_use") return typeof block.id === "string" && typeof block.name === "string";
  return block.type.endsWith("_tool_result") && typeof block.tool_use_id === "string";
}

/** What an answer keeps of such a block: nothing to read, and the block itself for the model that made it. */
export function serverContent(block: ServerBlock, api: string): ThinkingContent {
  return { type: "thinking", content: "", signature: "", native: { api, data: { block } } };
}

/** The block a content was kept for; null when it was for none. */
export function serverBlockIn(native: Native | null | undefined): ServerBlock | null {
  const data = native?.api === "anthropic" && isRecord(native.data) ? native.data : {};
  return isServerBlock(data.block) ? data.block : null;
}

/**
 * Such blocks go back word for word, as texts that are nothing but their block; a call without what it gave is refused,
 * unless the answer rests in it, and so is the reverse: these are left out.
 */
export function withServerBlocks(history: readonly Fitted[]): readonly Fitted[] {
  if (!history.some((one) => one.role === "assistant" && one.parts.some(isKept))) return history;
  const [called, given] = [new Set<unknown>(), new Set<unknown>()];
  for (const one of history) {
    for (const part of one.role === "assistant" ? one.parts : []) {
      const block = part.type === "thinking" ? serverBlockIn(part.thinking.native) : null;
      if (block) (block.type === "server_tool_use" ? called : given).add(block.id ?? block.tool_use_id);
    }
  }
  return history.flatMap((one, at) => {
    if (one.role !== "assistant" || !one.parts.some(isKept)) return [one];
    const parts = one.parts.flatMap((part, place): Assistant["parts"] => {
      const block = part.type === "thinking" ? serverBlockIn(part.thinking.native) : null;
      if (!block || part.type !== "thinking" || !part.thinking.native) return [part];
      const isLast = at === history.length - 1 && place === one.parts.length - 1;
      const isPaired =
        block.type === "server_tool_use" ? given.has(block.id) || isLast : called.has(block.tool_use_id);
      return isPaired ? [{ type: "text", text: "", native: part.thinking.native }] : [];
    });
    return parts.length > 0 ? [{ ...one, parts }] : [];
  });
}

function isKept(part: Assistant["parts"][number]): boolean {
  return part.type === "thinking" && serverBlockIn(part.thinking.native) !== null;
}

/** Does the history end in the middle of such a call? Then it goes back as it is, and the model goes on with it. */
export function endsInServerCall(history: readonly Fitted[]): boolean {
  const last = history.at(-1);
  const part = last?.role === "assistant" ? last.parts.at(-1) : undefined;
  return part?.type === "text" && serverBlockIn(part.native)?.type === "server_tool_use";
}
