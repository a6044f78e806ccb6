import type { Client } from "pg";
import { number, text } from "./rows/columns.js";
import { connectWriter } from "./sqlite/connect.js";
import type { Database, Row, SqlValue } from "./sqlite/driver.js";
import { configOf, orUnavailable, type Place } from "./postgres/connect.js";
import { migrate } from "./postgres/migrate.js";
import { escaped } from "./postgres/text.js";

/** The database is not empty, or something did not arrive. Nothing was changed. */
export class CannotMove extends Error {
  override name = "CannotMove";
}

/** The connection was lost while the last word was awaited: it is moved whole or not at all, and nobody said which. */
export class PerhapsMoved extends Error {
  override name = "PerhapsMoved";
}

/** How a table is gone through: by what, and how many rows at a time. Most have a number for each row. */
type Way = { key: readonly string[]; page: number };
const BY_NUMBER: Way = { key: ["rowid"], page: 500 };

const TABLES: Readonly<Record<string, Way>> = {
  chats: BY_NUMBER,
  bindings: BY_NUMBER,
  addresses: BY_NUMBER,
  messages: BY_NUMBER,
  revisions: BY_NUMBER,
  idempotency: BY_NUMBER,
  inbound: { key: ["chat_jid", "seq"], page: 500 },
  attachments: BY_NUMBER,
  attachment_bytes: { key: ["rowid"], page: 4 },
  work: BY_NUMBER,
  lanes: BY_NUMBER,
  outbox: BY_NUMBER,
  turns: BY_NUMBER,
  entries: BY_NUMBER,
  threads: BY_NUMBER,
  head_moves: BY_NUMBER,
  labels: BY_NUMBER,
  calls: BY_NUMBER,
  call_blocks: { key: ["call_id", "position"], page: 500 },
  call_parts: BY_NUMBER,
  tool_results: { key: ["call_id", "position"], page: 500 },
  blocks: { key: ["rowid"], page: 100 },
  events: BY_NUMBER,
  people: BY_NUMBER,
  person_senders: BY_NUMBER,
  tokens: BY_NUMBER,
  login_codes: { key: ["sha256"], page: 500 },
  spent: { key: ["account", "day"], page: 500 },
  erased_keys: { key: ["chat_jid", "sha256"], page: 500 },
  erasures: BY_NUMBER,
};

/** Made anew on the other side, from the messages. */
const NOT_MOVED = /^(sqlite_|search)/;

export type Progress = (table: string, done: number, total: number) => void;

/**
 * Copy everything from a SQLite file nobody works on to an empty Postgres database, in one transaction: when it is
 * stopped in the middle, nothing has happened. Gives the number of rows by table.
 */
