import type { Chat, MessageRow } from "../message/index.js";
import { type Claim, type Fact, StoreUnavailable, type Turn, type Work } from "../store/store.js";
import { countBots } from "./admissionFacts.js";
import { platformThread } from "./broadcast.js";
import { answerCommand } from "./commands.js";
import { Foresight } from "./foresight.js";
import type { Hall } from "./hall.js";
import { Lanes } from "./lanes.js";
import { expectCommitted, Fenced, Interrupted, isOvertaken, leaseOf } from "./lease.js";
import { withPeople } from "./people.js";
import { isExpired, type Placement, placeNext, whyNotWanted } from "./placement.js";
import { leaveOut } from "./quarantine.js";
import { closeTurn } from "./resume.js";
import { runTurn } from "./turn.js";
import { doTreeWork } from "./treeWork.js";
import { threadIn, threadOf } from "./turnLane.js";
import { outcomeFact } from "./turnState.js";
import {
  type AnswerPiece,
  findWaiting,
  isAnswer,
  memberOf,
  type Piece,
  type Untaken,
  whyNothing,
} from "./waiting.js";

/** Tries of work that ends in an unexpected error, or takes the whole server down, before it is set aside as failed. */
const TRIES = 3;
const CRASHES = 5;
/** A server goes down for many reasons: so often, what it was doing is simply gone on with. */
const UNSUSPECTED = 2;
const TRY_AGAIN_MS = 1000;
const TROUBLE_MS = 100;

const WRONG = "The assistant could not answer: something went wrong on our side.";

/** Runs the turns this process may run: one at a time in each lane, by the rules of placement. */
export class Turns {
  private readonly lanes: Lanes;
  private isStopping = false;
  private readonly foresight: Foresight;
  private unforesee: () => void = () => {};

  constructor(private readonly hall: Hall) {
    this.foresight = new Foresight(hall);
    this.lanes = new Lanes(hall, "turn", hall.limits.turns, (claim, signal) => this.runLane(claim, signal));
  }

  start(): void {
    this.unforesee = this.hall.arrivals.foresee((work) => {
      this.lanes.wake();
      if (!this.hall.arrivals.isWatched(work.lane)) this.foresight.look(work);
    });
    this.lanes.start();
  }

  stop(graceMs: number): Promise<void> {
    this.isStopping = true;
    this.unforesee();
    return this.lanes.stop(graceMs);
  }

  /** One thing at a time. The lane is given back after each, so that the next is decided by what is true then. */
  private async runLane(claim: Claim, signal: AbortSignal): Promise<void> {
    try {
      if (claim.tries > 1 && !(await this.maySurvive(claim))) return;
      const { read } = this.hall.store;
      const threadId = threadOf(claim.lane);
      const [chat, rows, left] = await Promise.all([
        read.chat(claim.chat_jid),
        read.untaken(claim.chat_jid, threadId, this.hall.limits.window),
        read.runningTurn(claim.chat_jid, threadId),
      ]);
      if (chat) await this.doNext(claim, await withPeople(this.hall, chat), { rows, left }, signal);
      else await this.dropAll(claim);
    } catch (error) {
      if (error instanceof Fenced) throw error;
      if (error instanceof Interrupted || error instanceof StoreUnavailable) {
        await this.giveBack(claim);
        throw error;
      }
      await this.setAside(claim, error);
    }
  }

  private async doNext(
    claim: Claim,
    chat: Chat,
    { rows, left }: { rows: MessageRow[]; left: Turn | null },
    signal: AbortSignal,
  ): Promise<void> {
    const { hall } = this;
    const { pieces, untaken } = await findWaiting(hall, chat, claim.lane, rows);
    const members = left ? await this.membersOf(chat.jid, left, pieces) : [];
    const now = hall.clock.now();
    const putOff = members.find(({ work }) => work.run_at > hall.clock.steady());
    // What came later does not overtake a turn that is to be gone on with.
    if (putOff)
      return this.postpone(
        claim,
        claim.work.map((work) => ({ ...work, run_at: putOff.work.run_at })),
      );
    const isWanted = (piece: AnswerPiece) => !whyNotWanted(piece, chat) && !isExpired(piece, chat, now);
    const wanted = members.filter(isWanted);
    if (left && wanted.some(({ work }) => work.ref === left.trigger_id)) {
      await this.letGo(
        claim,
        chat,
        left,
        members.filter((piece) => !isWanted(piece)),
      );
      return this.turn(claim, chat, { pieces: wanted, left, untaken }, signal);
    }
    if (left) await this.close(claim, left);
    const next = placeNext(pieces, chat, { steady: hall.clock.steady(), now });
    if (next) await this.perform(next, claim, chat, untaken, signal);
    else await this.settle(claim, [], []);
  }

