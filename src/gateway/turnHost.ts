import type { AgentHost, ModelDelta, PreparedCall, ToolContext, ToolUse } from "../agent/index.js";
import type { PathEntry } from "../context/index.js";
import {
  type AssistantMessage,
  type CallEnvelope,
  type LeftOut,
  rowOfToolResult,
  rowsOfAssistant,
  Usage,
} from "../message/index.js";
import type { CommitResult, Expectation, Fact, NewMessage } from "../store/store.js";
import { deliveriesOf, platformThread } from "./broadcast.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { blocksOf, endedCall, type PreviousRequest, receiptFact } from "./receipts.js";
import { newRow } from "./rows.js";
import { chainEntries } from "./take.js";
import {
  expectCommitted,
  headMoved,
  headOf,
  Interrupted,
  leaseOf,
  outcomeFact,
  StopRequested,
  type TurnState,
} from "./turnState.js";
import { hostRowsSince, readWindow, requestOf } from "./window.js";

/** What the agent asks of the gateway, for one turn: every answer of it is durable before the agent goes on. */
export class TurnHost implements AgentHost {
  private leftOut: LeftOut[] = [];
  private hostRows: LeftOut[] | null = null;
  private previous: PreviousRequest | null = null;
  private started: CallEnvelope | null = null;
  private firstTokenAt: number | null = null;
  private usage: Usage | null = null;
  private saving: Promise<void> = Promise.resolve();
  private isSaving = false;
  private stopSaving: (() => void) | null = null;

  constructor(
    private readonly hall: Hall,
    private readonly state: TurnState,
  ) {}

  async request() {
    const { hall, state } = this;
    const window = await readWindow(hall, state.chat, state.head);
    this.hostRows ??= await hostRowsSince(hall, state.chat.jid, lastTurnEnd(state, window.path));
    const { request, leftOut } = requestOf(hall, state.chat, window, state.notices);
    this.leftOut = [...leftOut, ...this.hostRows];
    return { model: state.model, request };
  }

  async record(call: Omit<PreparedCall, "id">): Promise<string> {
    const { hall, state } = this;
    const callId = hall.clock.newId();
    this.previous ??= await this.lastRequest();
    const blocks = await blocksOf(hall, state.chat.jid, call.encoded);
    const fact = receiptFact(hall, {
      callId,
      chatJid: state.chat.jid,
      turnId: state.turn.id,
      call,
      blocks,
      leftOut: [...this.leftOut, ...call.encoded.leftOut],
      previous: this.previous,
    });
    await this.write([fact]);
    this.previous = { callId, blocks };
    this.started = fact.call;
    this.firstTokenAt = null;
    hall.live.begin(state.chat.jid, state.turn.id, callId);
    this.stopSaving = hall.clock.every(hall.limits.saveEveryMs, () => this.savePartial(callId));
    return callId;
  }

  delta(call: PreparedCall, delta: ModelDelta): void {
    this.firstTokenAt ??= this.hall.clock.now();
    if (delta.type === "tool_call") return;
    this.hall.live.push({
      chat_jid: this.state.chat.jid,
      turn_id: this.state.turn.id,
      call_id: call.id,
      part: delta.part,
      kind: delta.type,
      delta: delta.delta,
    });
  }

  async answered(call: PreparedCall, message: AssistantMessage, final: boolean): Promise<void> {
    const { hall, state, started } = this;
    if (!started) throw new Error("an answer came before its call was recorded");
    // Nobody asked for this stop: whoever goes on with the turn closes the call as after a crash, and answers once.
    if (message.stopReason === "aborted" && !(state.signal.reason instanceof StopRequested)) {
      throw new Interrupted("the server is going down, or lost its lease");
    }
    await this.endSaving();
    this.usage = this.usage ? Usage.add(this.usage, message.usage) : message.usage;
    const envelope = endedCall(started, message, this.firstTokenAt, hall.clock.now());
    const answer = rowsOfAssistant(message, {
      chat_jid: state.chat.jid,
      turn_id: state.turn.id,
      call_id: call.id,
      assistant_name: state.chat.assistant_name,
    });
    const cut = message.stopReason === "error" || message.stopReason === "aborted" ? { cut: true } : {};
    const rows = answer.rows.map((row) => newRow({ ...row, metadata: { ...row.metadata, ...cut } }));
    const failed = envelope.status !== "ok" && envelope.status !== "aborted";
    const ended: Fact = { type: "call_ended", call: envelope, leftovers: answer.leftovers };
    const deliveries = failed ? [] : rows.flatMap((row) => this.deliveries(row));
    await this.append(rows, [ended, ...deliveries], final);
    hall.live.end(call.id);
  }

  async toolsFinished(call: PreparedCall, batch: ToolUse[], final: boolean): Promise<void> {
    const { hall, state } = this;
    const rows = batch.map(({ wanted, result }, index) =>
      newRow(
        rowOfToolResult(result, {
          id: hall.clock.newId(),
          chat_jid: state.chat.jid,
          turn_id: state.turn.id,
          call_id: call.id,
          tool_name: wanted.name,
          part: index,
          timestamp: hall.clock.now(),
        }),
      ),
    );
    const deliveries = rows.flatMap((row) => this.deliveries(row));
    await this.append(rows, deliveries, final);
  }

