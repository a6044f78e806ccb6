import type {
  AgentHost,
  ModelChoice,
  ModelDelta,
  PreparedCall,
  Recorded,
  ToolContext,
  ToolUse,
  Verdict,
} from "../agent/index.js";
import type { PathEntry } from "../context/index.js";
import {
  type AssistantMessage,
  type CallEnvelope,
  type Chat,
  type LeftOut,
  rowOfToolResult,
  rowsOfAssistant,
  type ToolResultContent,
  Usage,
} from "../message/index.js";
import type { CommitResult, Expectation, Fact, NewMessage, RequestBlock, Store } from "../store/store.js";
import { isPrepared } from "./attachments.js";
import { deliveriesOf, platformThread } from "./broadcast.js";
import { slotOf } from "./callSlots.js";
import { type Fitted, fitRequest, nextRequest, summarisersOf } from "./fit.js";
import type { Hall } from "./hall.js";
import { memoryOf } from "./encodeMemories.js";
import { expectCommitted, Interrupted, isOvertaken, leaseOf } from "./lease.js";
import { Partials } from "./partials.js";
import { withPeople } from "./people.js";
import { isExpired, isTooOld, steering } from "./placement.js";
import { blocksOf, endedCall, type PreviousRequest, receiptFact } from "./receipts.js";
import { newRow } from "./rows.js";
import {
  lowBudgets,
  type Reservation,
  refusalOf,
  reserve,
  settleSpending,
  unpricedUnderBudget,
} from "./spending.js";
import { chainEntries, takeForTurn } from "./take.js";
import { withSeenMedia } from "./toolMedia.js";
import { type Ending, endingFacts } from "./turnEnd.js";
import { headOf, isTakenOver, type Member, type TurnState } from "./turnState.js";
import type { TurnWatch } from "./turnWatch.js";
import { type AnswerPiece, memberOf, waitingPieces } from "./waiting.js";
import { hostRowsSince } from "./window.js";

/** A turn that people keep talking into comes to an end all the same; what is said after that is the next turn. */
const MOST_JOINED_AFTER_ANSWERS = 8;

/** What the agent asks of the gateway, for one turn: every answer of it is durable before the agent goes on. */
export class TurnHost implements AgentHost {
  private leftOut: LeftOut[] = [];
  private hostRows: LeftOut[] | null = null;
  private previous: PreviousRequest | null = null;
  private started: CallEnvelope | null = null;
  private reservation: Reservation | null = null;
  private firstTokenAt: number | null = null;
  private joinedAfterAnswers = 0;
  /** What `fit` has made ready for the next `request`. */
  private fitted: Fitted | null = null;
  /** Has the model said of this call that it is too long? */
  private refused: "no" | "must_shrink" | "shrunk" = "no";
  private cannotShrink = false;
  private readonly partials: Partials;

  constructor(
    private readonly hall: Hall,
    private readonly state: TurnState,
    private readonly watch: TurnWatch,
    /** What the turn has used; of one that goes on after a crash, from before it too. */
    private usage: Usage | null,
  ) {
    this.partials = new Partials(hall, (facts) => this.write(facts));
  }

  slot(choice: ModelChoice, signal: AbortSignal): Promise<() => void> {
    const model = this.modelOf(choice) ?? this.state.model;
    return this.hall.slots.enter(slotOf(model), this.state.chat.jid, signal);
  }

  async fit(choice: ModelChoice, signal: AbortSignal): Promise<string | null> {
    const { hall, state } = this;
    const model = this.modelOf(choice);
    if (!model) return null;
    state.chat = await this.chatNow();
    const result = await fitRequest(hall, state, {
      model,
      summarisers: summarisersOf(state, model),
      refused: this.refused === "must_shrink",
      failedBefore: this.cannotShrink,
      signal,
    });
    for (const used of result.usage) this.usage = this.usage ? Usage.add(this.usage, used) : used;
    if (!result.ok) return result.why;
    if (this.refused === "must_shrink") this.refused = "shrunk";
    this.cannotShrink ||= result.failed;
    this.fitted = result.fitted;
    return null;
  }

  mayShrink(): boolean {
    if (this.refused !== "no") return false;
    this.refused = "must_shrink";
    return true;
  }