  private async perform(
    next: Placement,
    claim: Claim,
    chat: Chat,
    untaken: Untaken,
    signal: AbortSignal,
  ): Promise<void> {
    const { hall } = this;
    switch (next.type) {
      case "turn": {
        const unwanted = await this.unwanted(next.pieces, chat);
        if (unwanted.length === 0)
          return this.turn(claim, chat, { pieces: next.pieces, left: null, untaken }, signal);
        return this.refuse(claim, chat, unwanted);
      }
      case "command":
        return answerCommand(hall, { chat, claim, release: true }, next.piece);
      case "tree":
        return doTreeWork(hall, { chat, claim, signal }, next.piece);
      case "expire": {
        const why = waitedTooLong(chat);
        const facts = next.pieces.map(({ asked }) => outcomeFact(hall, asked.message, "expired", why, null));
        return this.settle(
          claim,
          next.pieces.map(({ work }) => work),
          facts,
        );
      }
      case "drop":
        return this.ignore(claim, next.pieces, whyNothing);
      case "wait":
        return this.postpone(
          claim,
          next.pieces.map(({ work }) => ({ ...work, run_at: next.until })),
        );
    }
  }

  /** What is not to be answered after all; of bots that spoke at the same time, those past the limit. */
  private async unwanted(pieces: readonly AnswerPiece[], chat: Chat): Promise<Refused[]> {
    const refused: Refused[] = [];
    for (const piece of pieces) {
      const { seq, metadata } = piece.asked.message;
      const why = whyNotWanted(piece, chat);
      const threadOf = (said: Record<string, unknown>) => threadIn(chat, said);
      const loops =
        metadata.sender_type === "bot" &&
        (await countBots(this.hall, chat, { metadata, threadOf }, seq)) >= chat.loop_limit;
      if (why !== null || loops) refused.push({ piece, why: why ?? "loop_guard" });
    }
    return refused;
  }

  /** Of a turn that is gone on with, messages that are not to be answered any more. The others are. */
  private async letGo(claim: Claim, chat: Chat, left: Turn, pieces: readonly AnswerPiece[]): Promise<void> {
    if (pieces.length === 0) return;
    const { lane, fence } = claim;
    const facts = pieces.map((piece) => {
      const why = whyNotWanted(piece, chat);
      const { message } = piece.asked;
      return why === null
        ? outcomeFact(this.hall, message, "expired", waitedTooLong(chat), left.id)
        : outcomeFact(this.hall, message, "ignored", why, left.id);
    });
    const done = pieces.map(({ work }) => work.id);
    expectCommitted(
      await this.hall.store.settle({ lease: { lane, fence }, done, later: [], release: false, facts }),
    );
  }

  /** Done without an answer; who said it can look up why. */
  private ignore<P extends Piece>(
    claim: Claim,
    pieces: readonly P[],
    reason: (piece: P) => string | null,
  ): Promise<void> {
    const facts = pieces.flatMap((piece) => {
      const { chat_jid, ref: id } = piece.work;
      const why = reason(piece);
      return why === null ? [] : [outcomeFact(this.hall, { chat_jid, id }, "ignored", why, null)];
    });
    return this.settle(
      claim,
      pieces.map(({ work }) => work),
      facts,
    );
  }

  /** What must not be answered any more is not read later either: it is put where no branch goes on from it. */
  private async refuse(claim: Claim, chat: Chat, refused: readonly Refused[]): Promise<void> {
    const { hall } = this;
    const { lane, fence } = claim;
    const works = refused.map(({ piece }) => piece.work);
    const outcomes = refused.map(({ piece, why }) =>
      outcomeFact(hall, piece.asked.message, "ignored", why, null),
    );
    for (let tries = 0; ; tries++) {
      const place = { chatJid: chat.jid, threadId: threadOf(lane), works, left: null };
      const { facts, expect } = await leaveOut(hall, place);
      const result = await hall.store.settle({
        lease: { lane, fence },
        done: works.map((work) => work.id),
        later: [],
        release: true,
        expect,
        facts: [...facts, ...outcomes],
      });
      if (isOvertaken(result, tries)) continue;
      return expectCommitted(result);
    }
  }

