import type { Model } from "../provider/codec.js";
import { containerModel } from "../provider/container.js";
import { unfinishedBatch } from "./batch.js";
import { CONTAINER_LIMITS, type ContainerLimits } from "./containerLines.js";
import { ContainerRun } from "./containerRun.js";
import { type Deadline, startDeadline } from "./deadline.js";
import type { AgentEnd, AgentHost, AgentLimits, UnfinishedBatch } from "./host.js";
import type { Sandbox } from "./isolation.js";
import { limitsLeft, type Used } from "./limitsLeft.js";
import type { Run } from "./modelCall.js";
import { runSteps } from "./run.js";
import type { Tool } from "./tool.js";

/** An agent outside this process: a command, what it may see of this machine, and how far it may go. */
export type Container = Sandbox & {
  /** As in `container/name`, the model name of chats that use it. */
  name: string;
  command: readonly [string, ...string[]];
  /** The model it is told to use, as `provider/model`; its own choice when not given. */
  model?: string | null;
  limits?: Partial<ContainerLimits>;
  /** What it writes to standard error, a bounded number of lines. */
  log?: (line: string) => void;
};

/** What a run starts with. `unfinished`: the batch in which a crash cut the turn short; `used`: what it took by then. */
export type ContainerStart = {
  container: Container;
  limits: AgentLimits;
  unfinished?: UnfinishedBatch | null;
  used?: Used | null;
  /** Where the host has a fallback model: the tools that one is given when the container fails. */
  fallback?: { tools: readonly Tool[] } | null;
};

/** The container as a model, for previews and receipts. */
export function modelOfContainer(container: Container, limits: AgentLimits): Model {
  return containerModel(container.name, {
    steps: limits.steps,
    timeMs: limits.timeMs,
    idleMs: container.limits?.idleMs ?? CONTAINER_LIMITS.idleMs,
    model: container.model ?? null,
  });
}

/** One turn by an agent outside this process. Throws only what the host throws; nothing of it runs on afterwards. */
export async function runContainer(
  host: AgentHost,
  { container, unfinished, fallback, ...start }: ContainerStart,
  signal: AbortSignal,
): Promise<AgentEnd> {
  const limits = limitsLeft(start.limits, start.used);
  const deadline = startDeadline(host, limits.timeMs, signal);
  try {
    if (unfinished) await tellInterrupted(host, unfinished);
    const model = modelOfContainer(container, limits);
    const outside = new ContainerRun({ host, container, model, limits, deadline });
    const end = await inSlot(host, deadline, () => outside.run());
    if (end.status !== "failed" || !fallback) return end;
    const { steps, spentUsd } = outside;
    const { tools } = fallback;
    const run: Run = { host, tools, limits, deadline, choice: "fallback", steps, spentUsd };
    return await runSteps(run, end.message);
  } finally {
    deadline.end();
  }
}

async function inSlot<T>(host: AgentHost, { signal }: Deadline, work: () => Promise<T>): Promise<T> {
  const free = await host.slot("model", signal).catch((error: unknown) => {
    if (signal.aborted) return () => {};
    throw error;
  });
  try {
    return await work();
  } finally {
    free();
  }
}

/** Its tools are its own: none of them is ours to run again. */
async function tellInterrupted(host: AgentHost, unfinished: UnfinishedBatch): Promise<void> {
  const { callId, uses } = unfinishedBatch(unfinished, []);
  const batch = uses.flatMap(({ wanted, result }) => (result ? [{ wanted, result }] : []));
  await host.toolsFinished(callId, batch, false);
}
