import { type Claim, StoreUnavailable, type Work } from "../store/store.js";
import type { Hall } from "./hall.js";
import { chatOf, threadOf } from "./ingest.js";
import { Lanes } from "./lanes.js";
import { closeTurn } from "./resume.js";
import { runTurn } from "./turn.js";
import { expectCommitted, Fenced, Interrupted, outcomeFact, StopRequested } from "./turnState.js";

/** Tries of a turn that ends in an unexpected error, before its message is set aside as failed. */
const TRIES = 3;
const TRY_AGAIN_MS = 1000;

/** Runs the turns this process may run: one at a time in each lane, the lane's work in order. */
export class Turns {
  private readonly lanes: Lanes;
  /** By lane: what stops the turn that runs there now, and no other. */
  private readonly stops = new Map<string, AbortController>();

  constructor(private readonly hall: Hall) {
    this.lanes = new Lanes(hall, "turn", hall.limits.turns, (claim, controller) =>
      this.runLane(claim, controller),
    );
  }

  start(): void {
    this.lanes.start();
  }

  stop(graceMs: number): Promise<void> {
    return this.lanes.stop(graceMs);
  }

  /** Cancel the running turns of a chat, in all its threads. False when none runs here. */
  cancel(chatJid: string): boolean {
    const running = [...this.stops].filter(([lane]) => chatOf(lane) === chatJid);
    for (const [, stop] of running) stop.abort(new StopRequested("a person asked to stop"));
    return running.length > 0;
  }

  private async runLane(claim: Claim, signal: AbortSignal): Promise<void> {
    for (const [index, work] of claim.work.entries()) {
      const release = index === claim.work.length - 1;
      signal.throwIfAborted();
      const stop = new AbortController();
      this.stops.set(claim.lane, stop);
      try {
        await runTurn(this.hall, claim, work, release, AbortSignal.any([signal, stop.signal]));
      } catch (error) {
        if (error instanceof Fenced || error instanceof Interrupted || error instanceof StoreUnavailable)
          throw error;
        return await this.setAside(claim, work, error);
      } finally {
        this.stops.delete(claim.lane);
      }
    }
  }

  /** A bug must not stop the chat: try again a few times, then say so and go on with the next message. */
  private async setAside(claim: Claim, work: Work, error: unknown): Promise<void> {
    const { hall } = this;
    const why = error instanceof Error ? error.message : String(error);
    hall.log("error", "turn.error", {
      lane: claim.lane,
      message: work.ref,
      why,
      stack: error instanceof Error ? (error.stack ?? "") : "",
    });
    const { lane, fence } = claim;
    const lease = { lane, fence };
    if (work.attempts + 1 < TRIES) {
      const later = [{ id: work.id, run_at: hall.clock.now() + TRY_AGAIN_MS, attempts: work.attempts + 1 }];
      return expectCommitted(await hall.store.settle({ lease, done: [], later, release: true, facts: [] }));
    }
    const message = await hall.store.read.message(work.chat_jid, work.ref);
    const chat = await hall.store.read.chat(work.chat_jid);
    const turn = await hall.store.read.runningTurn(work.chat_jid, threadOf(lane));
    const facts = [
      ...(chat
        ? hall.hostMessages.facts(chat, "The assistant could not answer: something went wrong on our side.")
        : []),
      ...(message ? [outcomeFact(hall, message, "failed", why, turn?.id ?? null)] : []),
      ...(turn ? await closeTurn(hall, turn, "failed") : []),
    ];
    expectCommitted(await hall.store.settle({ lease, done: [work.id], later: [], release: true, facts }));
  }
}
