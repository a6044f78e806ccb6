import {
  type AssistantMessage,
  type LLMMessage,
  newId,
  type ToolCallContent,
  ToolMessage,
  type ToolResultContent,
  UserMessage,
} from "../message/index.js";
import type { EncodedRequest, Model, ModelDelta, ModelRequest } from "../provider/codec.js";

type Use = { wanted: ToolCallContent; result: ToolResultContent };
type Call = { id: string; attempt: number; model: Model; encoded: EncodedRequest };
type Verdict = "end" | "go_on" | "joined";

/** Whoever runs an agent, in memory: it keeps what the agent hands in, and lets people say things at boundaries. */
export class RecordingHost {
  readonly messages: LLMMessage[];
  readonly calls: Call[] = [];
  readonly answers: { callId: string; message: AssistantMessage; last: boolean }[] = [];
  readonly batches: { callId: string; batch: Use[]; last: boolean }[] = [];
  readonly done: { index: number; use: Use }[] = [];
  readonly deltas: ModelDelta[] = [];
  /** What is said at each boundary to come; null: nothing. */
  joins: (string | null)[] = [];
  /** The call with this number is refused. */
  refuseAt = Number.POSITIVE_INFINITY;
  /** The model to turn to when the first one fails. */
  fallback: Model | null = null;
  onDelta: (delta: ModelDelta) => void = () => {};
  private readonly sleepers = new Set<{ ms: number; wake: () => void }>();
  private skipped = 0;

  constructor(
    private readonly model: Model,
    said: readonly (string | LLMMessage)[],
    private readonly request_: Partial<ModelRequest> = {},
  ) {
    this.messages = said.map((one) => (typeof one === "string" ? UserMessage.text(one) : one));
  }

  async slot() {
    return () => {};
  }

  async request(choice: "model" | "fallback" = "model") {
    const model = choice === "model" ? this.model : (this.fallback ?? this.model);
    const about = { chat_jid: "home", turn_id: "turn-1", assistant_name: "Longhand", time_zone: "UTC" };
    return { model, request: { messages: [...this.messages], about, ...this.request_ } };
  }

  async record(call: Omit<Call, "id">) {
    if (this.calls.length + 1 >= this.refuseAt) return { ok: false as const, why: "the budget is spent" };
    const id = `call-${this.calls.length + 1}`;
    this.calls.push({ ...call, id });
    return { ok: true as const, id };
  }

  delta(_call: Call, delta: ModelDelta): void {
    this.deltas.push(delta);
    this.onDelta(delta);
  }

  async answered(call: Call, message: AssistantMessage, last: boolean): Promise<Verdict> {
    this.answers.push({ callId: call.id, message, last });
    if (message.stopReason !== "error") this.messages.push(message);
    return last ? this.boundary(true) : "go_on";
  }

  async toolDone(_callId: string, index: number, use: Use): Promise<void> {
    this.done.push({ index, use });
  }

  async toolsFinished(callId: string, batch: Use[], last: boolean): Promise<Verdict> {
    this.batches.push({ callId, batch, last });
    this.messages.push(ToolMessage.fromResults(batch.map(({ result }) => result)));
    return this.boundary(last);
  }

  toolContext(callId: string) {
    const now = () => this.now();
    return { chat_jid: "home", turn_id: "turn-1", call_id: callId, time_zone: "UTC", now };
  }

  now(): number {
    return Date.now() + this.skipped;
  }

  newId(): string {
    return newId();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wake = (): void => {
        clearTimeout(timer);
        this.sleepers.delete(sleeper);
        resolve();
      };
      const sleeper = { ms, wake };
      const timer = setTimeout(wake, ms);
      this.sleepers.add(sleeper);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  /** So much time is over at once: whoever wanted to sleep no longer than that wakes. */
  skip(ms: number): void {
    this.skipped += ms;
    for (const { ms: wanted, wake } of this.sleepers) if (wanted <= ms) wake();
  }

  /** The bytes that crossed, call by call. */
  bodies(): string[] {
    return this.calls.map(({ encoded }) => encoded.body);
  }

  private boundary(last: boolean): Verdict {
    const said = this.joins.shift();
    if (!said) return last ? "end" : "go_on";
    this.messages.push(UserMessage.text(said));
    return "joined";
  }
}
