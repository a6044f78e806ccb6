import { AssistantMessage } from "../message/index.js";
import { freshBatch, runBatch, type ToolBatch, unfinishedBatch } from "./batch.js";
import { startDeadline } from "./deadline.js";
import type { AgentEnd, AgentHost, AgentLimits, UnfinishedBatch } from "./host.js";
import { limitsLeft, type Used } from "./limitsLeft.js";
import { callModel, endsHere, type Run, rests, stopOf } from "./modelCall.js";
import type { Tool } from "./tool.js";

/** What a run starts with. `unfinished`: the batch in which a crash cut the turn short; `used`: what it took by then. */
export type AgentStart = {
  tools: readonly Tool[];
  limits: AgentLimits;
  unfinished?: UnfinishedBatch | null;
  used?: Used | null;
};

/** Call the model, run its tools, call again, until it stops calling tools. Throws only what the host throws. */
export async function runAgent(host: AgentHost, start: AgentStart, signal: AbortSignal): Promise<AgentEnd> {
  const { tools, unfinished } = start;
  const limits = limitsLeft(start.limits, start.used);
  const deadline = startDeadline(host, limits.timeMs, signal);
  const run: Run = { host, tools, limits, deadline, choice: "model", steps: 0, spentUsd: 0 };
  try {
    const early = unfinished ? await finishBatch(run, unfinishedBatch(unfinished, tools)) : null;
    return early ?? (await runSteps(run));
  } finally {
    deadline.end();
  }
}

/** Steps until the run ends. `failure`: what made it turn to the fallback, where that was no call of ours. */
export async function runSteps(run: Run, failure: AssistantMessage | null = null): Promise<AgentEnd> {
  for (; run.steps < run.limits.steps; run.steps++) {
    const called = await callModel(run, failure);
    if (!called.ok) return called.end;
    const { call, message, verdict } = called;
    if (endsHere(message)) {
      if (verdict === "end") return { status: "answered" };
      continue;
    }
    if (rests(message)) continue;
    const end = await finishBatch(run, freshBatch(call.id, AssistantMessage.toolCalls(message)));
    if (end) return end;
  }
  return { status: "out_of_steps" };
}

/** Runs a batch and hands in its results, whatever stopped it meanwhile. Null: the run goes on. */
async function finishBatch(run: Run, batch: ToolBatch): Promise<AgentEnd | null> {
  const uses = await runBatch(run, batch);
  const stopped = run.deadline.signal.aborted;
  const last = !stopped && uses.every(({ result }) => result.terminate);
  const verdict = await run.host.toolsFinished(batch.callId, uses, last);
  if (stopped) return stopOf(run);
  return verdict === "end" ? { status: "answered" } : null;
}
