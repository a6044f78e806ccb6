const { writeFileSync } = require("node:fs");
const { serialize } = require("node:v8");
const { isMainThread } = require("node:worker_threads");
const binding = require("./binding.cjs");

/**
 * Loaded before the store (`--require`), it writes down what the store's writing thread asks of SQLite, in order, and
 * leaves it in the file BENCH_RECORDING when the database is closed.
 */

/** @type {{ kind: "exec" | "run" | "get" | "all", sql: string, values: unknown[] }[]} */
const asked = [];

class RecordedDatabase extends binding.DatabaseSync {
  exec(sql) {
    asked.push({ kind: "exec", sql, values: [] });
    return super.exec(sql);
  }

  prepare(sql) {
    const statement = super.prepare(sql);
    const noted =
      (kind) =>
      (...values) => {
        asked.push({ kind, sql, values });
        return statement[kind](...values);
      };
    return { run: noted("run"), get: noted("get"), all: noted("all") };
  }

  close() {
    writeFileSync(process.env.BENCH_RECORDING, serialize(asked));
    return super.close();
  }
}

if (!isMainThread) {
  const loaded = Object.values(require.cache).find(
    (module) => module?.exports === binding && !module.filename.endsWith("binding.cjs"),
  );
  // A package is replaced where Node keeps what it loaded; Node's own module can be written to.
  if (loaded) loaded.exports = { ...binding, DatabaseSync: RecordedDatabase };
  else binding.DatabaseSync = RecordedDatabase;
}
