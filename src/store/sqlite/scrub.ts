import { waitForDisk } from "./connect.js";
import { type Database, unavailability } from "./driver.js";

/** How far an erasure is: its traces lie about, only the log still has some, or none are left. */
const TRACES = { everywhere: 0, nowhere: 1, inLog: 2 } as const;

/**
 * Takes what was erased out of the file: freed places, pages that were split and the log still hold it. The whole file
 * is written anew, because nothing less is sure to find every copy. True when nothing is left to do.
 */
export function scrub(db: Database): boolean {
  if (!hasTraces(db, "scrubbed <> ?", TRACES.nowhere)) return true;
  try {
    // Emptying the log waits for the disk, once and for all that was written before.
    waitForDisk(db, false);
    if (hasTraces(db, "scrubbed = ?", TRACES.everywhere)) rewrite(db);
    if (!emptyLog(db)) return false;
    db.prepare("UPDATE erasures SET scrubbed = ?").run(TRACES.nowhere);
    return true;
  } catch (error) {
    if (unavailability(error) === null) throw error;
    return false;
  }
}

function hasTraces(db: Database, where: string, traces: number): boolean {
  return db.prepare(`SELECT 1 AS found FROM erasures WHERE ${where} LIMIT 1`).get(traces) !== undefined;
}

function rewrite(db: Database): void {
  // Merges the parts of the index, which keep what was deleted from it until then.
  db.prepare("INSERT INTO search (search) VALUES ('optimize')").run();
  // By way of a file of its own: in memory, a large database would not fit.
  db.exec("PRAGMA temp_store = FILE");
  try {
    db.exec("VACUUM");
  } finally {
    db.exec("PRAGMA temp_store = MEMORY");
  }
  db.prepare("UPDATE erasures SET scrubbed = ?").run(TRACES.inLog);
}

/** Not while somebody reads what is in it: waiting for them would hold up every write. */
function emptyLog(db: Database): boolean {
  const moved = db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
  if (moved?.busy !== 0 || moved.log !== moved.checkpointed) return false;
  return db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
}
