import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { connectWriter } from "./connect.js";
import { type Database, unavailability } from "./driver.js";
import { indexing } from "./indexer.js";
import { scrub } from "./scrub.js";
import type { FromWorker, Op, OpResult, WorkerOptions } from "./wire.js";
import { runGroup, type WriteOp } from "./writer.js";

/**
 * The thread that writes. Here a wait for the disk or for somebody else's lock holds up nobody but other writes,
 * and those are collected meanwhile.
 */

/** Operations in one transaction. More would make the first wait long for the last. */
const GROUP = 1_000;
/** How long after a write its words are indexed, and how long a pause is made between bits: longer while others write. */
const IDLE_MS = 100;
const PAUSE_MS = 4;
const BUSY_PAUSE_MS = 20;
const SCRUB_AGAIN_MS = 2_000;
/** How often we look whether another process wrote to the database. */
const FOREIGN_MS = 200;

function main(port: MessagePort, options: WorkerOptions): void {
  const post = (message: FromWorker): void => port.postMessage(message);
  const db = opened(() => connectWriter(options), post);
  if (!db) return;
  const idle = chores(db);
  const watch = watchOthers(db, post);

  let open = true;
  const close = (): OpResult => {
    open = false;
    clearInterval(watch);
    idle.stop();
    db.close();
    return ["done"];
  };

  port.on("message", (first: Op[]) => {
    const parcels = [first];
    let size = first.length;
    const more = (): WriteOp[] | null => {
      const came = size < GROUP ? nextParcel(port) : null;
      if (!came) return null;
      parcels.push(came);
      size += came.length;
      return came.filter(isWrite);
    };
    const results = runGroup(db, first.filter(isWrite), more).values();
    const next = (): OpResult => results.next().value ?? ["failed", "the writer gave no result"];
    post(["results", parcels.map((ops) => ops.map((op) => (isWrite(op) ? next() : close())))]);
    if (open && parcels.some((ops) => ops.some(erases))) scrub(db);
    if (open) idle.later();
  });
  post(["open"]);
  idle.later();
}

function isWrite(op: Op): op is WriteOp {
  return op[0] !== "close";
}

function erases(op: Op): boolean {
  return (
    (op[0] === "commit" || op[0] === "settle") &&
    op[1].some((fact) => fact[0] === "fact" && fact[1].type === "senders_erased")
  );
}

function nextParcel(port: MessagePort): Op[] | null {
  const came: { message: Op[] } | undefined = receiveMessageOnPort(port);
  return came?.message ?? null;
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

/**
 * What can wait until nobody else does: indexing, bit by bit, so that a write never waits for more than one bit, and
 * moving the log into the database.
 */
function chores(db: Database) {
  let timer: NodeJS.Timeout | undefined;
  let doing = indexing(db);
  let disturbed = false;
  const step = (): void => {
    timer = undefined;
    try {
      if (doing.next().done) rest();
      else timer = setTimeout(step, disturbed ? BUSY_PAUSE_MS : PAUSE_MS);
    } catch (error) {
      // Whatever is wrong with it, storing messages matters more: what is not indexed is searched by reading.
      process.emitWarning(`messages are not indexed for searching: ${error}`);
    }
    disturbed = false;
  };
  const rest = (): void => {
    doing = indexing(db);
    // Somebody may be reading, or the disk be full: what was erased must go as soon as it can.
    if (!scrub(db)) timer = setTimeout(step, SCRUB_AGAIN_MS);
    else if (!disturbed) db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    else timer = setTimeout(step, IDLE_MS);
  };
  return {
    later(): void {
      disturbed = true;
      timer ??= setTimeout(step, IDLE_MS);
    },
    stop: (): void => clearTimeout(timer),
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
