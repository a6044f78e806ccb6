import type {
  AgentHost,
  AgentLimits,
  ModelChoice,
  PreparedCall,
  Recorded,
  ToolUse,
  Verdict,
} from "../agent/host.js";
import { type AssistantMessage, type LLMMessage, ToolMessage, UserMessage } from "../message/index.js";
import type { Model, ModelDelta, ToolDefinition } from "../provider/codec.js";

export const LIMITS: AgentLimits = {
  steps: 10,
  attempts: 3,
  timeMs: 600_000,
  toolMs: 300_000,
  usd: null,
};
/** A sleep that is shorter is over at once; a longer one ends when a test says so. */
const LONG_MS = 100_000;

type Sleeper = { ms: number; wake: () => void };

/**
 * Whoever runs an agent, in memory: the conversation is a list, time stands still, and everything that was asked is
 * written down in order.
 */
export class MemoryHost implements AgentHost {
  readonly events: string[] = [];
  readonly messages: LLMMessage[] = [UserMessage.text("Good evening.", { id: "m1", timestamp: 1 })];
  readonly answers: { message: AssistantMessage; last: boolean }[] = [];
  readonly batches: { callId: string; uses: ToolUse[]; last: boolean }[] = [];
  readonly done: { index: number; use: ToolUse }[] = [];
  readonly deltas: ModelDelta[] = [];
  /** What people say meanwhile: joins at the next boundary. */
  readonly said: string[] = [];
  fallback: Model | null = null;
  tools: ToolDefinition[] = [];
  refusal: string | null = null;
  onToolDone: (index: number) => void = () => {};
  onDelta: () => void = () => {};
  onSleep: (ms: number) => void = () => {};
  private readonly sleepers = new Set<Sleeper>();
  private time = 1_000_000;
  private ids = 0;

  constructor(private readonly model: Model) {}

  async slot(choice: ModelChoice, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.events.push(`slot ${choice}`);
    return () => this.events.push("free");
  }

  async request(choice: ModelChoice) {
    const model = choice === "model" ? this.model : this.fallback;
    this.events.push(`request ${choice}`);
    const tools = this.tools.length > 0 ? { tools: this.tools } : {};
    return model ? { model, request: { messages: [...this.messages], ...tools } } : null;
  }

  async record({ attempt, model }: Omit<PreparedCall, "id">): Promise<Recorded> {
    this.events.push(`record ${model.id} attempt ${attempt}`);
    return this.refusal === null ? { ok: true, id: this.newId() } : { ok: false, why: this.refusal };
  }

  delta(_call: PreparedCall, delta: ModelDelta): void {
    this.deltas.push(delta);
    this.onDelta();
  }

  async answered(_call: PreparedCall, message: AssistantMessage, last: boolean): Promise<Verdict> {
    this.events.push(`answered ${message.stopReason}`);
    this.answers.push({ message, last });
    this.messages.push(message);
    return this.verdict(last);
  }

  async toolDone(_callId: string, index: number, use: ToolUse): Promise<void> {
    this.events.push(`tool ${index} done`);
    this.done.push({ index, use });
    this.onToolDone(index);
  }

  async toolsFinished(callId: string, uses: ToolUse[], last: boolean): Promise<Verdict> {
    this.events.push("tools finished");
    this.batches.push({ callId, uses, last });
    this.messages.push(
      ToolMessage.fromResults(
        uses.map(({ result }) => result),
        { id: this.newId(), timestamp: this.time },
      ),
    );
    return this.verdict(last);
  }

  toolContext(callId: string) {
    const now = () => this.time;
    return { chat_jid: "web:home", turn_id: "turn_1", call_id: callId, time_zone: "UTC", now };
  }

  now(): number {
    return this.time;
  }

  newId(): string {
    this.ids++;
    return `id${this.ids}`;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms < LONG_MS) {
      this.events.push(`sleep ${ms}`);
      this.time += ms;
      this.onSleep(ms);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const sleeper: Sleeper = { ms, wake: resolve };
      this.sleepers.add(sleeper);
      signal.addEventListener("abort", () => {
        this.sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  /** So much time passes: whoever slept that long or less wakes. */
  pass(ms: number): void {
    this.time += ms;
    for (const sleeper of this.sleepers) if (sleeper.ms <= ms) sleeper.wake();
  }

  /** Nobody left a clock ticking. */
  get sleeping(): number {
    return this.sleepers.size;
  }

  /** The words of the results of the last batch. */
  get results(): string[] {
    return this.batches.at(-1)?.uses.map(({ result }) => result.content) ?? [];
  }

  private verdict(last: boolean): Verdict {
    const joined = this.said.splice(0);
    for (const text of joined) {
      this.messages.push(UserMessage.text(text, { id: this.newId(), timestamp: this.time }));
    }
    if (joined.length > 0) return "joined";
    return last ? "end" : "go_on";
  }
}
