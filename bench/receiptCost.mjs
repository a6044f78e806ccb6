import { join } from "node:path";
import binding from "./binding.cjs";
import { createGateway } from "../dist/gateway/index.js";
import { model } from "../dist/provider/model.js";
import { openSqlite } from "../dist/store/sqlite.js";
import { answering, ask } from "./conversation.mjs";
import { temporaryFolder } from "./surroundings.mjs";

/** What the receipts of a chat of a thousand calls take on disk, beside what was said in it. */

const CALLS = 1_000;
/** Every so-manieth question is answered with the help of a tool: two calls. */
const TOOL_EVERY = 5;
const MESSAGES = ["messages"];
const RECEIPTS = ["calls", "call_blocks", "call_parts", "blocks"];

/** @param {(step: string) => void} progress @returns {Promise<import("./measure.mjs").Line[]>} */
export async function receiptCost(progress) {
  const folder = temporaryFolder();
  const path = join(folder.path, "longhand.db");
  try {
    await talk(path, (calls) => progress(`call ${calls} of ${CALLS}`));
    const ours = bytesOf(path, RECEIPTS) / 1024;
    const reference = bytesOf(path, MESSAGES) / 1024;
    const score = ours / reference;
    const what = "receipts of 1,000 calls / their messages, on disk";
    return [{ what, unit: "KB", ours, reference, compare: "ratio", score, target: { atMost: 2 } }];
  } finally {
    folder.remove();
  }
}

async function talk(path, progress) {
  const store = await openSqlite({ path });
  const answers = answering(TOOL_EVERY);
  const gateway = createGateway({
    store,
    // With a window nobody knows nothing is summarised: every request holds the whole chat.
    resolveModel: () => ({ ok: true, model: model({ ...answers.model, window: null }) }),
    defaultModel: "bench",
    fetch: answers.fetch,
  });
  await gateway.start();
  try {
    for (let turn = 0; answers.calls() < CALLS; turn++) {
      if (turn % 50 === 0) progress(answers.calls());
      await ask(gateway, "home", turn);
    }
  } finally {
    await gateway.stop();
    await store.close();
  }
}

/** Pages of tables and their indexes. */
function bytesOf(path, tables) {
  const db = new binding.DatabaseSync(path, { readOnly: true });
  try {
    const marks = tables.map(() => "?").join(", ");
    const sql = `SELECT sum(pgsize) AS bytes FROM dbstat
      WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name IN (${marks}))`;
    return Number(db.prepare(sql).get(...tables).bytes);
  } finally {
    db.close();
  }
}