  toolContext(call: PreparedCall): ToolContext {
    const { chat, turn } = this.state;
    return {
      chat_jid: chat.jid,
      turn_id: turn.id,
      call_id: call.id,
      time_zone: chat.time_zone,
      now: () => this.hall.clock.now(),
      signal: this.state.signal,
    };
  }

  now(): number {
    return this.hall.clock.now();
  }

  newId(): string {
    return this.hall.clock.newId();
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.hall.clock.sleep(ms, signal);
  }

  /** The turn ends otherwise than with an answer. */
  async finish(outcome: "stopped" | "failed", reason: string, news: Fact[]): Promise<void> {
    expectCommitted(await this.settle([...news, ...this.ending(outcome, reason)], []));
  }

  /** Nothing of this turn streams or is being saved any more, however it ended. */
  async close(): Promise<void> {
    await this.endSaving();
    if (this.started) this.hall.live.end(this.started.id);
  }

  /**
   * Rows go on the tree together with what belongs to them. An extension's note may have moved the head meanwhile:
   * then they go behind it.
   */
  private async append(rows: readonly NewMessage[], more: readonly Fact[], final: boolean): Promise<void> {
    const { hall, state } = this;
    const ending = final ? this.ending("answered", this.state.why) : [];
    for (;;) {
      const chain = chainEntries(hall, state, rows);
      const facts = [...chain.facts, ...more, ...ending];
      const head = headOf(state);
      const result = final ? await this.settle(facts, [head]) : await this.commit(facts, [head]);
      if (!headMoved(result)) {
        expectCommitted(result);
        state.head = chain.head;
        return;
      }
      state.head = await hall.store.read.head(state.chat.jid, state.turn.thread_id);
    }
  }

  private ending(outcome: "answered" | "stopped" | "failed", reason: string): Fact[] {
    const { hall, state } = this;
    const status = outcome === "answered" ? "ended" : outcome;
    const at = iso(hall.clock.now());
    return [
      ...(this.usage ? [{ type: "message", message: this.resultMeta(this.usage) } as Fact] : []),
      outcomeFact(hall, state.trigger, outcome, reason, state.turn.id),
      { type: "turn_ended", turn_id: state.turn.id, chat_jid: state.chat.jid, status, at },
    ];
  }

  private resultMeta(usage: Usage): NewMessage {
    const { hall, state } = this;
    const duration = hall.clock.now() - Date.parse(state.turn.started_at);
    const money = usage.cost === null ? "cost unknown" : `$${usage.cost.total.toFixed(4)}`;
    const tokensIn = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
    const seconds = (duration / 1000).toFixed(1);
    return newRow({
      id: hall.clock.newId(),
      chat_jid: state.chat.jid,
      sender: "result_meta",
      sender_name: "result_meta",
      content: `${tokensIn} tokens in, ${usage.outputTokens} out · ${money} · ${seconds} s`,
      timestamp: iso(hall.clock.now()),
      message_type: "host",
      metadata: { usage, duration_ms: duration },
      turn_id: state.turn.id,
    });
  }

  private deliveries(row: NewMessage): Fact[] {
    const { chat, trigger } = this.state;
    return deliveriesOf(row, chat, null, platformThread(trigger), this.hall.clock);
  }

  private async lastRequest(): Promise<PreviousRequest | null> {
    const { hall, state } = this;
    const callId = await hall.store.read.lastCall(state.chat.jid, state.turn.thread_id);
    const request = callId && (await hall.store.read.request(callId));
    return request ? { callId, blocks: request.blocks } : null;
  }

  private savePartial(callId: string): void {
    const parts = this.hall.live.parts(callId);
    if (parts.length === 0 || this.isSaving) return;
    this.isSaving = true;
    this.saving = this.write([{ type: "call_partial", call_id: callId, parts }])
      .catch((error) => this.hall.log("warn", "partial.not_saved", { call: callId, why: String(error) }))
      .finally(() => {
        this.isSaving = false;
      });
  }

  private async endSaving(): Promise<void> {
    this.stopSaving?.();
    this.stopSaving = null;
    await this.saving;
  }

  private async write(facts: Fact[]): Promise<void> {
    expectCommitted(await this.commit(facts, []));
  }

  private commit(facts: Fact[], expect: Expectation[]): Promise<CommitResult> {
    return this.hall.store.commit({ expect: [leaseOf(this.state.claim), ...expect], facts });
  }

  private settle(facts: Fact[], expect: Expectation[]): Promise<CommitResult> {
    const { claim, work, release } = this.state;
    const { lane, fence } = claim;
    return this.hall.store.settle({
      lease: { lane, fence },
      done: [work.id],
      later: [],
      release,
      expect,
      facts,
    });
  }
}

/** When the thread was last spoken in before this turn. */
function lastTurnEnd(state: TurnState, path: readonly PathEntry[]): string | null {
  return path.findLast((entry) => entry.turn_id !== state.turn.id)?.at ?? null;
}
