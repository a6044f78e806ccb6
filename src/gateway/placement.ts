import { type Chat, type MessageRow, quietMs } from "../message/index.js";
import { includes } from "./admission.js";
import type { Command } from "./commandWords.js";
import {
  type AnswerPiece,
  type CommandPiece,
  isAnswer,
  isCommand,
  isTreeWork,
  type Piece,
  type TreePiece,
} from "./waiting.js";

/** What whoever holds a chat's lane does next. */
export type Placement =
  /** One turn for these messages, in order; the newest of them gets the answer. */
  | { type: "turn"; pieces: AnswerPiece[] }
  | { type: "command"; piece: CommandPiece }
  | { type: "tree"; piece: TreePiece }
  /** Too late to answer. */
  | { type: "expire"; pieces: AnswerPiece[] }
  /** Nothing to do about these any more. */
  | { type: "drop"; pieces: Piece[] }
  /** People are still writing. */
  | { type: "wait"; pieces: Piece[]; until: number };

/** However long a burst goes on, its first message does not wait longer than this. */
const LONGEST_BURST_MS = 10_000;
/** After so many turns in a row that were cut short for the next, what is said waits and is answered together. */
export const MOST_INTERRUPTIONS = 2;

export type Moment = {
  /** By the clock that dates work. */
  steady: number;
  /** By the clock that dates messages. */
  now: number;
};

/**
 * What to do next in a lane in which nothing runs, from what waits there. By rule, whatever the timing: the first piece
 * that is due decides, and takes along what the chat's settings say belongs to it. Null when nothing is due.
 */
export function placeNext(pieces: readonly Piece[], chat: Chat, moment: Moment): Placement | null {
  const first = pieces.find(({ work }) => work.run_at <= moment.steady);
  if (!first) return null;
  const before = aheadOf(first, pieces);
  if (before.length > 0) {
    return { type: "wait", pieces: [first], until: Math.max(...before.map(({ work }) => work.run_at)) };
  }
  if (isCommand(first)) return { type: "command", piece: first };
  if (isTreeWork(first)) return { type: "tree", piece: first };
  if (!isAnswer(first)) return { type: "drop", pieces: [first] };
  if (isExpired(first, chat, moment.now)) return { type: "expire", pieces: [first] };
  if (first.asked.prefix === "todo") return { type: "turn", pieces: [first] };
  const company = untilCommand(pieces.slice(pieces.indexOf(first)))
    .filter(isAnswer)
    .filter(({ asked }) => asked.prefix !== "todo");
  const burst = burstOf(company, chat);
  const until = Math.min(
    Math.max(...burst.map(({ work }) => work.run_at)),
    first.asked.inbound.received_at + LONGEST_BURST_MS,
  );
  if (until > moment.steady) return { type: "wait", pieces: burst, until };
  return { type: "turn", pieces: collects(chat) ? company : burst };
}

/**
 * What is not due and comes first all the same: first come, first served, also where somebody is waited for to go on, or
 * something is tried again. Only commands that want to know something, or to stop, go ahead.
 */
function aheadOf(first: Piece, pieces: readonly Piece[]): AnswerPiece[] {
  if (isCommand(first) && isAnsweredAtOnce(first.asked.command)) return [];
  return pieces.slice(0, pieces.indexOf(first)).filter(isAnswer);
}

/** Messages of which each came before the quiet after the one before it was over. */
function burstOf(pieces: readonly AnswerPiece[], chat: Chat): AnswerPiece[] {
  const [first, ...rest] = pieces;
  if (!first) return [];
  const burst = [first];
  let quietUntil = quietAfter(first, chat);
  for (const piece of rest) {
    if (quietAfter(piece, chat) === 0 || piece.asked.inbound.received_at > quietUntil) break;
    burst.push(piece);
    quietUntil = Math.max(quietUntil, quietAfter(piece, chat));
  }
  return burst;
}

/** When the quiet after a message is over; 0 where nobody waits for more. Not by its work: that may be put off. */
function quietAfter({ asked: { message, inbound } }: AnswerPiece, chat: Chat): number {
  const quiet = quietMs(chat, String(message.metadata.source ?? ""));
  return quiet === 0 ? 0 : inbound.received_at + quiet;
}

/** Where a newer message may cut a turn short, what waits is answered together, "with both in view". */
function collects({ while_busy }: Chat): boolean {
  return while_busy === "collect" || while_busy === "interrupt";
}

/** Has it waited longer than the chat wants an answer to be late? Not if nobody kept when it came (0). */
export function isExpired({ asked }: AnswerPiece, chat: Chat, now: number): boolean {
  return isTooOld(asked.inbound.received_at, chat, now);
}

/** Is it longer ago than the chat wants an answer to be late? */
export function isTooOld(at: number, { expire_after_s }: Chat, now: number): boolean {
  return expire_after_s !== null && at !== 0 && now - at > expire_after_s * 1000;
}

/** Does this message join the running turn at its next boundary? */
export function steers({ asked }: AnswerPiece, chat: Chat): boolean {
  switch (asked.prefix) {
    case "btw":
      return true;
    case "todo":
      return false;
    case null:
      return chat.while_busy === "steer";
  }
}

/** Why a message that was admitted is not answered after all: things changed while it waited. Null: it is. */
export function whyNotWanted({ asked: { message } }: AnswerPiece, chat: Chat): string | null {
  if (message.deleted_at) return "deleted before it was answered";
  const isPerson = message.message_type === "user";
  const isAllowed = includes(chat.read, message.sender) && includes(chat.allow, message.sender);
  return isPerson && !isAllowed ? "sender_not_allowed" : null;
}

/** Of what waits, the messages that join the running turn now. None of those behind a command that changes the branch. */
export function steering(pieces: readonly Piece[], chat: Chat): AnswerPiece[] {
  return untilCommand(pieces)
    .filter(isAnswer)
    .filter((piece) => steers(piece, chat) && whyNotWanted(piece, chat) === null);
}

export type Running = {
  /** The person who started it, by the sender ids that are theirs. */
  startedBy: ReadonlySet<string>;
  /** Turns in a row before it that were cut short. */
  interruptions: number;
};

/** May this message cut the running turn short? */
export function interrupts({ work, asked }: AnswerPiece, chat: Chat, running: Running): boolean {
  if (chat.while_busy !== "interrupt" || asked.prefix !== null) return false;
  if (running.interruptions >= MOST_INTERRUPTIONS) return false;
  if (whyNotWanted({ work, asked }, chat) !== null) return false;
  return running.startedBy.has(asked.message.sender) || isOwner(asked.message);
}

/** Whoever runs the account the assistant lives on. */
function isOwner(message: MessageRow): boolean {
  return message.is_from_me;
}

/** Commands that are answered while a turn runs; the others change the branch and wait until it has ended. */
export function isAnsweredAtOnce({ type }: Command): boolean {
  switch (type) {
    case "stop":
    case "todos":
    case "context":
    case "usage":
    case "model":
      return true;
    case "reset":
    case "done":
    case "fork":
    case "shell":
      return false;
  }
}

/** Is what comes behind this one said on another branch? */
export function changesBranch(piece: Piece): boolean {
  if (isTreeWork(piece)) return piece.asked.ask.type === "fork";
  return isCommand(piece) && !isAnsweredAtOnce(piece.asked.command);
}

function untilCommand(pieces: readonly Piece[]): readonly Piece[] {
  const end = pieces.findIndex(changesBranch);
  return end === -1 ? pieces : pieces.slice(0, end);
}
