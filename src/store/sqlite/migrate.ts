import type { Database } from "./driver.js";
import { MIGRATIONS } from "./schema.js";

/** "LONG" in the header of the file: this database is ours. */
const APPLICATION_ID = 0x4c4f4e47;

/** The file is somebody else's, or from a later version of Longhand. */
export class WrongDatabase extends Error {
  override name = "WrongDatabase";
}

/**
 * Bring the database to the newest version. Each step is one transaction that also writes its number,
 * so that a process killed in the middle leaves the step undone, and the next one does it.
 */
export function migrate(db: Database, migrations: readonly string[] = MIGRATIONS): void {
  refuseForeign(db, migrations.length);
  while (versionOf(db) < migrations.length) step(db, migrations);
}

function step(db: Database, migrations: readonly string[]): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have done it while we waited for the lock.
    const version = versionOf(db);
    const sql = migrations[version];
    if (sql !== undefined) {
      db.exec(sql);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      db.exec(`PRAGMA user_version = ${version + 1}`);
    }
    db.exec("COMMIT");
  } catch (error) {
    rollback(db);
    throw error;
  }
}

/** Before anything is written: the file may be somebody else's. */
export function refuseForeign(db: Database, newest: number = MIGRATIONS.length): void {
  const why = whyForeign(db, newest);
  if (why !== null) throw new WrongDatabase(why);
}

function whyForeign(db: Database, newest: number): string | null {
  // In one look, because another process may be making the database just now.
  db.exec("BEGIN");
  const [version, ours, empty] = [versionOf(db), isOurs(db), isEmpty(db)];
  db.exec("COMMIT");
  if (empty) return null;
  if (!ours) return "this file is a database, but not one of Longhand's: give another path, or import it";
  if (version <= newest) return null;
  return `this database has version ${version}, and this Longhand knows versions up to ${newest}: start the newer Longhand that wrote it`;
}

function versionOf(db: Database): number {
  return Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
}

function isOurs(db: Database): boolean {
  return db.prepare("PRAGMA application_id").get()?.application_id === APPLICATION_ID;
}

function isEmpty(db: Database): boolean {
  return db.prepare("SELECT 1 AS found FROM sqlite_schema LIMIT 1").get() === undefined;
}

/** Undo the open transaction. SQLite may have undone it itself (a full disk does that), which is as good. */
export function rollback(db: Database): void {
  try {
    db.exec("ROLLBACK");
  } catch {
    // There was none left to undo.
  }
}
