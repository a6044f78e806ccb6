import {
  type ContainerEvent,
  type ContainerInput,
  type ContainerMessage,
  usageTold,
} from "../../agent/containerProtocol.js";
import {
  type AgentHost,
  definitionOf,
  type ModelChoice,
  type PreparedCall,
  type Recorded,
  type Tool,
  type ToolUse,
  type Verdict,
} from "../../agent/index.js";
import {
  AssistantMessage,
  type LLMMessage,
  newId,
  parseMessages,
  project,
  type SystemPart,
  ToolMessage,
} from "../../message/index.js";
import type { Model, ModelDelta, ModelRequest } from "../../provider/codec.js";
import type { IncomingLines } from "./agent.js";

type Given = {
  input: ContainerInput;
  model: Model;
  tools: readonly Tool[];
  lines: IncomingLines;
  write(event: ContainerEvent): void;
};

/** What the built-in agent asks of whoever runs it, where that is at the other end of a pipe. */
export class PipeHost implements AgentHost {
  private readonly messages: LLMMessage[];
  private readonly toldResults = new Set<string>();
  /** A failed try is told when it is known that another one follows. */
  private failed: AssistantMessage | null = null;

  constructor(private readonly given: Given) {
    this.messages = messagesFrom(given.input.messages);
  }

  async slot(): Promise<() => void> {
    return () => {};
  }

  async request(choice: ModelChoice): Promise<{ model: Model; request: ModelRequest } | null> {
    if (choice === "fallback") return null;
    const { input, model, tools } = this.given;
    const system: SystemPart[] = [
      { kind: "system", text: input.system, sources: [] },
      ...input.system_notices.map((text): SystemPart => ({ kind: "notice", text, sources: [] })),
    ];
    return { model, request: { system, messages: [...this.messages], tools: tools.map(definitionOf) } };
  }

  async record(): Promise<Recorded> {
    if (this.failed) {
      const { error = "the model gave no reason", errorKind = "unknown" } = this.failed;
      this.failed = null;
      this.given.write({ type: "error", message: error, kind: errorKind, retrying: true });
      if ((await this.hear()) === "end") return { ok: false, why: "nobody waits for the answer" };
    }
    return { ok: true, id: newId() };
  }

  delta(_call: PreparedCall, delta: ModelDelta): void {
    if (delta.type !== "tool_call") this.given.write({ type: delta.type, delta: delta.delta });
  }

  async answered(_call: PreparedCall, message: AssistantMessage, last: boolean): Promise<Verdict> {
    const { write } = this.given;
    write({ type: "usage", usage: usageTold(message.usage) });
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      this.failed = message;
      return "end";
    }
    this.messages.push(message);
    if (last) {
      const { stopReason } = message;
      const stop_reason = stopReason === "length" || stopReason === "refusal" ? stopReason : "stop";
      write({ type: "result", stop_reason });
      return this.hear();
    }
    for (const { id, name, args } of AssistantMessage.toolCalls(message)) {
      write({ type: "tool_use", id, name, args });
    }
    write({ type: "run_tools" });
    // Without an answer nothing runs: the end of the input stops the run.
    await this.given.lines.next();
    return "go_on";
  }

  async toolDone(_callId: string, _index: number, use: ToolUse): Promise<void> {
    this.tell(use);
  }

  async toolsFinished(_callId: string, batch: ToolUse[]): Promise<Verdict> {
    for (const use of batch) if (!this.toldResults.has(use.result.id)) this.tell(use);
    this.toldResults.clear();
    this.messages.push(ToolMessage.fromResults(batch.map(({ result }) => result)));
    return this.hear();
  }

  toolContext(callId: string) {
    const { chat_jid, turn_id, time_zone } = this.given.input;
    return { chat_jid, turn_id, call_id: callId, time_zone, now: () => this.now() };
  }

  now(): number {
    return Date.now();
  }

  newId(): string {
    return newId();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  private tell({ result: { id, content, isError, terminate } }: ToolUse): void {
    this.toldResults.add(id);
    this.given.write({ type: "tool_result", id, content, is_error: isError, terminate });
  }

  /** The one line that answers what was just said. */
  private async hear(): Promise<Verdict> {
    const line = await this.given.lines.next();
    if (line?.type === "continue") return "go_on";
    if (line?.type !== "steer") return "end";
    this.messages.push(...messagesFrom(line.messages));
    return "joined";
  }
}

/** Parsed once more, as every message from outside is: media are looked at, and no file of ours can be named. */
function messagesFrom(given: readonly ContainerMessage[]): LLMMessage[] {
  const parsed = parseMessages(given, { from: "outside" });
  if (!parsed.ok)
    throw new TypeError(parsed.errors.map(({ path, reason }) => `${path}: ${reason}`).join("; "));
  return parsed.messages.flatMap((message) => project(message) ?? []);
}
