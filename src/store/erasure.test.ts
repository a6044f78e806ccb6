import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { AT, CHAT, kept, message, registered } from "./contract/sample.js";
import { openDatabase } from "./sqlite/driver.js";
import { openSqlite } from "./sqlite.js";
import type { Fact, Store } from "./store.js";

const folder = mkdtempSync(join(tmpdir(), "longhand-scrub-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = "canary0f7c3a";
const erasing = { id: "e", senders: ["web:olivia"], names: [], accounts: [], at: AT };
const ERASED: Fact = { type: "senders_erased", erasing };

async function spoken(name: string): Promise<{ path: string; store: Store }> {
  const path = join(folder, name);
  const store = await openSqlite({ path });
  await kept(store, [registered()]);
  for (let count = 0; count < 40; count++) {
    const id = `m${count}`;
    await kept(store, [
      message(id, { content: SECRET.repeat(count * 20 + 1), dedupe_key: `${SECRET} ${count}` }),
    ]);
    await kept(store, [
      { type: "revision", chat_jid: CHAT, message_id: id, content: `${SECRET} again`, at: AT },
    ]);
  }
  return { path, store };
}

/** The database's files in which the words are found. */
function traces(path: string): string[] {
  const files = readdirSync(folder).filter((file) => join(folder, file).startsWith(path));
  return files.filter((file) => readFileSync(join(folder, file)).includes(SECRET));
}

async function scrubbed(store: Store): Promise<void> {
  while (!(await store.read.erasure("e"))?.scrubbed) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("a server that went down before the traces were gone takes them away when it comes back", async () => {
  const { path, store } = await spoken("crash.db");
  await kept(store, [ERASED]);
  await scrubbed(store);
  await store.close();
  // As if it had gone down in between: the words lie about in the file.
  const db = openDatabase(path, { readOnly: false, busyMs: 0 });
  db.exec(`CREATE TABLE lying (words TEXT); INSERT INTO lying VALUES ('${SECRET}'); DROP TABLE lying`);
  db.exec("UPDATE erasures SET scrubbed = 0");
  db.close();
  expect(traces(path)).not.toEqual([]);
  const again = await openSqlite({ path });
  await scrubbed(again);
  expect(traces(path)).toEqual([]);
  await again.close();
});

test("while somebody reads the file the traces wait, and others are not held up", async () => {
  const { path, store } = await spoken("read.db");
  const reader = openDatabase(path, { readOnly: true, busyMs: 0 });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM messages").get();
  await kept(store, [ERASED]);
  await kept(store, [message("after", { sender: "web:ben" })]);
  expect((await store.read.message(CHAT, "m1"))?.content).toBe("");
  expect((await store.read.erasure("e"))?.scrubbed).toBe(false);
  reader.exec("COMMIT");
  reader.close();
  await scrubbed(store);
  expect(traces(path)).toEqual([]);
  await store.close();
});