  private async turn(
    claim: Claim,
    chat: Chat,
    { pieces, left, untaken }: { pieces: readonly AnswerPiece[]; left: Turn | null; untaken: Untaken },
    signal: AbortSignal,
  ): Promise<void> {
    const members = pieces.map(memberOf);
    const foreseen = await this.foresight.take(claim.lane);
    const trigger = pieces.find(({ work }) => work.ref === left?.trigger_id) ?? pieces.at(-1);
    const why = trigger?.asked.inbound.reason ?? "";
    return runTurn(this.hall, { claim, chat, members, why, left, untaken, foreseen }, signal);
  }

  /** What a turn that was cut short had taken on: what waits for its end and is on the tree. None if it is not its any more. */
  private async membersOf(chatJid: string, left: Turn, pieces: readonly Piece[]): Promise<AnswerPiece[]> {
    // Read behind the pieces: one that has just come in is not on the tree.
    const untaken = await this.hall.store.read.untaken(chatJid, left.thread_id, this.hall.limits.window);
    const waiting = new Set(untaken.map((row) => row.id));
    const members = pieces.filter(isAnswer).filter(({ work }) => !waiting.has(work.ref));
    return members.some(({ work }) => work.ref === left.trigger_id) ? members : [];
  }

  /** A turn nobody goes on with must not look as if it ran. */
  private async close(claim: Claim, left: Turn): Promise<void> {
    const facts = await closeTurn(this.hall, left, "failed");
    expectCommitted(await this.hall.store.commit({ expect: [leaseOf(claim)], facts }));
  }

  private async settle(claim: Claim, done: readonly Work[], facts: Fact[]): Promise<void> {
    const { lane, fence } = claim;
    const ids = done.map((work) => work.id);
    expectCommitted(
      await this.hall.store.settle({ lease: { lane, fence }, done: ids, later: [], release: true, facts }),
    );
  }

  private async postpone(claim: Claim, works: readonly Work[]): Promise<void> {
    const { lane, fence } = claim;
    const later = works.map(({ id, run_at, attempts }) => ({ id, run_at, attempts }));
    expectCommitted(
      await this.hall.store.settle({ lease: { lane, fence }, done: [], later, release: true, facts: [] }),
    );
  }

  /** Whoever goes on with it need not wait for our lease to run out, and it was not its fault that we stop. */
  private async giveBack(claim: Claim): Promise<void> {
    const { hall } = this;
    const { lane, fence } = claim;
    const settlement = { lease: { lane, fence }, done: [], later: [], release: true, facts: [] };
    const tries = this.isStopping ? 1 : Math.ceil(hall.limits.leaseMs / TROUBLE_MS);
    for (let tried = 0; tried < tries; tried++) {
      try {
        await hall.store.settle(settlement);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await hall.clock.sleep(TROUBLE_MS);
      }
    }
  }

  private async dropAll(claim: Claim): Promise<void> {
    const { read } = this.hall.store;
    const works = await read.work("turn", claim.lane, this.hall.limits.window);
    const left = await read.runningTurn(claim.chat_jid, threadOf(claim.lane));
    const outcomes = await this.outcomes(works, "ignored", "the chat was removed", left?.id ?? null);
    const closing = left ? await closeTurn(this.hall, left, "failed") : [];
    await this.settle(claim, works, [...outcomes, ...closing]);
  }

  /** A bug must not stop the chat: try again a few times, then say so and go on with the next message. */
  private async setAside(claim: Claim, error: unknown): Promise<void> {
    const { hall } = this;
    const why = error instanceof Error ? error.message : String(error);
    const stack = error instanceof Error ? (error.stack ?? "") : "";
    hall.log("error", "turn.error", { lane: claim.lane, why, stack });
    const works = await this.worksInHand(claim);
    if (works.every((work) => work.attempts + 1 < TRIES)) {
      const run_at = hall.clock.steady() + TRY_AGAIN_MS;
      return this.postpone(
        claim,
        works.map((work) => ({ ...work, run_at, attempts: work.attempts + 1 })),
      );
    }
    await this.giveUp(claim, works, why);
  }