export async function moveToPostgres(
  path: string,
  place: Place,
  progress: Progress,
): Promise<Record<string, number>> {
  const { default: pg } = await import("pg");
  await migrate(place);
  // Brings an older file up to date first.
  const from = connectWriter({ path, busyMs: 0, maxBytes: null });
  const to = new pg.Client({ ...configOf(place), query_timeout: 0, statement_timeout: 0 });
  to.on("error", () => {});
  try {
    await to.connect();
    await to.query("BEGIN");
    const moved = await move(from, to, progress);
    await to.query("COMMIT").catch((error) => {
      throw new PerhapsMoved(messageOf(error), { cause: error });
    });
    // So that the first questions are answered by the right indexes. The server does it by itself too, a little later.
    await to.query("ANALYZE").catch(() => {});
    return moved;
  } catch (error) {
    throw error instanceof CannotMove || error instanceof PerhapsMoved ? error : orUnavailable(error);
  } finally {
    from.close();
    // What is not committed goes with the connection.
    await to.end().catch(() => {});
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function move(from: Database, to: Client, progress: Progress): Promise<Record<string, number>> {
  refuseUnknown(from);
  const tables = Object.keys(TABLES);
  await to.query(`LOCK TABLE ${tables.join(", ")}, counters IN EXCLUSIVE MODE`);
  for (const table of tables) {
    const { rowCount } = await to.query(`SELECT FROM ${table} LIMIT 1`);
    if (rowCount !== 0) throw new CannotMove(`the database is not empty: there is something in ${table}`);
  }
  const moved: Record<string, number> = {};
  for (const table of tables) moved[table] = await moveTable(from, to, table, progress);
  await finish(to);
  for (const table of tables) {
    const { rows } = await to.query(`SELECT count(*) AS rows FROM ${table}`);
    if (Number(rows[0]?.rows) !== countOf(from, table)) {
      throw new CannotMove(
        `${rows[0]?.rows} rows of ${table} arrived, and ${countOf(from, table)} were sent`,
      );
    }
  }
  return moved;
}

/** A table this program does not know would be left behind. */
function refuseUnknown(from: Database): void {
  const names = from.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const unknown = names
    .map(({ name }) => text(name))
    .find((name) => !NOT_MOVED.test(name) && !(name in TABLES));
  if (unknown !== undefined) throw new CannotMove(`the file has a table ${unknown} that cannot be moved`);
}

function countOf(from: Database, table: string): number {
  return number(from.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows);
}

async function moveTable(from: Database, to: Client, table: string, progress: Progress): Promise<number> {
  const total = countOf(from, table);
  const insert = await insertInto(from, to, table);
  let done = 0;
  progress(table, done, total);
  for (const rows of pagesOf(from, table)) {
    await insert(rows);
    done += rows.length;
    progress(table, done, total);
  }
  return done;
}

function* pagesOf(from: Database, table: string): Generator<Row[]> {
  const { key, page } = TABLES[table] ?? BY_NUMBER;
  const columns = key.map((column, index) => `${column} AS key_${index}`).join(", ");
  const order = `ORDER BY ${key.join(", ")} LIMIT ${page}`;
  const places = key.map(() => "?").join(", ");
  let rows = from.prepare(`SELECT *, ${columns} FROM ${table} ${order}`).all();
  while (rows.length > 0) {
    yield rows;
    const last = rows.at(-1);
    const after = key.map((_, index) => last?.[`key_${index}`] ?? null);
    rows = from
      .prepare(`SELECT *, ${columns} FROM ${table} WHERE (${key.join(", ")}) > (${places}) ${order}`)
      .all(...after);
  }
}

/** Rows go column by column: one list of values for each. */
async function insertInto(from: Database, to: Client, table: string) {
  const { rows: known } = await to.query(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1`,
    [table],
  );
  const given = from.prepare("SELECT name FROM pragma_table_info(?)").all(table);
  const columns = given.map(({ name }) => {
    const found = known.find((column) => column.name === name);
    if (!found) throw new CannotMove(`${table} has a column ${name} that cannot be moved`);
    return { name: text(name), type: String(found.type) };
  });
  // Where the order of rows says something, SQLite has it in their numbers.
  const position = table === "person_senders" ? [{ name: "position", type: "bigint", from: "key_0" }] : [];
  const all = [...columns.map((column) => ({ ...column, from: column.name })), ...position];
  const sql = `INSERT INTO ${table} (${all.map(({ name }) => name).join(", ")})
    SELECT * FROM unnest(${all.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ")})`;
  return (rows: readonly Row[]) =>
    to.query(
      sql,
      all.map((column) => rows.map((row) => storedValue(row[column.from]))),
    );
}

function storedValue(value: SqlValue | undefined): unknown {
  if (typeof value === "string") return escaped(value);
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

/** What counts on goes on from where it was; nobody holds anything; the words are indexed anew. */
async function finish(to: Client): Promise<void> {
  await to.query("UPDATE chats SET indexed_seq = 0");
  await to.query("UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = 0 WHERE holder IS NOT NULL");
  await to.query(
    "UPDATE counters SET value = coalesce((SELECT max(cursor) FROM events), 0) WHERE name = 'events'",
  );
  await to.query("SELECT setval('longhand_waits', (SELECT coalesce(max(since), 0) + 1 FROM lanes))");
  for (const [table, column] of [
    ["chats", "number"],
    ...["work", "outbox", "turns", "entries", "head_moves", "calls"].map((name) => [name, "n"]),
  ]) {
    await to.query(
      `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), (SELECT coalesce(max(${column}), 0) + 1 FROM ${table}))`,
    );
  }
}
