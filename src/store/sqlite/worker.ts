import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { connectWriter } from "./connect.js";
import { type Database, unavailability } from "./driver.js";
import { indexChunk } from "./indexer.js";
import type { FromWorker, Op, OpResult, ToWorker, WorkerOptions } from "./wire.js";
import { runGroup, type WriteOp } from "./writer.js";

/**
 * The thread that writes. Here a wait for the disk or for somebody else's lock holds up nobody but other writes,
 * and those are collected meanwhile.
 */

/** Operations in one transaction. More would make the first wait long for the last. */
const GROUP = 1_000;
/** Searching is made ready when nothing else was to do for this long. */
const IDLE_MS = 100;
/** How often we look whether another process wrote to the database. */
const FOREIGN_MS = 200;

function main(port: MessagePort, options: WorkerOptions): void {
  const post = (message: FromWorker): void => port.postMessage(message);
  const db = opened(() => connectWriter(options), post);
  if (!db) return;
  const search = indexing(db, post);
  const watch = watchOthers(db, post);

  const close = (): OpResult => {
    clearInterval(watch);
    search.stop();
    db.close();
    return ["done"];
  };

  port.on("message", (first: ToWorker) => {
    const parcels = collect(port, first, search.want);
    if (parcels.length === 0) return;
    const writes = parcels.flat().filter((op): op is WriteOp => op[0] !== "close");
    const results = writes.length > 0 ? runGroup(db, writes) : [];
    const inOrder = results.values();
    const next = (): OpResult => inOrder.next().value ?? ["failed", "the writer gave no result"];
    post(["results", parcels.map((ops) => ops.map((op) => (op[0] === "close" ? close() : next())))]);
    search.later();
  });
  post(["open"]);
}

function opened(open: () => Database, post: (message: FromWorker) => void): Database | null {
  try {
    return open();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    post(["not_open", why, unavailability(error) !== null]);
    return null;
  }
}

/** The parcel that came, and those that came after it while we were busy. */
function collect(port: MessagePort, first: ToWorker, index: (ticket: number) => void): Op[][] {
  const parcels: Op[][] = [];
  let size = 0;
  let message: ToWorker | undefined = first;
  while (message) {
    if (message[0] === "index") index(message[1]);
    else {
      parcels.push(message[1]);
      size += message[1].length;
    }
    const more: { message: ToWorker } | undefined = size < GROUP ? receiveMessageOnPort(port) : undefined;
    message = more?.message;
  }
  return parcels;
}

/** Indexes the log piece by piece, so that a write never waits for more than one piece. */
function indexing(db: Database, post: (message: FromWorker) => void) {
  let timer: NodeJS.Timeout | undefined;
  let ticket = 0;
  let told = 0;
  let stopped = false;
  const after = (ms: number): void => {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(step, ms);
  };
  const step = (): void => {
    if (indexChunk(db)) {
      after(0);
      return;
    }
    if (told < ticket) post(["indexed", ticket]);
    told = ticket;
  };
  return {
    /** Somebody searches: index now. */
    want: (wanted: number): void => {
      ticket = wanted;
      after(0);
    },
    /** Index when it is quiet. */
    later: (): void => after(told < ticket ? 0 : IDLE_MS),
    stop: (): void => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

function watchOthers(db: Database, post: (message: FromWorker) => void): NodeJS.Timeout {
  let version = versionSeen(db);
  return setInterval(() => {
    const seen = versionSeen(db);
    if (seen !== version) post(["foreign"]);
    version = seen;
  }, FOREIGN_MS);
}

/** Changes when another connection wrote. Ours is the only one of this process that does. */
function versionSeen(db: Database): number {
  return Number(db.prepare("PRAGMA data_version").get()?.data_version ?? 0);
}

if (parentPort) main(parentPort, workerData);
