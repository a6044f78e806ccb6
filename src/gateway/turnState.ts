import type { Model } from "../agent/index.js";
import type { Notice } from "../context/index.js";
import type { Chat, MessageRow, TerminalOutcome } from "../message/index.js";
import type { Claim, CommitResult, Fact, Turn, Work } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** Somebody else holds the lane by now: whatever we know is old, and we must not write. */
export class Fenced extends Error {
  override name = "Fenced";
}

/** A person asked the running turn to end. */
export class StopRequested extends Error {
  override name = "StopRequested";
}

/** The turn ends here without an outcome: whoever claims it next goes on with it. */
export class Interrupted extends Error {
  override name = "Interrupted";
}

/** A turn in progress: whose it is, what started it, and the lease under which everything is written. */
export type TurnState = {
  claim: Claim;
  work: Work;
  /** Give the lane back with the last write. */
  release: boolean;
  chat: Chat;
  turn: Turn;
  trigger: MessageRow;
  /** What made it a turn: a mention, a reply, … */
  why: string;
  model: Model;
  /** Fires when a person stops the turn, the lease is lost, or the server goes down; its reason tells which. */
  signal: AbortSignal;
  notices: Notice[];
  /** The newest entry of the thread. */
  head: string | null;
};

/** What the next entry goes behind, as the store is to find it. */
export function headOf({ chat, turn, head }: Pick<TurnState, "chat" | "turn" | "head">) {
  return { type: "head", chat_jid: chat.jid, thread_id: turn.thread_id, entry_id: head } as const;
}

/** Was nothing written because the head is elsewhere by now? */
export function headMoved(result: CommitResult): boolean {
  return result.status === "conflict" && result.expectation?.type === "head";
}

export function leaseOf(claim: Claim) {
  return { type: "lease", lane: claim.lane, fence: claim.fence } as const;
}

export function outcomeFact(
  hall: Hall,
  message: MessageRow,
  outcome: TerminalOutcome,
  reason: string,
  turnId: string | null,
): Fact {
  const at = iso(hall.clock.now());
  return {
    type: "outcome",
    chat_jid: message.chat_jid,
    message_id: message.id,
    outcome,
    reason,
    turn_id: turnId,
    at,
  };
}

export function expectCommitted(result: CommitResult): void {
  switch (result.status) {
    case "committed":
      return;
    case "fenced":
      throw new Fenced(`lane ${result.lane} was taken over`);
    case "conflict":
      throw new Error(`the turn could not be written: ${result.why}`);
    case "duplicate":
      throw new Error(`the turn wrote message ${result.message.id} twice`);
  }
}
