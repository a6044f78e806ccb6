import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { claimed, kept, message, onlyClaim, registered, said, work } from "./contract/sample.js";
import { openSqlite } from "./sqlite.js";
import type { News } from "./store.js";

/**
 * Two stores on one file: each has its own writing thread and connections, so that to SQLite they are two processes.
 * (crash.test.ts has real ones.)
 */

const folder = mkdtempSync(join(tmpdir(), "longhand-processes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("several that open a new database at the same moment all succeed", async () => {
  const path = join(folder, "new.db");
  const stores = await Promise.all(Array.from({ length: 4 }, () => openSqlite({ path })));
  await Promise.all(stores.map((store, index) => kept(store, [registered(`chat${index}`)])));
  for (const store of stores) expect((await store.read.chats()).length).toBe(4);
  await Promise.all(stores.map((store) => store.close()));
});

test("two who write at once store each message once and number all without gaps", async () => {
  const path = join(folder, "both.db");
  const [a, b] = await Promise.all([openSqlite({ path }), openSqlite({ path })]);
  await kept(a, [registered()]);
  const writes = Array.from({ length: 300 }, (_, index) => {
    const store = index % 2 === 0 ? a : b;
    // Every key arrives at both.
    return store.commit({ facts: [message(`m${index}`, { dedupe_key: `k${Math.floor(index / 2)}` })] });
  });
  const results = await Promise.all(writes);
  expect(results.filter(({ status }) => status === "committed").length).toBe(150);
  expect(results.filter(({ status }) => status === "duplicate").length).toBe(150);
  const rows = await said(b);
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 150 }, (_, index) => index + 1));
  expect(await said(a)).toEqual(rows);
  const events = await a.read.events({ after: null, chat_jid: null, limit: 1000 });
  expect(events.length).toBe(151);
  await Promise.all([a.close(), b.close()]);
});

test("a lane is held by one of them, and the other is fenced off after a takeover", async () => {
  const path = join(folder, "lanes.db");
  const [a, b] = await Promise.all([openSqlite({ path }), openSqlite({ path })]);
  await kept(a, [registered(), work("w1")]);
  const held = await onlyClaim(a, 10, 20);
  expect(await claimed(b, 15, 30)).toEqual([]);
  const taken = await onlyClaim(b, 20, 30);
  expect(taken.fence).toBeGreaterThan(held.fence);
  const { lane, fence } = held;
  const late = await a.settle({
    lease: { lane, fence },
    done: ["w1"],
    later: [],
    release: true,
    facts: [message("m1")],
  });
  expect(late).toEqual({ status: "fenced", lane });
  expect(await said(b)).toEqual([]);
  await Promise.all([a.close(), b.close()]);
});

test("what one of them writes is news to the other", async () => {
  const path = join(folder, "news.db");
  const [a, b] = await Promise.all([openSqlite({ path }), openSqlite({ path })]);
  const heard = new Promise<News>((resolve) => b.subscribe(resolve));
  await kept(a, [registered(), message("m1"), work("w1")]);
  const news = await heard;
  expect(news.events).toBe(true);
  expect(news.work).toContain("turn");
  expect(await b.read.message("home", "m1")).not.toBeNull();
  await Promise.all([a.close(), b.close()]);
});
