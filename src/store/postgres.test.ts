import pg from "pg";
import { afterAll, describe, test } from "vitest";
import { startPostgres } from "../testing/postgresServer.js";
import { storeContract } from "./contract.js";
import { openPostgres } from "./postgres.js";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(!server)("the postgres store", async () => {
  const url = (await server?.database()) ?? "";
  // Emptying a database is quicker than making one.
  const open = async () => {
    await emptied(url);
    return openPostgres({ url, clock: null, lookMs: 3_600_000, connections: 2 });
  };
  for (const { name, run } of storeContract(open)) test(name, run);
});

async function emptied(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('longhand_version', 'counters')",
  );
  const tables = rows.map(({ tablename }) => tablename).join(", ");
  if (tables !== "") await client.query(`TRUNCATE ${tables} RESTART IDENTITY; UPDATE counters SET value = 0`);
  await client.end();
}
