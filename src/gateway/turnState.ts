import type { Model } from "../agent/index.js";
import type { Notice } from "../context/index.js";
import type { Chat, LeftOut, MessageRow, TerminalOutcome } from "../message/index.js";
import type { Claim, Fact, Turn, Work } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** A person asked the running turn to end. */
export class StopRequested extends Error {
  override name = "StopRequested";
}

/** A newer message cuts the turn short and is answered in its place. */
export class Superseded extends Error {
  override name = "Superseded";
}

/** A message that belongs to a turn, with the work that is done when the turn ends. */
export type Member = { work: Work; message: MessageRow; receivedAt: number };

/** A turn in progress: whose it is, what started it, and the lease under which everything is written. */
export type TurnState = {
  claim: Claim;
  chat: Chat;
  turn: Turn;
  /** The message that gets the answer. */
  trigger: MessageRow;
  /** What made it a turn: a mention, a reply, … */
  why: string;
  /** Everything it answers: its trigger, what was collected with it, what joined it. */
  members: Member[];
  /** How many of them, from the first, have their answer: it was to be the turn's last when others joined. */
  answered: number;
  /** Who pays: the account of the person who asked. */
  payer: string;
  model: Model;
  fallback: Model | null;
  /** Fires when a person stops the turn, the lease is lost, or the server goes down; its reason tells which. */
  signal: AbortSignal;
  notices: Notice[];
  /** Sources of notices that had nothing to show for it. */
  noticesMissing: LeftOut[];
  /** The newest entry of the thread. */
  head: string | null;
};

/** Must the turn stop writing, because somebody else goes on with it? */
export function isTakenOver(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof StopRequested || signal.reason instanceof Superseded);
}

/** What the next entry goes behind, as the store is to find it. */
export function headOf({ chat, turn, head }: Pick<TurnState, "chat" | "turn" | "head">) {
  return { type: "head", chat_jid: chat.jid, thread_id: turn.thread_id, entry_id: head } as const;
}

export function outcomeFact(
  hall: Hall,
  message: Pick<MessageRow, "chat_jid" | "id">,
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