  /**
   * Whoever had this lane went down with it. Is what it holds gone on with now? What keeps doing that is first put off,
   * longer each time, so that others come to their turn (and a server that somebody kills again and again does not take
   * it for the message's fault), and in the end not touched again.
   */
  private async maySurvive(claim: Claim): Promise<boolean> {
    const { hall } = this;
    const { lane, fence } = claim;
    const works = await this.worksInHand(claim);
    const crashes = Math.max(0, ...works.map((work) => work.attempts)) + claim.tries - 1;
    if (crashes >= CRASHES) {
      hall.log("error", "turn.quarantined", { lane, crashes });
      await this.giveUp(claim, works, `the server went down ${crashes} times while it was answering`);
      return false;
    }
    // Not written down: a shell command of which a try is known is not run any more.
    if (crashes <= UNSUSPECTED) return true;
    const run_at = hall.clock.steady() + hall.limits.crashWaitMs * 2 ** (crashes - UNSUSPECTED - 1);
    const later = works.map(({ id }) => ({ id, run_at, attempts: crashes }));
    const settlement = { lease: { lane, fence }, done: [], later, release: true, facts: [] };
    expectCommitted(await hall.store.settle(settlement));
    return false;
  }

  /** It ends as failed, and no later turn reads it: it would do the same to that one. */
  private async giveUp(claim: Claim, works: readonly Work[], why: string): Promise<void> {
    const { hall } = this;
    const { lane, fence, chat_jid: chatJid } = claim;
    const threadId = threadOf(lane);
    const chat = await hall.store.read.chat(chatJid);
    const left = await hall.store.read.runningTurn(chatJid, threadId);
    const first = works[0] && (await hall.store.read.message(chatJid, works[0].ref));
    const thread = first ? platformThread(first) : null;
    for (let tries = 0; ; tries++) {
      const aside = await leaveOut(hall, { chatJid, threadId, works, left });
      const facts = [
        ...aside.facts,
        ...(chat ? hall.hostMessages.facts(chat, WRONG, {}, left?.id ?? null, thread) : []),
        ...(await this.outcomes(works, "failed", why, left?.id ?? null)),
        ...(left ? await closeTurn(hall, left, "failed", chat?.assistant_name) : []),
      ];
      const done = works.map((work) => work.id);
      const lease = { lane, fence };
      const { expect } = aside;
      const result = await hall.store.settle({ lease, done, later: [], release: true, expect, facts });
      if (isOvertaken(result, tries)) continue;
      return expectCommitted(result);
    }
  }

  /** The work the lane was busy with: that of the turn in progress, or the first that was due. Reads no words. */
  private async worksInHand(claim: Claim): Promise<Work[]> {
    const { store, limits } = this.hall;
    const left = await store.read.runningTurn(claim.chat_jid, threadOf(claim.lane));
    if (!left) return claim.work.slice(0, 1);
    // All of the lane: a turn is also taken up when what came in later is due and its own work is not yet.
    const works = await store.read.work("turn", claim.lane, limits.window);
    const untaken = await store.read.untaken(claim.chat_jid, left.thread_id, limits.window);
    const waiting = new Set(untaken.map((row) => row.id));
    const inTurn: Work[] = [];
    for (const work of works.filter(({ ref }) => !waiting.has(ref))) {
      const inbound = await store.read.inbound(work.chat_jid, work.ref);
      if (inbound?.admission === "run") inTurn.push(work);
    }
    return inTurn.some((work) => work.ref === left.trigger_id) ? inTurn : claim.work.slice(0, 1);
  }

  private async outcomes(
    works: readonly Work[],
    outcome: "failed" | "ignored",
    why: string,
    turnId: string | null,
  ): Promise<Fact[]> {
    const { hall } = this;
    const facts: Fact[] = [];
    for (const { chat_jid, ref } of works) {
      const inbound = await hall.store.read.inbound(chat_jid, ref);
      if (inbound?.outcome !== "pending") continue;
      facts.push(outcomeFact(hall, { chat_jid, id: ref }, outcome, why, turnId));
    }
    return facts;
  }
}

type Refused = { piece: AnswerPiece; why: string };

function waitedTooLong({ expire_after_s }: Chat): string {
  return `it waited longer than ${expire_after_s === 1 ? "a second" : `${expire_after_s} seconds`}`;
}
