import { connectWriter } from "../dist/store/sqlite/connect.js";
import { preparing } from "../dist/store/sqlite/driver.js";
import { applyFacts } from "../dist/store/sqlite/facts.js";
import { pack } from "../dist/store/sqlite/pack.js";

/**
 * The floor of group commit: the SQLite binding alone, given exactly the statements and values that the store gives
 * it for the same batches. They are recorded from the store's own code, so the two cannot drift apart.
 */

/** @typedef {{ sql: string, method: "run" | "get" | "all", values: unknown[] }} Step */

const BUSY_MS = 2_000;

/**
 * What the store asks of SQLite for each of these batches.
 * @param {string} path of a database that is made for it
 * @param {{ facts: any[] }} first made before the others, and not recorded
 * @param {readonly { facts: any[] }[]} batches
 * @returns {Step[][]}
 */
export function record(path, first, batches) {
  const db = connectWriter(path, BUSY_MS);
  const prepare = preparing(db);
  db.exec("PRAGMA synchronous = OFF");
  db.exec("BEGIN");
  applyFacts(prepare, pack(first.facts).facts);
  const recorded = batches.map(({ facts }) => {
    /** @type {Step[]} */
    const steps = [];
    const written = applyFacts(recording(prepare, steps), pack(facts).facts);
    if (!Array.isArray(written)) throw new Error(`a batch was refused: ${JSON.stringify(written)}`);
    return steps;
  });
  db.exec("COMMIT");
  db.close();
  return recorded;
}

/** Prepares statements that also write down how they are used. @param {Step[]} steps */
function recording(prepare, steps) {
  return (sql) => {
    const statement = prepare(sql);
    const noted =
      (method) =>
      (...values) => {
        steps.push({ sql, method, values });
        return statement[method](...values);
      };
    return { run: noted("run"), get: noted("get"), all: noted("all") };
  };
}

/**
 * A fresh database, ready to take the recorded batches.
 * @param {string} path @param {{ facts: any[] }} first
 */
export function openRaw(path, first) {
  const db = connectWriter(path, BUSY_MS);
  applyFacts(preparing(db), pack(first.facts).facts);
  const statements = new Map();
  const prepared = (sql) => {
    if (!statements.has(sql)) statements.set(sql, db.prepare(sql));
    return statements.get(sql);
  };
  const [savepoint, release] = [db.prepare("SAVEPOINT batch"), db.prepare("RELEASE batch")];
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];

  /** One transaction, a savepoint for each batch. @param {readonly Step[][]} group */
  const commitGroup = (group) => {
    begin.run();
    for (const steps of group) {
      savepoint.run();
      for (const { sql, method, values } of steps) prepared(sql)[method](...values);
      release.run();
    }
    commit.run();
  };
  return { commitGroup, close: () => db.close() };
}
