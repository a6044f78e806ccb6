import { setImmediate } from "node:timers";
import { StoreUnavailable } from "../store.js";
import { startThread, type Thread } from "./thread.js";
import type { Op, OpResult, WorkerOptions } from "./wire.js";

/** What may wait at most for the disk. Beyond it new writes are refused instead of eating the memory. */
export type QueueLimits = { operations: number; bytes: number };

type Waiting = { bytes: number; resolve(result: OpResult): void; reject(error: Error): void };
type Parcel = { ops: Op[]; waiting: Waiting[] };

/** Operations that travel together at most: the thread can begin with the first while the next are being packed. */
const PARCEL = 32;

export type Queue = {
  /** Hand an operation to the writer. Resolves with what came of it, once that is durable. */
  run(op: Op, bytes: number): Promise<OpResult>;
  close(): Promise<void>;
};

/**
 * Operations on their way to the writing thread. Those of one turn of the event loop travel in parcels; the thread
 * takes all parcels that arrived while it was busy as one transaction, and answers in their order.
 */
export async function openQueue(
  options: WorkerOptions,
  limits: QueueLimits,
  foreign: () => void,
  start: typeof startThread = startThread,
): Promise<Queue> {
  let thread: Promise<Thread> | null = null;
  let ready: Thread | null = null;
  let sent: Waiting[][] = [];
  let next: Parcel = { ops: [], waiting: [] };
  let operations = 0;
  let bytes = 0;
  let closing: Promise<void> | null = null;

  const leave = (one: Waiting): void => {
    operations -= 1;
    bytes -= one.bytes;
  };

  const answered = (answers: OpResult[][]): void => {
    for (const results of answers) {
      sent.shift()?.forEach((one, index) => {
        leave(one);
        one.resolve(results[index] ?? ["failed", "the writer gave no result"]);
      });
    }
    // The thread keeps the process alive only while somebody waits for it.
    if (operations === 0) ready?.busy(false);
  };

  const refuse = (parcel: Waiting[], why: string): void => {
    for (const one of parcel) {
      leave(one);
      one.reject(new StoreUnavailable(why));
    }
  };

  const lost = (why: string): void => {
    thread = null;
    ready = null;
    const all = sent;
    sent = [];
    for (const parcel of all) refuse(parcel, why);
  };

  // A thread that died (out of memory, say) is started again by the next write.
  const running = (): Promise<Thread> => {
    thread ??= start(options, { answered, foreign, lost }).then(
      (started) => {
        ready = started;
        return started;
      },
      (error) => {
        thread = null;
        throw error;
      },
    );
    return thread;
  };

  const send = (to: Thread, parcel: Parcel): void => {
    try {
      to.send(parcel.ops);
    } catch (error) {
      sendAlone(to, parcel, error);
      return;
    }
    to.busy(true);
    sent.push(parcel.waiting);
  };

  // Something in it cannot be copied to another thread, such as a function: only its writer is told.
  const sendAlone = (to: Thread, { ops, waiting }: Parcel, error: unknown): void => {
    const [only] = waiting;
    if (only && waiting.length === 1) {
      leave(only);
      only.reject(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    ops.forEach((op, index) => {
      send(to, { ops: [op], waiting: waiting.slice(index, index + 1) });
    });
  };

  const flush = (): void => {
    const parcel = next;
    next = { ops: [], waiting: [] };
    if (parcel.ops.length === 0) return;
    // At once, if it can be: waiting even for a promise would be waiting for all who were just answered.
    if (ready) send(ready, parcel);
    else
      running().then(
        (to) => send(to, parcel),
        (error) => refuse(parcel.waiting, error instanceof Error ? error.message : String(error)),
      );
  };

  const enqueue = (op: Op, size: number): Promise<OpResult> =>
    new Promise((resolve, reject) => {
      operations += 1;
      bytes += size;
      if (next.ops.length === 0) setImmediate(flush);
      next.ops.push(op);
      next.waiting.push({ bytes: size, resolve, reject });
      if (next.ops.length === PARCEL) flush();
    });

  const run: Queue["run"] = (op, size) => {
    if (closing) return Promise.reject(new StoreUnavailable("the store is closed"));
    // One write larger than the limit goes through when nothing else waits: refused, it would be refused for ever.
    if (operations >= limits.operations || (bytes > 0 && bytes + size > limits.bytes)) {
      return Promise.reject(new StoreUnavailable("too many writes are waiting for the disk"));
    }
    return enqueue(op, size);
  };

  const end = async (): Promise<void> => {
    // A thread that cannot be reached has nothing left to close.
    await enqueue(["close"], 0).catch(() => {});
    await ready?.end();
  };

  await running();
  return {
    run,
    close: () => {
      closing ??= end();
      return closing;
    },
  };
}
