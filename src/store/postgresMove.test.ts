import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { startPostgres } from "../testing/postgresServer.js";
import {
  AT,
  block,
  CHAT,
  call,
  delivery,
  entry,
  head,
  inbound,
  kept,
  LATER,
  message,
  registered,
  turn,
  work,
} from "./contract/sample.js";
import { placeOf } from "./postgres/connect.js";
import { CannotMove, moveToPostgres, PerhapsMoved } from "./postgresMove.js";
import { openPostgres } from "./postgres.js";
import { openSqlite } from "./sqlite.js";
import type { Store } from "./store.js";

const server = await startPostgres();
const folder = mkdtempSync(join(tmpdir(), "longhand-move-"));
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ATTACHED = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
const quiet = () => {};

describe.skipIf(!server)("moving to Postgres", () => {
  const database = async () => (await server?.database()) ?? "";

  test("everything arrives as it was, and goes on from there", async () => {
    const path = join(folder, "full.db");
    const sqlite = await openSqlite({ path });
    await fill(sqlite);
    const before = await readBack(sqlite);
    await sqlite.close();
    const url = await database();
    const moved = await moveToPostgres(path, placeOf(url), quiet);
    expect(moved.messages).toBe(1202);
    const store = await openPostgres({ url, clock: null });
    expect(await readBack(store)).toEqual(before);
    expect((await store.read.search(CHAT, "m1199", 5)).map(({ id }) => id)).toEqual(["m1199"]);
    expect(await kept(store, [message("next")])).toEqual({ next: 1202 });
    const events = await store.read.events({ after: before.last, chat_jid: null, limit: 10 });
    expect(events.map(({ refs }) => refs)).toEqual([{ message_id: "next" }]);
    await kept(store, [entry("e9", "e1", { kind: "custom" }), turn("t9"), work("w9", { lane: "turn:nine" })]);
    expect((await store.read.entries(CHAT, 1))[0]?.id).toBe("e9");
    // What was held by a server that is no more can be taken at once.
    const claims = await store.claim({ kind: "turn", holder: "new", now: 10, leaseMs: 1000, limit: 10 });
    expect(claims.map(({ lane, fence, tries }) => [lane, fence, tries])).toContainEqual(["turn:home", 2, 2]);
    await store.close();
  });

  test("what fails after everything is moved does not say that nothing was moved", async () => {
    const path = join(folder, "statistics.db");
    const sqlite = await openSqlite({ path });
    await fill(sqlite);
    await sqlite.close();
    const url = await database();
    await (await openPostgres({ url })).close();
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    // Gathering statistics works out what an index is about; here that fails, and only then.
    await owner.query(`
      CREATE FUNCTION broken(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT 1 FROM pg_stat_progress_analyze WHERE pid = pg_backend_pid()) THEN
          RAISE EXCEPTION 'no statistics';
        END IF;
        RETURN value;
      END $$;
      CREATE INDEX broken_index ON messages (broken(id));`);
    expect((await moveToPostgres(path, placeOf(url), quiet)).messages).toBe(1202);
    await expect(owner.query("ANALYZE messages")).rejects.toThrow("no statistics");
    expect((await owner.query("SELECT count(*)::int AS rows FROM messages")).rows).toEqual([{ rows: 1202 }]);
    await owner.end();
  });

  test("a connection that is lost at the last word leaves open whether it was moved, and says so", async () => {
    const path = join(folder, "lastword.db");
    const sqlite = await openSqlite({ path });
    await fill(sqlite);
    await sqlite.close();
    const url = await database();
    await (await openPostgres({ url })).close();
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    await owner.query(`
      CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER at_the_end AFTER INSERT ON people DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hang_up();`);
    await expect(moveToPostgres(path, placeOf(url), quiet)).rejects.toBeInstanceOf(PerhapsMoved);
    await owner.end();
  });

  test("cut off in the middle it has moved nothing, and can be done again", async () => {
    const path = join(folder, "cut.db");
    const sqlite = await openSqlite({ path });
    await fill(sqlite);
    await sqlite.close();
    const url = await database();
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    let cut: Promise<unknown> | null = null;
    const cutAt = (table: string) => {
      if (table !== "events" || cut) return;
      cut = owner.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
      );
    };
    await expect(moveToPostgres(path, placeOf(url), cutAt)).rejects.toThrow();
    await cut;
    expect((await owner.query("SELECT count(*)::int AS rows FROM messages")).rows).toEqual([{ rows: 0 }]);
    await owner.end();
    expect((await moveToPostgres(path, placeOf(url), quiet)).messages).toBe(1202);
    await expect(moveToPostgres(path, placeOf(url), quiet)).rejects.toBeInstanceOf(CannotMove);
  });
});

