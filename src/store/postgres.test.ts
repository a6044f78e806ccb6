import pg from "pg";
import { afterAll, describe, test } from "vitest";
import { startPostgres } from "../testing/postgresServer.js";
import { storeContract } from "./contract.js";
import { openPostgres } from "./postgres.js";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(!server)("the postgres store", async () => {
  const url = (await server?.database()) ?? "";
  const janitor = new pg.Client({ connectionString: url });
  if (server) await janitor.connect();
  afterAll(() => janitor.end());
  // Emptying a database is quicker than making one.
  const open = async () => {
    await emptied(janitor);
    return openPostgres({ url, clock: null, lookMs: 3_600_000, connections: 2 });
  };
  for (const { name, run } of storeContract(open)) test(name, run);
});

async function emptied(janitor: pg.Client): Promise<void> {
  const { rows } = await janitor.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('longhand_version', 'counters')",
  );
  await janitor.query(rows.map(({ tablename }) => `DELETE FROM ${tablename};`).join(""));
}
