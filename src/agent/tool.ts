import type { ToolResultContent } from "../message/index.js";
import type { ToolDefinition } from "../provider/codec.js";

/** What a tool may know of the moment it runs in. */
export type ToolContext = {
  chat_jid: string;
  turn_id: string;
  call_id: string;
  time_zone: string;
  now: () => number;
  /** Fires when the turn is stopped or the tool's time is over: nobody waits for its result any more. */
  signal: AbortSignal;
};

/** What a tool gives back: words, or words with the details of a tool result. */
export type ToolOutput = string | Omit<Partial<ToolResultContent>, "type" | "id">;

/** Something a model can ask us to do. `defineTool` makes one whose arguments are typed. */
export type Tool = ToolDefinition & {
  /** Running it again for the same call does no harm. A tool that is not repeatable never runs twice, not even after a crash. */
  repeatable: boolean;
  /** A batch with this tool in it runs one after another, in the order of the calls. */
  sequential?: boolean;
  /** Milliseconds it may take; what the server allows any tool when not given. */
  timeoutMs?: number;
  /** It refuses wrong arguments itself; otherwise they are held against `parameters` before it runs. */
  checksArguments?: boolean;
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutput>;
};

/** The definition alone, as a model is told about it. */
export function definitionOf(tool: Tool): ToolDefinition {
  return { name: tool.name, description: tool.description, parameters: tool.parameters };
}
