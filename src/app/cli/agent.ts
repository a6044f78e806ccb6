import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { type AgentEnd, type AgentLimits, clock, runAgent, type Tool } from "../../agent/index.js";
import { type ContainerEvent, type ContainerInput, ContainerLine } from "../../agent/containerProtocol.js";
import { PipeHost } from "./agentHost.js";
import { catalogueFrom } from "./catalogue.js";
import { CommandFailed } from "./output.js";
import { type Env, SettingError } from "./settings.js";

const TOOLS: readonly Tool[] = [clock];
const ATTEMPTS = 3;

/** The built-in agent as a container: a turn on standard input, what comes of it on standard output. */
export async function agent(env: Env, input: Readable, output: Writable): Promise<void> {
  const lines = readContainerLines(input);
  const first = await lines.next();
  if (first?.type !== "input") {
    throw new CommandFailed(2, "The first line on standard input must be a turn. See docs/container.md.");
  }
  const known = catalogueFrom(env, null);
  const found = await known.resolve(first.model ?? (await known.chosen()).name);
  if (!found.ok) throw new SettingError(`The model cannot be used: ${found.why}`);
  const write = (event: ContainerEvent) => void output.write(`${JSON.stringify(event)}\n`);
  const host = new PipeHost({ input: first, model: found.model, tools: TOOLS, lines, write });
  const end = await runAgent(host, { tools: TOOLS, limits: limitsOf(first) }, lines.ended);
  lines.close();
  const problem = problemOf(end);
  if (problem) write({ type: "error", retrying: false, ...problem });
}

function limitsOf({ limits: { steps, time_ms } }: ContainerInput): AgentLimits {
  return { steps, attempts: ATTEMPTS, timeMs: time_ms, toolMs: time_ms, usd: null };
}

function problemOf(
  end: AgentEnd,
): Pick<Extract<ContainerEvent, { type: "error" }>, "message" | "kind"> | null {
  switch (end.status) {
    case "answered":
    case "stopped":
      return null;
    case "failed":
      return {
        message: end.message.error ?? "the model gave no reason",
        kind: end.message.errorKind ?? "unknown",
      };
    case "refused":
      return { message: end.why, kind: "unknown" };
    case "too_long":
      return { message: end.why, kind: "overflow" };
    case "out_of_steps":
      return { message: "it took too many steps", kind: "unknown" };
    case "out_of_time":
      return { message: "it took too long", kind: "timeout" };
    case "out_of_money":
      return { message: "it cost too much", kind: "quota" };
  }
}

/** Lines from whoever runs us. */
export type IncomingLines = {
  /** The next one; null when there are no more. */
  next(): Promise<ContainerLine | null>;
  /** Fires when there are no more: nobody waits for an answer then. */
  ended: AbortSignal;
  /** Nothing more is read. */
  close(): void;
};

/** Read as they come, so that the end is noticed also while nobody asks for a line. */
function readContainerLines(input: Readable): IncomingLines {
  const over = new AbortController();
  const waiting: ((line: ContainerLine | null) => void)[] = [];
  const unread: ContainerLine[] = [];
  const reader = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const end = (): void => {
    over.abort();
    for (const give of waiting.splice(0)) give(null);
  };
  reader.on("line", (text) => {
    const line = parseLine(text);
    // Who speaks another language cannot be followed; that is the end of the conversation.
    if (!line) return reader.close();
    const give = waiting.shift();
    if (give) give(line);
    else unread.push(line);
  });
  reader.on("close", end);
  return {
    ended: over.signal,
    close: () => {
      reader.close();
      input.destroy();
    },
    next: async () => {
      const line = unread.shift();
      if (line) return line;
      if (over.signal.aborted) return null;
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

function parseLine(text: string): ContainerLine | null {
  try {
    const parsed = ContainerLine.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
