import type { Model } from "../provider/codec.js";
import { containerModel } from "../provider/container.js";
import { unfinishedBatch } from "./batch.js";
import { CONTAINER_LIMITS, type ContainerLimits } from "./containerLines.js";
import { ContainerRun } from "./containerRun.js";
import { startDeadline } from "./deadline.js";
import type { AgentEnd, AgentHost, AgentLimits, UnfinishedBatch } from "./host.js";
import type { Sandbox } from "./isolation.js";

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

/** What a run starts with. `unfinished`: the batch in which a crash cut the turn short. */
export type ContainerTask = {
  container: Container;
  limits: AgentLimits;
  unfinished?: UnfinishedBatch | null;
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
  task: ContainerTask,
  signal: AbortSignal,
): Promise<AgentEnd> {
  const deadline = startDeadline(host, task.limits.timeMs, signal);
  try {
    if (task.unfinished) await tellInterrupted(host, task.unfinished);
    const free = await host.slot("model", deadline.signal).catch((error: unknown) => {
      if (deadline.signal.aborted) return () => {};
      throw error;
    });
    try {
      const { container, limits } = task;
      const model = modelOfContainer(container, limits);
      return await new ContainerRun({ host, container, model, limits, deadline }).run();
    } finally {
      free();
    }
  } finally {
    deadline.end();
  }
}

/** Its tools are its own: none of them is ours to run again. */
async function tellInterrupted(host: AgentHost, unfinished: UnfinishedBatch): Promise<void> {
  const { callId, uses } = unfinishedBatch(unfinished, []);
  const batch = uses.flatMap(({ wanted, result }) => (result ? [{ wanted, result }] : []));
  await host.toolsFinished(callId, batch, false);
}
