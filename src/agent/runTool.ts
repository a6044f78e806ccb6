import { type ToolCallContent, ToolResultContent } from "../message/index.js";
import { argumentProblems, wrongArguments } from "./arguments.js";
import { startDeadline } from "./deadline.js";
import type { AgentHost } from "./host.js";
import type { Run } from "./modelCall.js";
import type { Tool, ToolContext } from "./tool.js";
import { resultOfError, resultOfOutput } from "./toolResult.js";

const NOT_JSON = "The arguments were not valid JSON. Call the tool again with valid JSON.";

/**
 * One tool call to its result, whatever the tool does: throws, gives nonsense, hangs. Null: the run was stopped
 * before there was one. A tool that does not stop when told is left alone, and what it says later is not heard.
 */
export async function runTool(
  { host, tools, limits }: Run,
  callId: string,
  wanted: ToolCallContent,
  stop: AbortSignal,
): Promise<ToolResultContent | null> {
  const tool = tools.find((known) => known.name === wanted.name);
  if (!tool) return ToolResultContent.error(wanted.id, unknownTool(wanted.name, tools));
  if (isUnparsed(wanted)) return ToolResultContent.error(wanted.id, NOT_JSON);
  const limitMs = tool.timeoutMs ?? limits.toolMs;
  const deadline = startDeadline(host, limitMs, stop);
  const context: ToolContext = { ...host.toolContext(callId), signal: deadline.signal };
  try {
    const result = await Promise.race([use(tool, wanted, context, host), fires(deadline.signal)]);
    if (result) return result;
    return deadline.isOver() ? ToolResultContent.error(wanted.id, tooSlow(limitMs)) : null;
  } finally {
    deadline.end();
  }
}

/** Never rejects. */
async function use(
  tool: Tool,
  wanted: ToolCallContent,
  context: ToolContext,
  host: AgentHost,
): Promise<ToolResultContent> {
  try {
    const problems = tool.checksArguments ? [] : await argumentProblems(tool.parameters, wanted.args);
    if (problems.length > 0) return ToolResultContent.error(wanted.id, wrongArguments(problems));
    const result = resultOfOutput(wanted.id, await tool.run(wanted.args, context));
    return host.shown ? await host.shown(result) : result;
  } catch (error) {
    return resultOfError(wanted.id, error);
  }
}

function fires(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}

function unknownTool(name: string, tools: readonly Tool[]): string {
  const names = tools.map((known) => known.name).join(", ") || "none";
  return `There is no tool named "${name}". Tools: ${names}.`;
}

function tooSlow(limitMs: number): string {
  const limit = limitMs >= 1000 ? `${limitMs / 1000} s` : `${limitMs} ms`;
  return `This tool did not finish within ${limit} and was given up. It may or may not have taken effect; check before trying again.`;
}

function isUnparsed(call: ToolCallContent): boolean {
  const data = call.native?.data;
  return typeof data === "object" && data !== null && "unparsed" in data && data.unparsed === true;
}
