import { type ToolCallContent, ToolResultContent } from "../message/index.js";
import type { ToolUse, UnfinishedBatch } from "./host.js";
import type { Run } from "./modelCall.js";
import { runTool } from "./runTool.js";
import type { Tool } from "./tool.js";

/** The tool calls of one answer; a result that is known already is kept. */
export type ToolBatch = {
  callId: string;
  uses: { wanted: ToolCallContent; result: ToolResultContent | null }[];
};

/** What the model is told of a tool that was running when we went down. */
const INTERRUPTED =
  "This tool was interrupted by a restart. It may or may not have taken effect; check before trying again.";
const STOPPED =
  "This tool was stopped before it finished. It may or may not have taken effect; check before trying again.";
const NEVER_STARTED = "This tool was not run: the turn was stopped before its time came.";
/** More at once would only be in each other's way. */
const SIDE_BY_SIDE = 64;

/** A batch of which nothing has run yet. */
export function freshBatch(callId: string, calls: readonly ToolCallContent[]): ToolBatch {
  return { callId, uses: calls.map((wanted) => ({ wanted, result: null })) };
}

/** What is left of a batch after a crash: only what may run twice runs, the rest is said to be interrupted. */
export function unfinishedBatch({ callId, uses }: UnfinishedBatch, tools: readonly Tool[]): ToolBatch {
  const repeatable = new Set(tools.filter((tool) => tool.repeatable).map(({ name }) => name));
  return {
    callId,
    uses: uses.map(({ wanted, result }) => {
      if (result || repeatable.has(wanted.name)) return { wanted, result };
      return { wanted, result: ToolResultContent.error(wanted.id, INTERRUPTED) };
    }),
  };
}

/**
 * Every call gets a result, in the order of the calls, also when the run is stopped meanwhile. Tools run side by side
 * unless one of them says otherwise. Throws only what the host throws; what still runs is told to stop then.
 */
export async function runBatch(run: Run, { callId, uses }: ToolBatch): Promise<ToolUse[]> {
  const { host, tools, deadline } = run;
  const results = uses.map(({ result }) => result);
  const waiting = uses.flatMap(({ result }, index) => (result ? [] : [index]));
  const giveUp = new AbortController();
  const signal = AbortSignal.any([deadline.signal, giveUp.signal]);
  const started = new Set<number>();

  const work = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const wanted = uses[index]?.wanted;
      if (!wanted || signal.aborted) return;
      started.add(index);
      const result = await runTool(run, callId, wanted, signal);
      if (!result) return;
      results[index] = result;
      if (uses.length > 1) await host.toolDone(callId, index, { wanted, result });
    }
  };

  const sequential = uses.some(({ wanted }) => tools.some((t) => t.sequential && t.name === wanted.name));
  try {
    await Promise.all(Array.from({ length: sequential ? 1 : Math.min(SIDE_BY_SIDE, waiting.length) }, work));
  } catch (error) {
    giveUp.abort(error);
    throw error;
  }
  return uses.map(({ wanted }, index) => {
    const unfinished = started.has(index) ? STOPPED : NEVER_STARTED;
    return { wanted, result: results[index] ?? ToolResultContent.error(wanted.id, unfinished) };
  });
}
