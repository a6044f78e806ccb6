import { setImmediate } from "node:timers/promises";
import { entitiesOf } from "../context/index.js";
import type { Chat, MessageRow } from "../message/index.js";
import type { Inbound, Work } from "../store/store.js";
import { wordsOf } from "./admission.js";
import { type Command, commandWords, parseCommand } from "./commandWords.js";
import type { Hall } from "./hall.js";
import { type Prefix, readPrefix } from "./prefix.js";
import type { Member } from "./turnState.js";

/** What a piece of a chat's work asks for. */
export type Asked =
  | { type: "answer"; message: MessageRow; inbound: Inbound; prefix: Prefix | null }
  | { type: "command"; message: MessageRow; inbound: Inbound; command: Command }
  /** Somebody asked, not by a message, that this turn ends. */
  | { type: "end_turn"; turn_id: string }
  /** Somebody asked, not by a message, for something that a model is needed for. */
  | { type: "tree"; ask: TreeAsk }
  /** There is nothing to do any more. `why`: its message has no outcome yet, and gets this reason; null: it has one. */
  | { type: "nothing"; why: string | null };

/** A piece of work that waits in a chat's lane. */
export type Piece<A extends Asked = Asked> = { work: Work; asked: A };
export type AnswerPiece = Piece<Extract<Asked, { type: "answer" }>>;
export type CommandPiece = Piece<Extract<Asked, { type: "command" }>>;
export type TreePiece = Piece<Extract<Asked, { type: "tree" }>>;

/** Summarise what is old; or go on from an entry, with a summary of the branch that is left. */
export type TreeAsk = { type: "compact" } | { type: "fork"; from: string };

/** Pieces of a lane that are looked at together. */
export const LOOKED_AT = 1000;
/** Pieces that are read in one go. */
const AT_ONCE = 50;
/** With a space, which no message's id has: nobody stops a turn by naming a message so. */
const END_TURN = "end turn ";

/** How a piece of work says that a turn is to end. */
export function endTurnRef(turnId: string): string {
  return `${END_TURN}${turnId}`;
}

const TREE = "tree ";
const COMPACT = `${TREE}compact`;
const FORK = `${TREE}fork `;

/** How a piece of work says what is to be done with the tree. */
export function treeRef(ask: TreeAsk): string {
  return ask.type === "compact" ? COMPACT : `${FORK}${ask.from}`;
}

/** What waits in a lane, in order, except what is known already: so many of the rest as are looked at together. */
export async function waitingPieces(
  hall: Hall,
  chat: Chat,
  lane: string,
  known: ReadonlySet<string> = new Set(),
): Promise<Piece[]> {
  const works = await hall.store.read.work("turn", lane, LOOKED_AT + known.size);
  const unknown = works.filter((work) => !known.has(work.id));
  return piecesOf(hall, chat, unknown.slice(0, LOOKED_AT));
}

/** What was said in a thread and is on no branch yet, and which of it waits for a turn of its own. */
export type Untaken = { rows: MessageRow[]; waiting: ReadonlySet<string> };
/** What a lane's holder finds there, read once for deciding what to do and for starting a turn. */
export type Found = { pieces: Piece[]; untaken: Untaken };

/**
 * What waits in a lane, with the untaken rows of its thread. Those are read first: of a message that comes in between,
 * we see the work and not the row, never the row alone.
 */
export async function findWaiting(hall: Hall, chat: Chat, lane: string, rows: MessageRow[]): Promise<Found> {
  const works = await hall.store.read.work("turn", lane, hall.limits.window);
  const pieces = await piecesOf(hall, chat, works.slice(0, LOOKED_AT), rows);
  return { pieces, untaken: { rows, waiting: new Set(works.map((work) => work.ref)) } };
}

/** A chat that is flooded has many: other chats go first every so often. */
export async function piecesOf(
  hall: Hall,
  chat: Chat,
  works: readonly Work[],
  rows: readonly MessageRow[] = [],
): Promise<Piece[]> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const pieces: Piece[] = [];
  while (pieces.length < works.length) {
    if (pieces.length > 0) await setImmediate();
    const some = works.slice(pieces.length, pieces.length + AT_ONCE);
    const looked = some.map(async (work) => ({
      work,
      asked: await askedBy(hall, chat, work, byId.get(work.ref)),
    }));
    pieces.push(...(await Promise.all(looked)));
  }
  return pieces;
}

async function askedBy(hall: Hall, chat: Chat, work: Work, row: MessageRow | undefined): Promise<Asked> {
  if (work.ref.startsWith(END_TURN)) return { type: "end_turn", turn_id: work.ref.slice(END_TURN.length) };
  if (work.ref === COMPACT) return { type: "tree", ask: { type: "compact" } };
  if (work.ref.startsWith(FORK)) {
    return { type: "tree", ask: { type: "fork", from: work.ref.slice(FORK.length) } };
  }
  const [message, inbound] = await Promise.all([
    row ?? hall.store.read.message(work.chat_jid, work.ref),
    hall.store.read.inbound(work.chat_jid, work.ref),
  ]);
  if (inbound?.outcome !== "pending") return { type: "nothing", why: null };
  if (!message) return { type: "nothing", why: "the message is gone" };
  if (message.deleted_at && inbound.admission === "command") {
    return { type: "nothing", why: "deleted before it was answered" };
  }
  const words = wordsOf(message.content, { entities: entitiesOf(message) }, chat);
  if (inbound.admission !== "command") {
    return { type: "answer", message, inbound, prefix: readPrefix(words) };
  }
  const command = parseCommand(words);
  if (!command) return { type: "nothing", why: "changed before it was answered: it is no command any more" };
  if (!isAsAdmitted(command, message, inbound)) {
    return { type: "nothing", why: "changed before it was answered: it is not the command that was let in" };
  }
  return { type: "command", message, inbound, command };
}

/** A shell command is run as it was let in, or not at all: whoever can edit a message must not get a shell by it. */
function isAsAdmitted(command: Command, message: MessageRow, inbound: Inbound): boolean {
  if (commandWords(command) !== inbound.reason) return false;
  return command.type !== "shell" || message.revision === 0;
}

/** Not to be done, and yet somebody said it: its message ends with this reason. */
export function whyNothing({ asked }: Piece): string | null {
  return asked.type === "nothing" ? asked.why : null;
}

/** What a message is in a turn that answers it. */
export function memberOf({ work, asked }: AnswerPiece): Member {
  return { work, message: asked.message, receivedAt: asked.inbound.received_at };
}

export function isAnswer(piece: Piece): piece is AnswerPiece {
  return piece.asked.type === "answer";
}

export function isTreeWork(piece: Piece): piece is TreePiece {
  return piece.asked.type === "tree";
}

export function isCommand(piece: Piece): piece is CommandPiece {
  return piece.asked.type === "command";
}
