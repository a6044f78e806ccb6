import type { BlockWriter } from "./blocks.js";
import type { ToolDefinition } from "./codec.js";
import { isBlank } from "./fitted.js";
import { toJson } from "./json.js";
import { wireToolName } from "./toolCallId.js";

/** A tool as an API is told of it: under a name it takes, and with a description only if there is one. */
export type ToldTool = { name: string; description?: string };

/** Writes tools as the items of a list; gives back the true names of those that are told under another. */
export function writeToolItems(
  writer: BlockWriter,
  tools: readonly ToolDefinition[],
  spell: (told: ToldTool, parameters: Record<string, unknown>) => unknown,
  nameOf: (name: string) => string = wireToolName,
): Record<string, string> {
  const renamed: Record<string, string> = {};
  for (const { name, description, parameters } of tools) {
    const wireName = nameOf(name);
    if (wireName !== name) renamed[wireName] = name;
    const told = isBlank(description) ? { name: wireName } : { name: wireName, description };
    writer.item({ kind: "tools", sources: [{ type: "tool", id: name }] }, toJson(spell(told, parameters)));
  }
  return renamed;
}
