import { createRequire } from "node:module";
import type { Row, SqlValue } from "../rows/columns.js";

export type { Row, SqlValue } from "../rows/columns.js";

/** The part of `node:sqlite` we use; `@photostructure/sqlite` has the same shape. */
export type Statement = {
  run(...parameters: SqlValue[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  get(...parameters: SqlValue[]): Row | undefined;
  all(...parameters: SqlValue[]): Row[];
};
export type Database = {
  exec(sql: string): void;
  prepare: Prepare;
  close(): void;
};
type Options = { readOnly?: boolean; timeout: number; enableForeignKeyConstraints: boolean };
type Driver = { DatabaseSync: new (path: string, options: Options) => Database };

/** A statement, compiled when it is first needed. */
export type Prepare = (sql: string) => Statement;

/** Open a file with Node's own SQLite where it will do, otherwise with a package that has the same API. */
export function openDatabase(path: string, options: { readOnly: boolean; busyMs: number }): Database {
  const { DatabaseSync } = driver();
  const db = new DatabaseSync(path, {
    readOnly: options.readOnly,
    timeout: options.busyMs,
    // What belongs together is checked where it is written, alike in every store.
    enableForeignKeyConstraints: false,
  });
  const compiled = new Map<string, Statement>();
  return {
    exec: (sql) => db.exec(sql),
    prepare(sql) {
      const known = compiled.get(sql);
      if (known) return known;
      const statement = db.prepare(sql);
      compiled.set(sql, statement);
      return statement;
    },
    close() {
      // The file stays open as long as one of them is reachable.
      compiled.clear();
      db.close();
    },
  };
}

let loaded: Driver | null = null;

function driver(): Driver {
  if (loaded) return loaded;
  const require = createRequire(import.meta.url);
  const own = builtIn(require);
  const chosen: Driver = own ?? require("@photostructure/sqlite");
  loaded = chosen;
  return chosen;
}

/** Node's own SQLite, if it has one that can search: the first versions were built without. */
function builtIn(require: NodeJS.Require): Driver | null {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < 22 || (major === 22 && minor < 13)) return null;
  const own: Driver = quietly(() => require("node:sqlite"));
  const db = new own.DatabaseSync(":memory:", { timeout: 0, enableForeignKeyConstraints: false });
  const row = db.prepare("SELECT sqlite_compileoption_used('ENABLE_FTS5') AS searches").get();
  db.close();
  return row?.searches === 1 ? own : null;
}

/** Some versions of Node greet everyone who loads their SQLite with a warning about it being new. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Result codes that say "not now": the disk, a lock or memory, never the statement. */
const NOT_NOW: ReadonlySet<number> = new Set([
  5, // busy
  6, // locked
  7, // out of memory
  8, // read-only
  10, // input/output
  11, // corrupt
  13, // full
  14, // cannot open
  15, // locking protocol
  26, // not a database
]);

/** Why the database cannot serve now, or null when the error is something else. */
export function unavailability(error: unknown): string | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return NOT_NOW.has(error.errcode & 0xff) ? error.message : null;
}
