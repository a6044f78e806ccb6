import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { CHAT, entry, kept, message, registered, said, work } from "./contract/sample.js";
import { openDatabase } from "./sqlite/driver.js";
import { openQueue } from "./sqlite/queue.js";
import { startThread, type Thread } from "./sqlite/thread.js";
import { openSqlite } from "./sqlite.js";
import { type CommitResult, type Store, StoreUnavailable } from "./store.js";

/** What cannot be stored is refused whole, and works again when the cause is gone, without opening anything anew. */

const folder = mkdtempSync(join(tmpdir(), "longhand-trouble-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BIG = "x".repeat(100_000);

/** Commit until the store has no room. Ids that were promised. */
async function fill(store: Store, name: string): Promise<string[]> {
  const promised: string[] = [];
  for (let n = 0; n < 1_000; n++) {
    const id = `${name}${n}`;
    try {
      await kept(store, [message(id, { content: BIG }), work(`w-${id}`)]);
      promised.push(id);
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailable);
      return promised;
    }
  }
  throw new Error("the store never filled up");
}

/** Only what was promised is there, whole and numbered without gaps. */
async function holdsExactly(store: Store, promised: readonly string[]): Promise<void> {
  const rows = await said(store);
  expect(rows.map(({ id }) => id)).toEqual(promised);
  expect(rows.map(({ seq }) => seq)).toEqual(promised.map((_, index) => index + 1));
  const waiting = await store.read.work("turn", `turn:${CHAT}`, 10_000);
  expect(waiting.map(({ id }) => id)).toEqual(promised.map((id) => `w-${id}`));
}

describe("when the disk is full", () => {
  test("nothing is half-stored, and it goes on when there is room again", async () => {
    const path = join(folder, "limited.db");
    const store = await openSqlite({ path, maxBytes: 3_000_000 });
    const attachment = {
      name: "a",
      mime_type: "text/plain",
      size: 1,
      sha256: "ballast",
      state: "delivered",
      reason: null,
      url: null,
    } as const;
    await kept(store, [registered(), registered("other"), message("ballast", { chat_jid: "other" })]);
    await kept(store, [
      {
        type: "attachment",
        chat_jid: "other",
        message_id: "ballast",
        index: 0,
        attachment,
        bytes: new Uint8Array(1_500_000),
      },
    ]);
    const promised = await fill(store, "a");
    expect(promised.length).toBeGreaterThan(2);
    await expect(store.commit({ facts: [message("more", { content: BIG })] })).rejects.toThrow(
      StoreUnavailable,
    );
    await holdsExactly(store, promised);

    const operator = openDatabase(path, { readOnly: false, busyMs: 1000 });
    operator.exec("DELETE FROM attachment_bytes");
    operator.close();
    promised.push(...(await fill(store, "b")));
    expect(promised.filter((id) => id.startsWith("b")).length).toBeGreaterThan(2);
    await holdsExactly(store, promised);
    await store.close();
  });

  test("and when it is a real file system that is full", async ({ skip }) => {
    const small = join(folder, "small");
    if (!mounted(small))
      skip("needs a tmpfs of its own, which only root may mount: the test above stands in for it");
    try {
      const ballast = join(small, "ballast");
      writeFileSync(ballast, Buffer.alloc(2_000_000));
      const store = await openSqlite({ path: join(small, "full.db") });
      await kept(store, [registered()]);
      const promised = await fill(store, "a");
      await expect(store.commit({ facts: [message("more", { content: BIG })] })).rejects.toThrow(
        StoreUnavailable,
      );
      await holdsExactly(store, promised);
      rmSync(ballast);
      promised.push(...(await fill(store, "b")));
      expect(promised.filter((id) => id.startsWith("b")).length).toBeGreaterThan(2);
      await holdsExactly(store, promised);
      await store.close();
    } finally {
      execFileSync("umount", ["--lazy", small]);
    }
  });
});

function mounted(folderName: string): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  mkdirSync(folderName);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", folderName], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe("when somebody else holds the database locked", () => {
  test("writes are refused after a while, readers and the event loop go on, and then it works again", async () => {
    const path = join(folder, "locked.db");
    const store = await openSqlite({ path, busyMs: 300 });
    await kept(store, [registered(), message("m1")]);
    const other = openDatabase(path, { readOnly: false, busyMs: 1000 });
    other.exec("BEGIN EXCLUSIVE");

    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 5);
    const refused = expect(store.commit({ facts: [message("m2")] })).rejects.toThrow(StoreUnavailable);
    await pause(50);
    expect((await said(store)).length).toBe(1);
    await refused;
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
    await expect(store.claim({ kind: "turn", holder: "a", now: 1, leaseMs: 1, limit: 1 })).rejects.toThrow(
      StoreUnavailable,
    );

    other.exec("ROLLBACK");
    other.close();
    expect(await kept(store, [message("m2")])).toEqual({ m2: 2 });
    await store.close();
  });

  test("a lock that is let go in time costs only the wait", async () => {
    const path = join(folder, "briefly.db");
    const store = await openSqlite({ path });
    await kept(store, [registered()]);
    const other = openDatabase(path, { readOnly: false, busyMs: 1000 });
    other.exec("BEGIN IMMEDIATE");
    const waiting = kept(store, [message("m1")]);
    await pause(100);
    other.exec("ROLLBACK");
    other.close();
    expect(await waiting).toEqual({ m1: 1 });
    await store.close();
  });

  test("opening is refused as well", async () => {
    const path = join(folder, "unopened.db");
    const other = openDatabase(path, { readOnly: false, busyMs: 1000 });
    other.exec("BEGIN EXCLUSIVE");
    await expect(openSqlite({ path, busyMs: 100 })).rejects.toThrow(StoreUnavailable);
    other.exec("ROLLBACK");
    other.close();
    await (await openSqlite({ path, busyMs: 100 })).close();
  });
});

