import { openSqlite } from "../dist/store/sqlite.js";
import { CHAT_BATCH, ingestBatches } from "./batches.mjs";

/** Runs the batches through the store once, under the recorder. The first argument is the database to make. */
const store = await openSqlite({ path: process.argv[2] });
await store.commit(CHAT_BATCH);
for (const result of await Promise.all(ingestBatches().map((batch) => store.commit(batch)))) {
  if (result.status !== "committed") throw new Error(`a batch was answered ${result.status}`);
}
await store.close();
