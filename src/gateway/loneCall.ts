import { type EncodedRequest, type Model, send } from "../agent/index.js";
import {
  type AssistantMessage,
  type CallEnvelope,
  type CallPurpose,
  type Chat,
  type LeftOut,
  Usage,
} from "../message/index.js";
import type { CommitResult, Expectation, Fact } from "../store/store.js";
import type { Hall } from "./hall.js";
import { expectCommitted } from "./lease.js";
import { blocksOf, endedCall, receiptFact } from "./receipts.js";
import { refusalOf, reserve, settleSpending, unpricedUnderBudget } from "./spending.js";

/** A call whose answer is no part of the chat: a summary, a replay. */
export type LoneCall = {
  chat: Chat;
  payer: string;
  model: Model;
  encoded: EncodedRequest;
  purpose: CallPurpose;
  /** The turn, or the work, in which it is found; null: none. */
  turnId: string | null;
  attempt: number;
  leftOut: LeftOut[];
  /** The longest answer the request asks for, where it says so. */
  maxTokens: number | null;
  /** More of what the receipt tells. */
  about?: Pick<CallEnvelope, "head" | "replay_of">;
  signal: AbortSignal;
  write(facts: Fact[], expect: Expectation[]): Promise<CommitResult>;
  /** Asked once the answer is there, before it is written; it may throw instead of having it written. */
  received?(message: AssistantMessage): void;
};

export type LoneCalled =
  | { made: true; call: CallEnvelope; message: AssistantMessage; retryAfterMs: number | null }
  /** A budget has no room for it. */
  | { made: false; why: string };

/** One call: its bytes are on a receipt before they leave, and its budget is put aside, like any turn's. */
export async function callAlone(hall: Hall, lone: LoneCall): Promise<LoneCalled> {
  const { chat, payer, model, encoded } = lone;
  const payment = { chat, payer, model };
  const unpriced = unpricedUnderBudget(hall, payment);
  if (unpriced) return { made: false, why: unpriced };
  const started = receiptFact(hall, {
    callId: hall.clock.newId(),
    chatJid: chat.jid,
    turnId: lone.turnId,
    purpose: lone.purpose,
    call: { attempt: lone.attempt, model, encoded },
    blocks: await blocksOf(hall, chat.jid, encoded),
    leftOut: lone.leftOut,
    previous: null,
    ...(lone.about ? { about: lone.about } : {}),
  });
  const { reservation, facts, expect } = reserve(hall, payment, encoded, lone.maxTokens);
  const result = await lone.write([started, ...facts], expect);
  if (result.status === "conflict" && result.expectation?.type === "budget") {
    return { made: false, why: refusalOf(hall, payment, result.expectation.account) };
  }
  expectCommitted(result);
  const { message, firstTokenAt, retryAfterMs } = await receive(hall, lone);
  lone.received?.(message);
  const call = endedCall(started.call, message, firstTokenAt, hall.clock.now());
  const usage = isUntold(message, firstTokenAt) ? null : message.usage;
  const ended: Fact = { type: "call_ended", call, leftovers: [] };
  expectCommitted(await lone.write([ended, ...settleSpending(reservation, usage)], []));
  return { made: true, call, message, retryAfterMs };
}

async function receive(hall: Hall, { model, encoded, signal }: LoneCall) {
  const stream = send(model, encoded, {
    signal,
    ...(hall.fetch ? { fetch: hall.fetch } : {}),
    now: () => hall.clock.now(),
    newId: () => hall.clock.newId(),
  });
  let firstTokenAt: number | null = null;
  for await (const event of stream) {
    if (event.type === "done") {
      return { message: event.message, retryAfterMs: event.retryAfterMs, firstTokenAt };
    }
    firstTokenAt ??= hall.clock.now();
  }
  throw new Error("the model's stream ended without its last event");
}

/** Did the model work, and nobody said for how much? Then what was put aside is spent. */
function isUntold({ usage, stopReason }: AssistantMessage, firstTokenAt: number | null): boolean {
  return Usage.contextSize(usage) === 0 && (firstTokenAt !== null || stopReason === "aborted");
}