  async request(choice: ModelChoice) {
    const { hall, state } = this;
    const model = this.modelOf(choice);
    if (!model) return null;
    if (!this.fitted) state.chat = await this.chatNow();
    const fitted = this.fitted ?? (await nextRequest(hall, state));
    this.fitted = null;
    const { window, request, leftOut } = fitted;
    this.hostRows ??= await hostRowsSince(hall, state.chat.jid, lastTurnEnd(state, window.path));
    this.leftOut = [...leftOut, ...state.noticesMissing, ...this.hostRows];
    return { model, request, memory: memoryOf(hall, state.chat.jid, state.turn.thread_id) };
  }

  async record(call: Omit<PreparedCall, "id">): Promise<Recorded> {
    const { hall, state } = this;
    const payment = { chat: state.chat, payer: state.payer, model: call.model };
    const unpriced = unpricedUnderBudget(hall, payment);
    if (unpriced) return { ok: false, why: unpriced };
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
      // What only goes on from the call before it is compared with nothing.
      previous: call.encoded.follows ? null : this.previous,
      about: { head: state.head },
    });
    const { reservation, facts, expect } = reserve(hall, payment, call.encoded);
    const result = await this.commitReceipt({ fact, blocks, facts, expect });
    if (result.status === "conflict" && result.expectation?.type === "budget") {
      return { ok: false, why: refusalOf(hall, payment, result.expectation.account) };
    }
    expectCommitted(result);
    if (!call.encoded.follows) this.previous = { call: fact.call, blocks };
    this.started = fact.call;
    this.reservation = reservation;
    this.firstTokenAt = null;
    this.note("call.started", callId, { model: call.model.id, attempt: call.attempt });
    hall.live.begin(state.chat.jid, state.turn.id, callId);
    this.partials.begin(callId);
    return { ok: true, id: callId };
  }

  /** The request it extends may have expired since it was read: then the receipt stands alone. */
  private async commitReceipt(receipt: {
    fact: ReturnType<typeof receiptFact>;
    blocks: RequestBlock[];
    facts: Fact[];
    expect: Expectation[];
  }): Promise<CommitResult> {
    const { fact, blocks, facts, expect } = receipt;
    const result = await this.commit([fact, ...facts], expect);
    const { base } = fact.request;
    if (result.status !== "conflict" || result.expectation !== null || base === null) return result;
    if (await this.hall.store.read.request(base.call_id)) return result;
    const alone = { ...fact, request: { ...fact.request, base: null, blocks } };
    return this.commit([alone, ...facts], expect);
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

  async answered(call: PreparedCall, message: AssistantMessage, last: boolean): Promise<Verdict> {
    const { hall, state, started } = this;
    if (!started) throw new Error("an answer came before its call was recorded");
    await this.partials.end();
    if (message.stopReason !== "error") this.refused = "no";
    // Nobody asked for this stop: whoever goes on with the turn closes the call as after a crash, and answers once.
    if (message.stopReason === "aborted" && isTakenOver(state.signal)) throw takenOver();
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
    const deliveries = failed || (last && this.isLate()) ? [] : rows.flatMap((row) => this.deliveries(row));
    const facts = [ended, ...deliveries, ...(await this.paid(call, message))];
    // Between a tool call and its result nobody joins.
    const verdict = await this.close(rows, facts, { last, mayJoin: last });
    this.note("call.ended", call.id, { status: envelope.status });
    hall.live.end(call.id);
    // A container's tools are its own, whatever they are called.
    const tools = call.model.api === "container" ? [] : hall.tools;
    if (!last && envelope.status === "ok") this.watch.enterTools(rows, tools);
    return verdict;
  }

  async toolDone(callId: string, index: number, use: ToolUse): Promise<void> {
    if (isTakenOver(this.state.signal)) throw takenOver();
    const { content, metadata } = this.resultRow(callId, index, use);
    await this.write([{ type: "tool_done", call_id: callId, index, result: { content, metadata } }]);
  }

  async toolsFinished(callId: string, batch: ToolUse[], last: boolean): Promise<Verdict> {
    if (isTakenOver(this.state.signal)) throw takenOver();
    const rows = batch.map((use, index) => newRow(this.resultRow(callId, index, use)));
    const written: Fact = { type: "tools_written", call_id: callId };
    const deliveries = rows.flatMap((row) => this.deliveries(row));
    const verdict = await this.close(rows, [written, ...deliveries], { last, mayJoin: true });
    this.watch.leaveTools();
    return verdict;
  }

  private resultRow(callId: string, index: number, { wanted, result }: ToolUse) {
    const { hall, state } = this;
    return rowOfToolResult(result, {
      id: hall.clock.newId(),
      chat_jid: state.chat.jid,
      turn_id: state.turn.id,
      call_id: callId,
      tool_name: wanted.name,
      part: index,
      timestamp: hall.clock.now(),
    });
  }

  shown(result: ToolResultContent): Promise<ToolResultContent> {
    return withSeenMedia(this.hall.media, this.state.chat.jid, result);
  }

  toolContext(callId: string): Omit<ToolContext, "signal"> {
    const { chat, turn } = this.state;
    return {
      chat_jid: chat.jid,
      turn_id: turn.id,
      call_id: callId,
      time_zone: chat.time_zone,
      now: () => this.hall.clock.now(),
    };
  }

  get fetch() {
    return this.hall.fetch;
  }

  chance(): number {
    return this.hall.chance();
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
  async finish(ending: Ending, news: Fact[]): Promise<void> {
    const asked = ending.outcome === "stopped" ? this.watch.stopping : { done: [], facts: [] };
    const facts = [...news, ...this.ending(ending), ...asked.facts];
    expectCommitted(await this.settle(facts, [], asked.done));
  }

  /** Nothing of this turn streams or is being saved any more, however it ended. */
  async end(): Promise<void> {
    await this.partials.end();
    if (this.started) this.hall.live.end(this.started.id);
  }

  /** Write what a boundary brought, and let join who waits to; the turn ends here if nobody does and it was the last. */
  private async close(
    rows: readonly NewMessage[],
    facts: readonly Fact[],
    { last, mayJoin }: { last: boolean; mayJoin: boolean },
  ): Promise<Verdict> {
    const pieces = mayJoin && !this.state.signal.aborted ? await this.joining(last) : [];
    const joined = pieces.map(memberOf);
    const answered = last ? this.state.members.length : this.state.answered;
    await this.append(rows, facts, joined, last && joined.length === 0);
    this.state.answered = answered;
    if (joined.length > 0) return "joined";
    return last ? "end" : "go_on";
  }

  /** The chat with who may speak in it and be read as of now; the rest stays as it was when the turn began. */
  private async chatNow(): Promise<Chat> {
    const { hall, state } = this;
    const registered = await hall.chats.byJid(state.chat.jid);
    if (!registered) return state.chat;
    const { allow, read } = await withPeople(hall, registered);
    return { ...state.chat, allow, read };
  }

  /** The messages that join the turn at this boundary. */
  private async joining(last: boolean): Promise<AnswerPiece[]> {
    const { hall, state } = this;
    if (last && this.joinedAfterAnswers >= MOST_JOINED_AFTER_ANSWERS) return [];
    const members = new Set(state.members.map(({ work }) => work.id));
    state.chat = await this.chatNow();
    const waiting = await waitingPieces(hall, state.chat, state.claim.lane, members);
    const now = hall.clock.now();
    const pieces = steering(waiting, state.chat).filter(
      (piece) => isPrepared(piece.asked.message) && !isExpired(piece, state.chat, now),
    );
    if (last && pieces.length > 0) this.joinedAfterAnswers++;
    return pieces;
  }

  /**
   * Rows go on the tree together with what belongs to them and, behind them, the messages that join: a crash between
   * the two would leave an answer that looks as if nobody had been answered. An extension's note may have moved the
   * head meanwhile: then they go behind it.
   */
  private async append(
    rows: readonly NewMessage[],
    more: readonly Fact[],
    joined: readonly Member[],
    final: boolean,
  ): Promise<void> {
    const { hall, state } = this;
    const ending = final
      ? this.ending(this.isLate() ? TOO_LATE : { outcome: "answered", reason: state.why })
      : [];
    for (let tries = 0; ; tries++) {
      const chain = chainEntries(hall, state, rows);
      const place = { ...state, head: chain.head };
      const taking =
        joined.length > 0
          ? await takeForTurn(hall, place, joined, {
              spokenAt: rows.at(-1)?.timestamp,
              path: state.head,
              prepares: false,
            })
          : null;
      const facts = [...chain.facts, ...more, ...(taking?.facts ?? []), ...ending];
      const head = headOf(state);
      const result = final ? await this.settle(facts, [head], []) : await this.commit(facts, [head]);
      if (!isOvertaken(result, tries)) {
        expectCommitted(result);
        state.head = taking?.head ?? chain.head;
        state.members.push(...joined);
        return;
      }
      state.head = await hall.store.read.head(state.chat.jid, state.turn.thread_id);
    }
  }

  /** What a call cost, in place of what was put aside for it, and word to people when a budget runs low. */
  private async paid(call: PreparedCall, message: AssistantMessage): Promise<Fact[]> {
    const { hall, state, reservation } = this;
    if (!reservation) return [];
    this.reservation = null;
    const usage = this.isUntold(call, message) ? null : message.usage;
    const payment = { chat: state.chat, payer: state.payer, model: call.model };
    for (const { says, expect, fact } of await lowBudgets(hall, payment, reservation, usage)) {
      const thread = platformThread(state.trigger);
      const news = hall.hostMessages.facts(state.chat, says, {}, state.turn.id, thread);
      const result = await this.commit([fact, ...news], [expect]);
      // Somebody else's call told people in this very moment.
      if (result.status !== "conflict") expectCommitted(result);
    }
    return settleSpending(reservation, usage);
  }

  /**
   * Did the model work, and nobody said for how much? Then what was put aside stays spent: a call that is stopped in the
   * middle is paid for all the same, and stopping each would make every budget endless.
   */
  private isUntold({ model }: PreparedCall, { usage, stopReason }: AssistantMessage): boolean {
    if (model.api === "container" || Usage.contextSize(usage) > 0) return false;
    return stopReason === "aborted" || this.firstTokenAt !== null;
  }

  private note(event: string, callId: string, more: Record<string, string | number>): void {
    const { chat, turn, trigger } = this.state;
    this.hall.log("info", event, { chat: chat.jid, turn: turn.id, call: callId, trace: trigger.id, ...more });
  }

  /** Is the answer older than the chat wants one to be? Nobody is sent it then; it stays in the chat. */
  private isLate(): boolean {
    const { chat, members } = this.state;
    const newest = Math.max(...members.map(({ receivedAt }) => receivedAt));
    return isTooOld(newest, chat, this.hall.clock.now());
  }

  private modelOf(choice: ModelChoice) {
    return choice === "model" ? this.state.model : this.state.fallback;
  }

  private ending(ending: Ending): Fact[] {
    return endingFacts(this.hall, this.state, ending, this.usage);
  }

  private deliveries(row: NewMessage): Fact[] {
    const { chat, trigger } = this.state;
    return deliveriesOf(row, chat, null, platformThread(trigger), this.hall.clock);
  }

  private async lastRequest(): Promise<PreviousRequest | null> {
    const { hall, state } = this;
    const { read } = hall.store;
    const lastId = await read.lastCall(state.chat.jid, state.turn.thread_id);
    const call = lastId && (await firstLine(read, lastId));
    const request = call && (await read.request(call.id));
    return request ? { call, blocks: request.blocks } : null;
  }

  private async write(facts: Fact[]): Promise<void> {
    expectCommitted(await this.commit(facts, []));
  }

  private commit(facts: Fact[], expect: Expectation[]): Promise<CommitResult> {
    return this.hall.store.commit({ expect: [leaseOf(this.state.claim), ...expect], facts });
  }

  private settle(facts: Fact[], expect: Expectation[], alsoDone: readonly string[]): Promise<CommitResult> {
    const { claim, members } = this.state;
    const { lane, fence } = claim;
    return this.hall.store.settle({
      lease: { lane, fence },
      done: [...members.map(({ work }) => work.id), ...alsoDone],
      later: [],
      release: true,
      expect,
      facts,
    });
  }
}

const TOO_LATE: Ending = { outcome: "expired", reason: "the answer came too late to be sent" };

/** Of what was said to a container, the line that holds the whole conversation: the first of its turn. */
async function firstLine(read: Store["read"], callId: string): Promise<CallEnvelope | null> {
  const call = await read.call(callId);
  if (call?.api !== "container" || call.turn_id === null) return call;
  const [first] = await read.calls({
    chat_jid: call.chat_jid,
    turn_id: call.turn_id,
    after: null,
    limit: 1,
  });
  return first ?? call;
}

function takenOver(): Interrupted {
  return new Interrupted("the server is going down, or lost its lease");
}

/** When the thread was last spoken in before this turn. */
function lastTurnEnd(state: TurnState, path: readonly PathEntry[]): string | null {
  return path.findLast((entry) => entry.turn_id !== state.turn.id)?.at ?? null;
}
