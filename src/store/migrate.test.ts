import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setTimeout as after } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { kept, message, registered, said } from "./contract/sample.js";
import { openDatabase } from "./sqlite/driver.js";
import { migrate, WrongDatabase } from "./sqlite/migrate.js";
import { MIGRATIONS } from "./sqlite/schema.js";
import { openSqlite } from "./sqlite.js";

const folder = mkdtempSync(join(tmpdir(), "longhand-migrate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const open = (path: string) => openDatabase(path, { readOnly: false, busyMs: 1000 });
const versionOf = (path: string) => {
  const db = open(path);
  const version = db.prepare("PRAGMA user_version").get()?.user_version;
  db.close();
  return version;
};

/** Run the steps in a process of their own and kill it this long after it began. True when it had time to end. */
async function killedWhileMigrating(path: string, steps: readonly string[], ms: number): Promise<boolean> {
  const script = fileURLToPath(new URL("./fixtures/migrate.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, path, JSON.stringify(steps)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let ended = false;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === "begin") void after(ms).then(() => child.kill("SIGKILL"));
    if (line === "end") ended = true;
  }
  return ended;
}

const COUNT = 2_000_000;
/** A step that takes long enough to be killed in, and shows whether it was done by halves. */
const LONG_STEP = `
  CREATE TABLE numbers (n INTEGER PRIMARY KEY);
  WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < ${COUNT})
  INSERT INTO numbers SELECT n FROM counting;
  CREATE TABLE done (at TEXT);`;

test("a database whose owner was killed in the middle of a step opens again, and the step is done whole", async () => {
  const path = join(folder, "killed.db");
  const steps = [...MIGRATIONS, LONG_STEP];
  expect(await killedWhileMigrating(path, steps, 100), "the step was too quick to be killed in").toBe(false);
  const db = open(path);
  expect(db.prepare("PRAGMA user_version").get()?.user_version).toBe(MIGRATIONS.length);
  expect(db.prepare("SELECT count(*) AS found FROM sqlite_schema WHERE name = 'numbers'").get()?.found).toBe(
    0,
  );
  const short = [...MIGRATIONS, LONG_STEP.replace(String(COUNT), "1000")];
  migrate(db, short);
  expect(db.prepare("SELECT count(*) AS found FROM numbers").get()?.found).toBe(1000);
  expect(db.prepare("PRAGMA user_version").get()?.user_version).toBe(short.length);
  db.close();
});

test("a new database whose owner was killed at any moment of making it opens", async () => {
  for (let ms = 0; ms < 8; ms += 2) {
    const path = join(folder, `new${ms}.db`);
    await killedWhileMigrating(path, MIGRATIONS, ms);
    const store = await openSqlite({ path });
    await kept(store, [registered(), message("m1")]);
    await store.close();
  }
});

test("an older database keeps what is in it", async () => {
  const path = join(folder, "older.db");
  const store = await openSqlite({ path });
  await kept(store, [registered(), message("m1")]);
  await store.close();
  const db = open(path);
  migrate(db, [...MIGRATIONS, "ALTER TABLE messages ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'"]);
  expect(db.prepare("SELECT id, mood FROM messages").all()).toMatchObject([{ id: "m1", mood: "calm" }]);
  db.close();
});

test("a database of the first version opens, and what it did not know yet is unknown, none or null", async () => {
  const path = join(folder, "first.db");
  const db = open(path);
  migrate(db, MIGRATIONS.slice(0, 1));
  db.exec(`
    INSERT INTO chats (jid, last_seq, block_key, registered_at, settings) VALUES ('home', 1, randomblob(32), '', '{}');
    INSERT INTO messages (id, chat_jid, sender, sender_name, content, timestamp, seq)
      VALUES ('m1', 'home', 'web:olivia', 'Olivia', 'words', '2026-11-15T12:00:00.000Z', 1);
    INSERT INTO inbound VALUES ('home', 1, 'm1', 'run', 'trigger', 'pending', '', NULL);
    INSERT INTO turns VALUES ('t1', 'home', '', 'm1', '2026-11-15T12:00:00.000Z', 'running', NULL);
    INSERT INTO tokens VALUES ('k1', 'web', 'aa', '["read"]', '2026-11-15T12:00:00.000Z');
    INSERT INTO people VALUES ('olivia', 'Olivia', '2026-11-15T12:00:00.000Z');
    INSERT INTO person_senders VALUES ('web:olivia', 'olivia');
    INSERT INTO work (id, kind, lane, chat_jid, ref, run_at, attempts)
      VALUES ('w1', 'turn', 'turn:home', 'home', 'm1', 5, 0), ('w2', 'turn', 'turn:other', 'other', 'm2', 5, 0);
    INSERT INTO lanes (lane, kind, chat_jid, free_at, holder, fence)
      VALUES ('turn:home', 'turn', 'home', 5, 'gone', 7), ('turn:other', 'turn', 'other', 5, NULL, 0);`);
  db.close();
  expect(versionOf(path)).toBe(1);
  const store = await openSqlite({ path });
  expect(versionOf(path)).toBe(MIGRATIONS.length);
  expect(await store.read.inbound("home", "m1")).toMatchObject({ outcome: "pending", received_at: 0 });
  expect(await store.read.turn("t1")).toMatchObject({ status: "running", interruptions: 0 });
  expect(await store.read.token("aa")).toMatchObject({ name: "web", person_id: null });
  expect(await store.read.personOf("web:olivia")).toMatchObject({ id: "olivia", senders: ["web:olivia"] });
  expect(await store.read.spent({ accounts: { under: "" }, from: "", to: "9" })).toEqual([]);
  const claims = await store.claim({ kind: "turn", holder: "a", now: 10, leaseMs: 10, limit: 9 });
  expect(claims.map(({ lane, fence, tries }) => [lane, fence, tries])).toEqual([
    ["turn:home", 8, 1],
    ["turn:other", 1, 1],
  ]);
  expect(await kept(store, [message("m2")])).toEqual({ m2: 2 });
  await store.close();
});

test("a database from a newer version is left alone, with a word about why", async () => {
  const path = join(folder, "newer.db");
  await (await openSqlite({ path })).close();
  const db = open(path);
  db.exec("PRAGMA user_version = 999");
  db.close();
  await expect(openSqlite({ path })).rejects.toThrow(WrongDatabase);
  await expect(openSqlite({ path })).rejects.toThrow(/version 999.*newer Longhand/);
  expect(versionOf(path)).toBe(999);
});

test("somebody else's database is left alone", async () => {
  const path = join(folder, "foreign.db");
  const db = open(path);
  db.exec("CREATE TABLE messages (id TEXT, content TEXT); INSERT INTO messages VALUES ('1', 'theirs')");
  db.close();
  await expect(openSqlite({ path })).rejects.toThrow(/not one of Longhand's/);
  const again = open(path);
  expect(again.prepare("SELECT content FROM messages").all()).toMatchObject([{ content: "theirs" }]);
  expect(again.prepare("PRAGMA journal_mode").get()?.journal_mode).toBe("delete");
  again.close();
});

test("what is stored is there when the database is opened again", async () => {
  const path = join(folder, "again.db");
  const first = await openSqlite({ path });
  await kept(first, [registered(), message("m1")]);
  await first.close();
  const second = await openSqlite({ path });
  expect((await said(second)).map(({ id }) => id)).toEqual(["m1"]);
  expect((await second.commit({ facts: [message("m1")] })).status).toBe("duplicate");
  expect(await kept(second, [message("m2")])).toEqual({ m2: 2 });
  await second.close();
});
