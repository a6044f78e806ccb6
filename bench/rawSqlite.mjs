import { connectWriter } from "../dist/store/sqlite/connect.js";
import { applyFacts } from "../dist/store/sqlite/facts.js";
import { pack } from "../dist/store/sqlite/pack.js";

/**
 * The floor of group commit: the SQLite binding alone, given exactly the statements and values that the store gives
 * it for the same batches. They are recorded from the store's own code, so the two cannot drift apart.
 */

/** @typedef {{ statement: number, method: "run" | "get" | "all", values: unknown[] }} Step */
/** @typedef {{ sql: string[], batches: Step[][] }} Recording */

const connect = (path) => connectWriter({ path, busyMs: 2_000, maxBytes: null });

/**
 * What the store asks of SQLite for each of these batches.
 * @param {string} path of a database that is made for it
 * @param {{ facts: any[] }} first made before the others, and not recorded
 * @param {readonly { facts: any[] }[]} batches
 * @returns {Recording}
 */
export function record(path, first, batches) {
  const db = connect(path);
  db.exec("PRAGMA synchronous = OFF");
  db.exec("BEGIN");
  write(db.prepare, first);
  /** @type {Recording} */
  const recording = { sql: [], batches: [] };
  for (const batch of batches) write(recorder(db.prepare, recording), batch);
  db.exec("COMMIT");
  db.close();
  return recording;
}

function write(prepare, { facts }) {
  const written = applyFacts(prepare, pack(facts).facts);
  if (!Array.isArray(written)) throw new Error(`a batch was refused: ${JSON.stringify(written)}`);
}

/** Prepares statements that also write down how one batch uses them. @param {Recording} recording */
function recorder(prepare, { sql: known, batches }) {
  /** @type {Step[]} */
  const steps = [];
  batches.push(steps);
  return (sql) => {
    const real = prepare(sql);
    if (!known.includes(sql)) known.push(sql);
    const statement = known.indexOf(sql);
    const noted =
      (method) =>
      (...values) => {
        steps.push({ statement, method, values });
        return real[method](...values);
      };
    return { run: noted("run"), get: noted("get"), all: noted("all") };
  };
}

/**
 * A fresh database, ready to take what was recorded.
 * @param {string} path @param {{ facts: any[] }} first @param {Recording} recording
 */
export function openRaw(path, first, recording) {
  const db = connect(path);
  write(db.prepare, first);
  const statements = recording.sql.map((sql) => db.prepare(sql));
  const [savepoint, release] = [db.prepare("SAVEPOINT batch"), db.prepare("RELEASE batch")];
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];

  /** One transaction, a savepoint for each batch. @param {number} from @param {number} to */
  const commitGroup = (from, to) => {
    begin.run();
    for (const steps of recording.batches.slice(from, to)) {
      savepoint.run();
      for (const { statement, method, values } of steps) statements[statement][method](...values);
      release.run();
    }
    commit.run();
  };
  return { commitGroup, close: () => db.close() };
}
