import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { startPostgres } from "../testing/postgresServer.js";
import {
  CHAT,
  call,
  entry,
  inbound,
  kept,
  LATER,
  message,
  registered,
  said,
  work,
} from "./contract/sample.js";
import { openPostgres, type PostgresOptions } from "./postgres.js";
import { placeOf } from "./postgres/connect.js";
import { migrate } from "./postgres/migrate.js";
import { MIGRATIONS } from "./postgres/schema.js";
import { type Store, WORK_KINDS } from "./store.js";

/** What only a store that several processes share has to get right. */

const server = await startPostgres();
afterAll(() => server?.stop());

const LONG = process.env.LONGHAND_LONG === "1";
const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

async function opened(url: string, more: Partial<PostgresOptions> = {}): Promise<Store> {
  const store = await openPostgres({ url, connections: 2, lookMs: 3_600_000, ...more });
  open.push(store);
  return store;
}

describe.skipIf(!server)("many processes on one Postgres", () => {
  const database = async () => (await server?.database()) ?? "";

  test("a reader of the log sees every event once and in order, while eight write", async () => {
    const url = await database();
    const writers = await Promise.all(Array.from({ length: 8 }, () => opened(url, { connections: 1 })));
    const reader = await opened(url);
    const chats = ["a", "b", "c"];
    await kept(
      reader,
      chats.map((jid) => registered(jid)),
    );
    const each = LONG ? 400 : 60;
    let writing = true;
    const written = Promise.all(
      writers.map(async (store, w) => {
        for (let n = 0; n < each; n++) {
          const chat_jid = chats[(w + n) % chats.length] ?? "a";
          await kept(store, [message(`${w}-${n}`, { chat_jid })]);
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen: string[] = [];
    let after: string | null = null;
    for (;;) {
      const last = !writing;
      const page = await reader.read.events({ after, chat_jid: null, limit: 50 });
      for (const { cursor } of page) seen.push(cursor);
      after = page.at(-1)?.cursor ?? after;
      if (last && page.length === 0) break;
    }
    await written;
    const all = await reader.read.events({ after: null, chat_jid: null, limit: 100_000 });
    expect(seen).toEqual(all.map(({ cursor }) => cursor));
    expect(seen.map(Number)).toEqual(Array.from({ length: 8 * each + 3 }, (_, index) => index + 1));
    for (const jid of chats) {
      const seqs = (await said(reader, jid)).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
  });

  test("batches that touch the same chats and lanes in every order all get through", async () => {
    const url = await database();
    const stores = await Promise.all([opened(url), opened(url), opened(url)]);
    const jids = ["a", "b", "c", "d"];
    await kept(
      stores[0] as Store,
      jids.map((jid) => registered(jid)),
    );
    const rounds = LONG ? 200 : 25;
    await Promise.all(
      stores.map(async (store, s) => {
        for (let n = 0; n < rounds; n++) {
          const order = [...jids].sort(
            (x, y) => ((x.charCodeAt(0) * (n + s + 3)) % 7) - ((y.charCodeAt(0) * (n + s + 3)) % 7),
          );
          await kept(
            store,
            order.flatMap((chat_jid) => [
              message(`${s}-${n}`, { chat_jid }),
              work(`${s}-${n}-${chat_jid}`, { chat_jid, lane: `turn:${chat_jid}` }),
            ]),
          );
        }
      }),
    );
    for (const jid of jids) expect(await said(stores[0] as Store, jid)).toHaveLength(3 * rounds);
  });

  test("news of one process reaches the others, and their own is not told twice", async () => {
    const url = await database();
    const [mine, theirs] = [await opened(url), await opened(url)];
    const told: string[] = [];
    mine.subscribe(({ work: kinds, events, settings }) => told.push(`mine ${kinds} ${events} ${settings}`));
    const heard = new Promise<string>((resolve) => {
      theirs.subscribe(({ work: kinds, events, settings }) => resolve(`${kinds} ${events} ${settings}`));
    });
    await kept(mine, [registered(), message("m1"), work("w1")]);
    expect(await heard).toBe("turn true true");
    expect(told).toEqual(["mine turn true true"]);
  });

  test("whoever misses a notification is told to look again all the same", async () => {
    const url = await database();
    const [mine, theirs] = [await opened(url), await opened(url, { lookMs: 50 })];
    await kept(mine, [registered()]);
    await new Promise<void>((resolve) => {
      theirs.subscribe(({ work: kinds }) => kinds.length === WORK_KINDS.length && resolve());
    });
  });

  test("a process that was stopped finds its lane taken and cannot write; it held nobody up meanwhile", async () => {
    const url = await database();
    const store = await opened(url);
    await kept(store, [registered(), work("w1")]);
    const script = fileURLToPath(new URL("./fixtures/postgresHolder.mjs", import.meta.url));
    const child = spawn(process.execPath, [script, url, "1500"], { stdio: ["pipe", "pipe", "inherit"] });
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value ?? "null");
      const theirs = await next();
      child.stdin.write(`${JSON.stringify(message("before").message)}\n`);
      expect(await next()).toMatchObject({ status: "committed" });
      child.kill("SIGSTOP");
      child.stdin.write(`${JSON.stringify(message("late").message)}\n`);
      await kept(store, [message("meanwhile")]);
      const [claim] = await claimedAtLast(store);
      expect(claim).toMatchObject({ lane: theirs.lane, fence: theirs.fence + 1, tries: 2 });
      child.kill("SIGCONT");
      expect(await next()).toEqual({ status: "fenced", lane: theirs.lane });
      expect((await said(store)).map(({ id }) => id)).toEqual(["before", "meanwhile"]);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  test("clocks that are off by an hour neither steal leases nor put work off", async () => {
    const url = await database();
    const HOUR = 3_600_000;
    const fast = await opened(url, { clock: () => Date.now() + HOUR });
    const slow = await opened(url, { clock: () => Date.now() - HOUR });
    await kept(slow, [work("w1", { run_at: Date.now() - HOUR + 60_000 })]);
    await kept(fast, [work("w2", { lane: "turn:b", run_at: Date.now() + HOUR - 5 })]);
    const ask = (store: Store, now: number) =>
      store.claim({ kind: "turn", holder: "h", now, leaseMs: 30_000, limit: 10 });
    const mine = await ask(fast, Date.now() + HOUR);
    expect(mine.map(({ lane }) => lane)).toEqual(["turn:b"]);
    // By its own clock, too, what it was given is due.
    expect(Math.abs((mine[0]?.work[0]?.run_at ?? 0) - Date.now() - HOUR)).toBeLessThan(60_000);
    const [seen] = await slow.read.work("turn", "turn:b", 1);
    expect(seen?.run_at).toBeLessThanOrEqual(Date.now() - HOUR);
    expect(seen?.run_at).toBeGreaterThan(Date.now() - HOUR - 60_000);
    expect(await ask(slow, Date.now() - HOUR)).toEqual([]);
    expect(await ask(fast, Date.now() + 9 * HOUR)).toEqual([]);
    const [lease] = mine;
    if (!lease) throw new Error("no lease");
    expect(await slow.renew([lease], Date.now() - HOUR, 30_000)).toEqual([]);
    expect(await ask(fast, Date.now() + HOUR)).toEqual([]);
  });

  test("a database of the first version is brought up to date, and its functions are the new ones", async () => {
    const url = await database();
    await migrate(placeOf(url), MIGRATIONS.slice(0, 1));
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await owner.query(`
      INSERT INTO people (id, name, created_at) VALUES ('olivia', 'Olivia', 'then');
      CREATE FUNCTION longhand_now() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
      CREATE FUNCTION longhand_about_message(f jsonb, bytes bytea) RETURNS void LANGUAGE sql AS ''`);
    await owner.end();
    const store = await opened(url, { clock: () => Date.now() });
    expect((await store.read.people()).map(({ id }) => id)).toEqual(["olivia"]);
    await kept(store, [registered(), message("m1"), inbound("m1", { received_at: Date.now() })]);
    const received = (await store.read.inbound(CHAT, "m1"))?.received_at ?? 0;
    expect(Math.abs(received - Date.now())).toBeLessThan(60_000);
  });

  test("when a message came in is the same moment for servers whose clocks are off by an hour", async () => {
    const url = await database();
    const HOUR = 3_600_000;
    const fast = await opened(url, { clock: () => Date.now() + HOUR });
    const slow = await opened(url, { clock: () => Date.now() - HOUR });
    const right = await opened(url, { clock: () => Date.now() });
    await kept(fast, [registered(), message("m1"), inbound("m1", { received_at: Date.now() + HOUR })]);
    await kept(slow, [message("m2"), inbound("m2", { received_at: Date.now() - HOUR })]);
    await kept(slow, [message("m3"), inbound("m3", { received_at: 0 })]);
    const offset = async (store: Store, id: string) => {
      const read = await store.read.inbound(CHAT, id);
      return Math.round(((read?.received_at ?? 0) - Date.now()) / HOUR) + 0;
    };
    for (const id of ["m1", "m2"]) {
      expect(await offset(fast, id)).toBe(1);
      expect(await offset(right, id)).toBe(0);
      expect(await offset(slow, id)).toBe(-1);
    }
    expect((await right.read.inbound(CHAT, "m3"))?.received_at).toBe(0);
    const listed = await slow.read.inbounds({ chat_jid: CHAT, outcome: null, after_seq: 0, limit: 1 });
    expect(Math.round(((listed[0]?.received_at ?? 0) - Date.now()) / HOUR)).toBe(-1);
  });

  test("who called lately is told by the asker's clock, whoever took the message", async () => {
    const url = await database();
    const HOUR = 3_600_000;
    const fast = await opened(url, { clock: () => Date.now() + HOUR });
    const slow = await opened(url, { clock: () => Date.now() - HOUR });
    await kept(fast, [registered(), message("m1"), inbound("m1", { received_at: Date.now() + HOUR })]);
    const query = { chat_jid: CHAT, thread_id: "", senders: ["web:olivia"], reasons: ["trigger"] };
    const lately = await slow.read.lastAdmitted({ ...query, since: Date.now() - HOUR - 60_000 });
    expect(Math.round(((lately ?? 0) - Date.now()) / HOUR)).toBe(-1);
    expect(await slow.read.lastAdmitted({ ...query, since: Date.now() })).toBeNull();
  });

  test("words with U+0000 or half a character come back as they were", async () => {
    const store = await opened(await database());
    const odd = "nul \u0000 half \ud83d other \udea4 sub \u001a0000 boat 🚤";
    await kept(store, [
      registered(),
      message("m1", { content: odd, sender_name: odd, metadata: { source: "web", odd } }),
    ]);
    await kept(store, [
      {
        type: "call_started",
        call: call("c1"),
        request: { base: null, blocks: [], left_out: [], breaks: [] },
      },
    ]);
    await kept(store, [
      { type: "call_partial", call_id: "c1", parts: [{ part: 0, type: "text", content: odd }] },
      entry("e1", null, { kind: "custom", data: { odd } }),
      { type: "revision", chat_jid: CHAT, message_id: "m1", content: `${odd}!`, at: LATER },
      work(odd, { ref: odd, lane: odd }),
    ]);
    const row = await store.read.message(CHAT, "m1");
    expect([row?.content, row?.sender_name, row?.metadata.odd]).toEqual([`${odd}!`, odd, odd]);
    expect((await store.read.partial("c1"))[0]?.content).toBe(odd);
    expect((await store.read.entries(CHAT, 1))[0]?.data).toEqual({ odd });
    expect((await store.read.revisions(CHAT, "m1"))[0]?.content).toBe(odd);
    const [claim] = await store.claim({ kind: "turn", holder: odd, now: 0, leaseMs: 1000, limit: 1 });
    expect(claim?.work[0]).toMatchObject({ id: odd, ref: odd, lane: odd });
    expect(await store.renew(claim ? [claim] : [], 0, 1000)).toEqual([]);
    expect(await store.read.work("turn", odd, 1)).toHaveLength(1);
  });

  test("search finds words in full buckets, in what came after them, and in what was revised", async () => {
    const url = await database();
    const store = await opened(url);
    await kept(store, [registered(), registered("other")]);
    for (let n = 0; n < 5; n++) {
      await kept(
        store,
        Array.from({ length: 40 }, (_, i) =>
          message(`m${n * 40 + i}`, { content: `word${n * 40 + i} straße` }),
        ),
      );
    }
    await kept(store, [message("x", { chat_jid: "other", content: "word7" })]);
    const found = async (words: string) => (await store.read.search(CHAT, words, 500)).map(({ id }) => id);
    await indexed(url);
    expect(await found("word7")).toEqual(["m7", ...Array.from({ length: 10 }, (_, i) => `m${70 + i}`)]);
    expect(await found("STRASSE")).toHaveLength(0);
    expect(await found("straße word199")).toEqual(["m199"]);
    await kept(store, [{ type: "revision", chat_jid: CHAT, message_id: "m3", content: "zebra", at: LATER }]);
    expect(await found("zebra")).toEqual(["m3"]);
    await indexed(url);
    expect(await found("zebra")).toEqual(["m3"]);
    expect(await found("word3 straße")).not.toContain("m3");
  });
});

async function claimedAtLast(store: Store) {
  for (;;) {
    const claims = await store.claim({ kind: "turn", holder: "next", now: 0, leaseMs: 60_000, limit: 1 });
    if (claims.length > 0) return claims;
    await setTimeout(50);
  }
}

/** Until the index knows every full bucket, and knows it as it is now. */
async function indexed(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const left = "SELECT FROM chats WHERE last_seq - indexed_seq >= 64 UNION ALL SELECT FROM search_stale";
  while ((await client.query(left)).rowCount !== 0) await setTimeout(50);
  await client.end();
}