describe("when more comes than the disk can take", () => {
  test("what exceeds the queue is refused at once, the rest is stored", async () => {
    const store = await openSqlite({ path: join(folder, "queue.db"), queue: { operations: 10 } });
    await kept(store, [registered()]);
    const results = await Promise.allSettled(
      Array.from({ length: 25 }, (_, index) => store.commit({ facts: [message(`m${index}`)] })),
    );
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(10);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toBeInstanceOf(StoreUnavailable);
    }
    expect((await said(store)).length).toBe(10);
    expect(await kept(store, [message("later")])).toEqual({ later: 11 });
    await store.close();
  });

  test("large messages count by their size", async () => {
    const store = await openSqlite({ path: join(folder, "bytes.db"), queue: { bytes: 1_000_000 } });
    await kept(store, [registered()]);
    const both = await Promise.allSettled([
      store.commit({ facts: [message("m1", { content: "x".repeat(400_000) })] }),
      store.commit({ facts: [message("m2", { content: "x".repeat(400_000) })] }),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await store.close();
  });
});

test("a thread that dies takes no promise with it, and the next write starts another", async () => {
  const path = join(folder, "thread.db");
  await (await openSqlite({ path })).close();
  const threads: Thread[] = [];
  const queue = await openQueue(
    { path, busyMs: 1000, maxBytes: null },
    { operations: 100, bytes: 1e9 },
    () => {},
    async (...args) => {
      const thread = await startThread(...args);
      threads.push(thread);
      return thread;
    },
  );
  const claim = () => queue.run(["claim", { kind: "turn", holder: "a", now: 1, leaseMs: 1, limit: 1 }], 0);
  expect(await claim()).toEqual(["claimed", []]);
  const waiting = [claim(), claim()];
  void threads[0]?.end();
  const results = await Promise.allSettled(waiting);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toBeInstanceOf(StoreUnavailable);
  }
  expect(await claim()).toEqual(["claimed", []]);
  expect(threads.length).toBe(2);
  await queue.close();
});

test("what cannot be handed to the writer is told to whoever handed it in, and to nobody else", async () => {
  const store = await openSqlite({ path: join(folder, "uncopied.db") });
  await kept(store, [registered()]);
  const results = await Promise.allSettled([
    store.commit({ facts: [message("m1")] }),
    store.commit({ facts: [message("m2"), entry("e1", null, { data: { broken: () => {} } })] }),
    store.commit({ facts: [message("m3")] }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((await said(store)).map(({ id }) => id)).toEqual(["m1", "m3"]);
  await store.close();
});

test("a bug in one batch is told to its writer and to nobody else", async () => {
  const store = await openSqlite({ path: join(folder, "bug.db") });
  await kept(store, [registered()]);
  // A number the database will not take, such as only a bug can produce.
  const broken = work("w1", { run_at: 1.5 });
  const results = await Promise.allSettled<CommitResult>([
    store.commit({ facts: [message("m1")] }),
    store.commit({ facts: [message("m2"), broken] }),
    store.commit({ facts: [message("m3")] }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((await said(store)).map(({ id, seq }) => [id, seq])).toEqual([
    ["m1", 1],
    ["m3", 2],
  ]);
  await store.close();
});
