import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { storeContract } from "./contract.js";
import { openMemory } from "./memory.js";
import { openSqlite } from "./sqlite.js";

const folder = mkdtempSync(join(tmpdir(), "longhand-store-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Copying an empty database is quicker than making one.
const empty = join(folder, "empty.db");
beforeAll(async () => (await openSqlite({ path: empty })).close());

let files = 0;
const stores = {
  memory: async () => openMemory(),
  sqlite: () => {
    const path = join(folder, `${files++}.db`);
    copyFileSync(empty, path);
    return openSqlite({ path });
  },
};

for (const [name, open] of Object.entries(stores)) {
  describe(`the ${name} store`, () => {
    for (const { name: what, run } of storeContract(open)) test(what, run);
  });
}
