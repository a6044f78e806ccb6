import { entitiesOf } from "../context/index.js";
import type { Chat, MessageRow } from "../message/index.js";
import type { Inbound, Work } from "../store/store.js";
import { wordsOf } from "./admission.js";
import { type Command, parseCommand } from "./commandWords.js";
import type { Hall } from "./hall.js";
import { type Prefix, readPrefix } from "./prefix.js";

/** What a piece of a chat's work asks for. */
export type Asked =
  | { type: "answer"; message: MessageRow; inbound: Inbound; prefix: Prefix | null }
  | { type: "command"; message: MessageRow; inbound: Inbound; command: Command }
  /** Somebody asked, not by a message, that this turn ends. */
  | { type: "end_turn"; turn_id: string }
  /** There is nothing to do any more. `why`: its message has no outcome yet, and gets this reason; null: it has one. */
  | { type: "nothing"; why: string | null };

/** A piece of work that waits in a chat's lane. */
export type Piece<A extends Asked = Asked> = { work: Work; asked: A };
export type AnswerPiece = Piece<Extract<Asked, { type: "answer" }>>;
export type CommandPiece = Piece<Extract<Asked, { type: "command" }>>;

/** Pieces of a lane that are looked at together: more than that wait their turn unseen. */
const LOOKED_AT = 1000;
const END_TURN = "end_turn:";

/** How a piece of work says that a turn is to end. */
export function endTurnRef(turnId: string): string {
  return `${END_TURN}${turnId}`;
}

/** What waits in a lane, in order, except what is known already. */
export async function waitingPieces(
  hall: Hall,
  chat: Chat,
  lane: string,
  known: ReadonlySet<string> = new Set(),
): Promise<Piece[]> {
  const works = await hall.store.read.work("turn", lane, LOOKED_AT);
  const unknown = works.filter((work) => !known.has(work.id));
  return Promise.all(unknown.map(async (work) => ({ work, asked: await askedBy(hall, chat, work) })));
}

async function askedBy(hall: Hall, chat: Chat, work: Work): Promise<Asked> {
  if (work.ref.startsWith(END_TURN)) return { type: "end_turn", turn_id: work.ref.slice(END_TURN.length) };
  const [message, inbound] = await Promise.all([
    hall.store.read.message(work.chat_jid, work.ref),
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
  if (command) return { type: "command", message, inbound, command };
  return { type: "nothing", why: "changed before it was answered: it is no command any more" };
}

/** Not to be done, and yet somebody said it: its message ends with this reason. */
export function whyNothing({ asked }: Piece): string | null {
  return asked.type === "nothing" ? asked.why : null;
}

export function isAnswer(piece: Piece): piece is AnswerPiece {
  return piece.asked.type === "answer";
}

export function isCommand(piece: Piece): piece is CommandPiece {
  return piece.asked.type === "command";
}
