import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deserialize } from "node:v8";
import { openSqlite } from "../dist/store/sqlite.js";
import { CHAT_BATCH } from "./batches.mjs";
import binding from "./binding.cjs";
import { startNode } from "./surroundings.mjs";

/**
 * The floor of group commit: the SQLite binding alone, given exactly the statements and values that the store gives it
 * for the same batches. They are recorded from the store at work, so the two cannot drift apart.
 */

/** @typedef {{ statement: number, kind: "run" | "get" | "all", values: unknown[] }} Step */
/** @typedef {{ settings: string[], sql: string[], batches: Step[][] }} Recording */

const RECORDER = fileURLToPath(new URL("./recorder.cjs", import.meta.url));
const RECORDED = fileURLToPath(new URL("./recorded.mjs", import.meta.url));

/** @param {string} folder @returns {Promise<Recording>} */
export async function record(folder) {
  const file = join(folder, "recording");
  const env = { BENCH_RECORDING: file };
  const { ended } = startNode(["--require", RECORDER, RECORDED, join(folder, "recorded.db")], { env });
  if ((await ended) !== 0) throw new Error("the batches could not be recorded");
  const asked = deserialize(readFileSync(file));
  const settings = asked
    .filter(({ kind, sql }) => kind === "exec" && /^PRAGMA \w+ = /.test(sql))
    .map(({ sql }) => sql);
  return { settings: [...new Set(settings)], ...batchesIn(asked) };
}

/** What is asked between a savepoint and its release is one batch; the first is the chat's own. */
function batchesIn(asked) {
  /** @type {Map<string, number>} */
  const known = new Map();
  /** @type {Step[][]} */
  const batches = [];
  let steps = null;
  for (const { kind, sql, values } of asked) {
    if (/^SAVEPOINT/.test(sql)) steps = [];
    else if (/^RELEASE/.test(sql)) {
      batches.push(steps);
      steps = null;
    } else if (steps) {
      if (!known.has(sql)) known.set(sql, known.size);
      steps.push({ statement: known.get(sql), kind, values });
    }
  }
  return { sql: [...known.keys()], batches: batches.slice(1) };
}

/**
 * A fresh database, ready to take what was recorded.
 * @param {string} path @param {Recording} recording
 */
export async function openRaw(path, { settings, sql, batches }) {
  const store = await openSqlite({ path });
  await store.commit(CHAT_BATCH);
  await store.close();
  const db = new binding.DatabaseSync(path);
  for (const setting of settings) db.exec(setting);
  db.exec("PRAGMA synchronous = FULL");
  const statements = sql.map((one) => db.prepare(one));
  const [savepoint, release] = [db.prepare("SAVEPOINT batch"), db.prepare("RELEASE batch")];
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];

  /** One transaction, a savepoint for each batch. @param {number} from @param {number} to */
  const commitGroup = (from, to) => {
    begin.run();
    for (const steps of batches.slice(from, to)) {
      savepoint.run();
      for (const { statement, kind, values } of steps) statements[statement][kind](...values);
      release.run();
    }
    commit.run();
  };
  const close = () => {
    const { kept } = db.prepare("SELECT count(*) AS kept FROM messages").get();
    db.close();
    if (kept !== batches.length) throw new Error(`${kept} of ${batches.length} messages were kept`);
  };
  return { commitGroup, close };
}
