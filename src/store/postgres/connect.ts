import type { Client, ClientConfig, Pool, PoolClient } from "pg";
import type { Row } from "../rows/columns.js";
import { StoreUnavailable } from "../store.js";
import { escaped, parsedJson, unescaped } from "./text.js";

export type { Row } from "../rows/columns.js";
/** Ask, with `$1`, `$2`, … for the values. */
export type Query = (sql: string, ...values: unknown[]) => Promise<Row[]>;

export type Place = {
  /** Where, without our own parameters. */
  url: string;
  schema: string | null;
  /** How long a statement waits for a lock. */
  lockMs: number;
};

/** A `DATABASE_URL` that cannot be one. Says why without repeating it: it holds a password. */
export class WrongUrl extends Error {
  override name = "WrongUrl";
}

/** Locks are held for the length of a statement: whoever waits longer than this waits for somebody else's mischief. */
const LOCK_MS = 10_000;

/** Split a URL such as `postgres://user:secret@host/database?schema=longhand`. */
export function placeOf(url: string, lockMs: number = LOCK_MS): Place {
  const parsed = parsedUrl(url);
  const schema = parsed.searchParams.get("schema");
  parsed.searchParams.delete("schema");
  if (schema !== null && !/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) {
    throw new WrongUrl("schema= in the database URL takes small letters, digits and _, such as longhand");
  }
  return { url: parsed.href, schema, lockMs };
}

function parsedUrl(url: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new WrongUrl(
      "the database URL cannot be read: it looks like postgres://user:password@host:5432/database",
    );
  }
  if (parsed.protocol === "postgres:" || parsed.protocol === "postgresql:") return parsed;
  throw new WrongUrl(`the database URL begins with ${parsed.protocol}//: it must begin with postgres://`);
}

/** A server that does not answer for so long is gone; the connection with it. */
const ANSWER_MS = 30_000;
const CONNECT_MS = 5_000;

export function configOf({ url, schema, lockMs }: Place): ClientConfig {
  const settings = ["-c default_transaction_isolation=read\\ committed"];
  if (schema !== null) settings.push(`-c search_path=${schema}`);
  return {
    connectionString: url,
    application_name: "longhand",
    options: settings.join(" "),
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: ANSWER_MS - 5_000,
    query_timeout: ANSWER_MS,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: ANSWER_MS,
    keepAlive: true,
    types: { getTypeParser: parserOf },
  };
}

const BYTEA = 17;
const INT8 = 20;
const INT4 = 23;
const TEXT = 25;
const FLOAT8 = 701;
const JSONB = 3802;

/** Values as the rest of the store has them: whole numbers as numbers, texts as they were before they were escaped. */
function parserOf(type: number): (value: string) => unknown {
  switch (type) {
    case INT8:
    case INT4:
    case FLOAT8:
      return Number;
    case TEXT:
      return unescaped;
    case BYTEA:
      return (value) => Uint8Array.from(Buffer.from(value.slice(2), "hex"));
    case JSONB:
      return parsedJson;
    default:
      return (value) => value;
  }
}

/** A connection of its own, not open yet, for what may take longer than anything else we ask. */
export async function patientClient(place: Place): Promise<Client> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    ...configOf(place),
    query_timeout: 0,
    statement_timeout: 0,
    lock_timeout: 0,
  });
  client.on("error", () => {});
  return client;
}

/** Some connections; made when needed, given up when broken. */
export async function openPool(place: Place, max: number): Promise<Pool> {
  // Read only by those who use Postgres.
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({ ...configOf(place), max, idleTimeoutMillis: 60_000, allowExitOnIdle: true });
  // A connection that breaks while nobody uses it is simply not used again.
  pool.on("error", () => {});
  pool.on("connect", (client: PoolClient) => client.on("error", () => {}));
  return pool;
}

const names = new Map<string, string>();

/** Ask on a pool, with plans the server keeps. Trouble of the server is `StoreUnavailable`; anything else is a bug. */
export function queryOn(pool: Pool): Query {
  return async (sql, ...values) => {
    const name = names.get(sql) ?? `longhand_${names.size}`;
    names.set(sql, name);
    try {
      return (await pool.query<Row>({ name, text: sql, values: values.map(asStored) })).rows;
    } catch (error) {
      throw orUnavailable(error);
    }
  };
}

function asStored(value: unknown): unknown {
  if (typeof value === "string") return escaped(value);
  return Array.isArray(value) ? value.map(asStored) : value;
}

export function orUnavailable(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  const why = unavailability(error);
  return why === null ? error : new StoreUnavailable(why, { cause: error });
}

/** Two writers met in an unlucky order; the server undid one of them. Doing it again is all there is to do. */
export function isUnlucky(error: unknown): boolean {
  return stateOf(error)?.startsWith("40") ?? false;
}

/** Classes of SQLSTATE that speak of the server, the connection or its limits, never of the statement. */
const NOT_NOW = new Set(["08", "25", "28", "3D", "40", "53", "55", "57", "58", "XX"]);
/** A plan the server kept is of no use since the tables changed; the connection is given up and the next has none. */
const STALE_PLAN = "0A000";

/** Why the server cannot serve now, or null when the error is something else. */
export function unavailability(error: unknown): string | null {
  const state = stateOf(error);
  if (state !== null) {
    return NOT_NOW.has(state.slice(0, 2)) || state === STALE_PLAN
      ? `Postgres: ${messageOf(error)} (${state})`
      : null;
  }
  // What is not from the server is from the way to it; our own mistakes have names of their own.
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return null;
  return `Postgres cannot be reached: ${messageOf(error)}`;
}

export function stateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return null;
  return /^[0-9A-Z]{5}$/.test(error.code) && !/^E[A-Z]{4}$/.test(error.code) ? error.code : null;
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
