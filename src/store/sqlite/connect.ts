import { type Database, openDatabase } from "./driver.js";
import { migrate, refuseForeign } from "./migrate.js";
import type { WorkerOptions } from "./wire.js";

/** Pages the log may grow to before a commit has to copy it into the database; a quiet moment does it sooner. */
const CHECKPOINT_PAGES = 8_000;

/** The one connection that writes. */
export function connectWriter({ path, busyMs, maxBytes }: WorkerOptions): Database {
  const db = openDatabase(path, { readOnly: false, busyMs });
  try {
    refuseForeign(db);
    db.exec("PRAGMA journal_mode = WAL");
    waitForDisk(db, true);
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.exec("PRAGMA journal_size_limit = 67108864");
    db.exec("PRAGMA cache_size = -32768");
    db.exec("PRAGMA temp_store = MEMORY");
    migrate(db);
    if (maxBytes !== null) limitSize(db, maxBytes);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const waiting = new WeakMap<Database, boolean>();

/**
 * Whether the next commits wait until the disk has them. What we acknowledge must; what can be made again need not.
 */
export function waitForDisk(db: Database, yes: boolean): void {
  if (waiting.get(db) === yes) return;
  db.exec(`PRAGMA synchronous = ${yes ? "FULL" : "NORMAL"}`);
  waiting.set(db, yes);
}

function limitSize(db: Database, maxBytes: number): void {
  const pageSize = Number(db.prepare("PRAGMA page_size").get()?.page_size);
  db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

/** Readers see the last commit and never wait for a writer, so they may live on the event loop. */
export function connectReader(path: string): Database {
  const db = openDatabase(path, { readOnly: true, busyMs: 50 });
  db.exec("PRAGMA cache_size = -32768");
  db.exec("PRAGMA temp_store = MEMORY");
  return db;
}