async function fill(store: Store): Promise<void> {
  const attachment = {
    name: "a.bin",
    mime_type: "application/octet-stream",
    size: 1000,
    sha256: "aa",
    state: "delivered",
    reason: null,
    url: null,
  } as const;
  await kept(store, [
    registered(CHAT, {
      bindings: [{ channel: "web", address: "web:1", mode: "both", trace: "short", threads: "shared" }],
    }),
    registered("gone"),
    message("first", {
      content: "sub \u001a0000 日本 🚤",
      dedupe_key: "k1",
      idempotency: { key: "i", body_sha256: "b" },
    }),
    inbound("first", { received_at: 7 }),
    message("elsewhere", { chat_jid: "gone" }),
    { type: "chat_removed", jid: "gone", at: LATER },
    { type: "attachment", chat_jid: CHAT, message_id: "first", index: 0, attachment, bytes: ATTACHED },
    { type: "revision", chat_jid: CHAT, message_id: "first", content: "edited", at: LATER },
    { type: "label", chat_jid: CHAT, folded: "olivia", label: "Olivia", sender: "web:olivia" },
    { type: "knock", address: "web:2", channel: "web", name: "Zoe", at: AT },
    { type: "person", person: { id: "olivia", name: "Olivia", senders: ["z:1", "a:1"], created_at: AT } },
    {
      type: "token",
      token: { id: "t", name: "n", sha256: "s", scopes: ["read"], created_at: AT, person_id: "olivia" },
    },
    entry("e1", null, { message_id: "first", data: { label: "Olivia" } }),
    head("e1"),
    delivery("d1"),
    turn("t1", { interruptions: 2 }),
    {
      type: "spent",
      account: "chat:home",
      day: "2026-11-15",
      spending: {
        calls: 1,
        unpriced: 0,
        input_tokens: 5,
        output_tokens: 6,
        cache_read_tokens: 7,
        cache_write_tokens: 8,
        usd: 0.1,
      },
    },
    work("w1"),
  ]);
  await kept(store, [
    {
      type: "call_started",
      call: call("c1", { turn_id: "t1" }),
      request: { base: null, blocks: [block("b1"), block("b2")], left_out: [], breaks: [] },
    },
    {
      type: "call_started",
      call: call("c2", { turn_id: "t1" }),
      request: { base: { call_id: "c1", count: 2 }, blocks: [block("b3")], left_out: [], breaks: [] },
    },
    { type: "call_partial", call_id: "c2", parts: [{ part: 0, type: "text", content: "so far" }] },
    {
      type: "call_ended",
      call: call("c1", { status: "ok" }),
      leftovers: [{ part: 0, data: { odd: "\u0000" } }],
    },
    { type: "tool_done", call_id: "c2", index: 0, result: { content: "\u0000" } },
  ]);
  await kept(
    store,
    Array.from({ length: 1200 }, (_, n) => message(`m${n}`)),
  );
  await store.claim({ kind: "turn", holder: "old", now: 1, leaseMs: 1_000_000, limit: 1 });
}

async function readBack({ read }: Store) {
  const all = {
    chat_jid: CHAT,
    after_seq: 0,
    before_seq: null,
    limit: 5000,
    message_type: null,
    sender: null,
  };
  return {
    chats: await read.chats(),
    keys: [await read.blockKey(CHAT), await read.blockKey("gone")],
    messages: [await read.messages(all), await read.messages({ ...all, chat_jid: "gone" })],
    revisions: await read.revisions(CHAT, "first"),
    bytes: await read.attachmentBytes("aa"),
    inbound: await read.inbound(CHAT, "first"),
    untaken: (await read.untaken(CHAT, "", 5000)).length,
    path: await read.path(CHAT, "e1", 10),
    head: await read.head(CHAT, ""),
    labels: await read.labels(CHAT),
    people: await read.people(),
    tokens: await read.tokens(),
    addresses: await read.addresses(),
    spent: await read.spent({ accounts: { under: "" }, from: "", to: "9" }),
    turns: await read.runningTurns(CHAT),
    calls: await read.callParts(["c1", "c2"]),
    last: await read.lastEvent(),
    lastCall: await read.lastCall(CHAT, ""),
    requests: [await read.request("c1"), await read.request("c2")],
    partial: await read.partial("c2"),
    tools: await read.toolsDone("c2"),
    work: await read.work("turn", "turn:home", 10),
    delivery: await read.delivery("d1"),
    events: await read.events({ after: null, chat_jid: null, limit: 5000 }),
  };
}
