import type { Client } from "pg";
import { orUnavailable, patientClient, type Place, stateOf } from "./connect.js";
import { MIGRATIONS } from "./schema.js";

/** The database is somebody else's, or from a later version of Longhand. */
export class WrongDatabase extends Error {
  override name = "WrongDatabase";
}

const ALREADY_THERE = new Set(["42P07", "42710", "42723"]);

/**
 * Bring the database to the newest version. Each step is one transaction under a lock, so that of several processes
 * that start together one does it, and a process killed in the middle leaves the step undone.
 */
export async function migrate(place: Place, migrations: readonly string[] = MIGRATIONS): Promise<void> {
  const client = await patientClient(place);
  try {
    await client.connect();
    if (place.schema !== null) await client.query(`CREATE SCHEMA IF NOT EXISTS ${place.schema}`);
    while ((await step(client, migrations)) < migrations.length);
  } catch (error) {
    throw error instanceof WrongDatabase ? error : orUnavailable(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The version after one step. */
async function step(client: Client, migrations: readonly string[]): Promise<number> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended('longhand ' || current_schema(), 0))");
    await client.query("CREATE TABLE IF NOT EXISTS longhand_version (version bigint NOT NULL)");
    const { rows } = await client.query("SELECT version FROM longhand_version");
    const version = rows[0] === undefined ? 0 : Number(rows[0].version);
    if (version > migrations.length) throw tooNew(version, migrations.length);
    const sql = migrations[version];
    if (sql !== undefined) {
      await client.query(sql);
      await client.query("DELETE FROM longhand_version");
      await client.query("INSERT INTO longhand_version VALUES ($1)", [version + 1]);
    }
    await client.query("COMMIT");
    return sql === undefined ? version : version + 1;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    if (ALREADY_THERE.has(stateOf(error) ?? "")) throw notOurs(error);
    throw error;
  }
}

function tooNew(version: number, newest: number): WrongDatabase {
  return new WrongDatabase(
    `this database has version ${version}, and this Longhand knows versions up to ${newest}: start the newer Longhand that wrote it`,
  );
}

function notOurs(cause: unknown): WrongDatabase {
  return new WrongDatabase(
    "this database has tables of its own: give Longhand another database, or a schema of its own with ?schema=longhand at the end of the URL",
    { cause },
  );
}
