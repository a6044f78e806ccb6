type Waiting = { chatJid: string; begin: () => void };
type Queue = { running: number; waiting: Waiting[]; lastChat: string };

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
    const queue = this.queues.get(model) ?? { running: 0, waiting: [], lastChat: "" };
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
        chatJid,
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

/** The first of the chats that did not have the last place; the first of all when there is no other chat. */
function takeNext(queue: Queue): Waiting | null {
  const other = queue.waiting.findIndex(({ chatJid }) => chatJid !== queue.lastChat);
  const [next = null] = queue.waiting.splice(Math.max(other, 0), 1);
  if (next) queue.lastChat = next.chatJid;
  return next;
}
