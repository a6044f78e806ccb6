import type { Model } from "../agent/index.js";

/** `round`: who waits is let in by rounds, one of each chat in every round. */
type Waiting = { round: number; begin: () => void };
type Queue = {
  running: number;
  waiting: Waiting[];
  /** The round that places are given in now. */
  round: number;
  /** The last round in which each chat has somebody waiting, or had its place. */
  lastRounds: Map<string, number>;
};

/** The name under which calls of a model wait for a place. */
export function slotOf({ provider, baseUrl, id }: Pick<Model, "provider" | "baseUrl" | "id">): string {
  return `${provider} ${baseUrl} ${id}`;
}

/**
 * How many calls of one model run at once. Each model has places of its own, so one that hangs holds up nobody who
 * asks another; who waits is let in chat by chat, so a chat with many threads does not push the others back.
 */
export class CallSlots {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly atOnce: number) {}

  /** Resolves with what frees the place again; at once with nothing to free when the signal fires first. */
  async enter(model: string, chatJid: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return () => {};
    const queue = this.queues.get(model) ?? newQueue();
    this.queues.set(model, queue);
    if (queue.running < this.atOnce) queue.running++;
    else if (!(await this.wait(queue, chatJid, signal))) return () => {};
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.leave(model, queue);
    };
  }

  /** False when the signal fired before there was a place. */
  private wait(queue: Queue, chatJid: string, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = () => {
        queue.waiting.splice(queue.waiting.indexOf(entry), 1);
        resolve(false);
      };
      const entry: Waiting = {
        round: nextRound(queue, chatJid),
        begin: () => {
          signal.removeEventListener("abort", giveUp);
          resolve(true);
        },
      };
      queue.waiting.push(entry);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  private leave(model: string, queue: Queue): void {
    const next = takeNext(queue);
    // The place goes straight to the next in line: nobody who comes just now can slip in between.
    if (next) {
      next.begin();
      return;
    }
    queue.running--;
    if (queue.running === 0) this.queues.delete(model);
  }
}

function newQueue(): Queue {
  return { running: 0, waiting: [], round: 0, lastRounds: new Map() };
}

/** The round after the one that is on, which nobody joins any more, and after the chat's last. */
function nextRound({ round, lastRounds }: Queue, chatJid: string): number {
  const own = Math.max(round, lastRounds.get(chatJid) ?? 0) + 1;
  lastRounds.set(chatJid, own);
  return own;
}

/** The first who came, of those in the earliest round. */
function takeNext(queue: Queue): Waiting | null {
  const [first, ...others] = queue.waiting;
  if (!first) return null;
  const next = others.reduce((best, entry) => (entry.round < best.round ? entry : best), first);
  queue.waiting.splice(queue.waiting.indexOf(next), 1);
  if (next.round > queue.round) {
    queue.round = next.round;
    // Whoever's last round is over is as good as new.
    for (const [chat, last] of queue.lastRounds) if (last < queue.round) queue.lastRounds.delete(chat);
  }
  return next;
}
