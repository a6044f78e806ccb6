import { type Database, unavailability } from "./driver.js";

/**
 * Takes what was erased out of the file: freed places, pages that were split and the log still hold it. The whole file
 * is written anew, because nothing less is sure to find every copy. True when nothing is left to do.
 */
export function scrub(db: Database): boolean {
  if (!db.prepare("SELECT 1 AS found FROM erasures WHERE scrubbed = 0 LIMIT 1").get()) return true;
  try {
    // Merges the parts of the index, which keep what was deleted from it until then.
    db.prepare("INSERT INTO search (search) VALUES ('optimize')").run();
    rewrite(db);
    const busy = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy;
    if (busy !== 0) return false;
    db.prepare("UPDATE erasures SET scrubbed = 1").run();
    return true;
  } catch (error) {
    if (unavailability(error) === null) throw error;
    return false;
  }
}

/** By way of a file of its own: in memory, a large database would not fit. */
function rewrite(db: Database): void {
  db.exec("PRAGMA temp_store = FILE");
  try {
    db.exec("VACUUM");
  } finally {
    db.exec("PRAGMA temp_store = MEMORY");
  }
}
