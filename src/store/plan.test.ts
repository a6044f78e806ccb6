import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { block, call, inbound, message, registered } from "./contract/sample.js";
import { connectWriter } from "./sqlite/connect.js";
import type { Database, Prepare } from "./sqlite/driver.js";
import { pack } from "./sqlite/pack.js";
import { readsOn } from "./sqlite/reads/index.js";
import { runGroup } from "./sqlite/writer.js";
import type { Fact, StoreReads } from "./store.js";

/**
 * What a reading costs must not grow with the history. So no question may make SQLite walk through a table that grows
 * with it: every statement's plan is looked at.
 */

const folder = mkdtempSync(join(tmpdir(), "longhand-plan-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Tables an operator fills, not a conversation; and what was handed in. */
const SHORT = /^SCAN (chats|bindings|addresses|people|person_senders|tokens|search_stale|a|walk|wanted)\b/;

function watched(db: Database): { prepare: Prepare; statements: Set<string> } {
  const statements = new Set<string>();
  return {
    statements,
    prepare(sql) {
      statements.add(sql);
      return db.prepare(sql);
    },
  };
}

/** Through these a list of a chat is read in order, and no further than asked. */
const LISTS =
  /USING (COVERING )?INDEX (entries_by_chat|calls_by_chat|outbox_by_chat|events_by_chat|bindings_by_chat|turns_running|sqlite_autoindex_labels_1) /;

/** What came in is read from the end, up to the first that is older than asked. */
const FROM_THE_END = /SEARCH inbound USING PRIMARY KEY /;

/** Steps of a plan that look at more than was asked for: whole tables, or everything of a chat. */
function walks(db: Database, sql: string): string[] {
  const plan = db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
  return plan.filter((step) => {
    if (/\(chat_jid=\?\)/.test(step)) return !LISTS.test(step) && !FROM_THE_END.test(step);
    if (!/^SCAN/.test(step)) return /AUTOMATIC/.test(step);
    return !SHORT.test(step) && !/VIRTUAL TABLE|CONSTANT ROW|\(subquery/.test(step);
  });
}

async function askEverything(read: StoreReads): Promise<void> {
  const types = [null, "user", "host"] as const;
  for (const message_type of types)
    for (const sender of [null, "web:x"])
      for (const since of [null, "2026-11-15T00:00:00.000Z"])
        for (const [after_seq, before_seq] of [
          [null, null],
          [0, null],
          [null, 9],
          [0, 9],
        ] as const)
          await read.messages({
            chat_jid: "home",
            after_seq,
            before_seq,
            limit: 10,
            message_type,
            sender,
            since,
          });
  for (const outcome of [null, "pending", "answered"] as const)
    await read.inbounds({ chat_jid: "home", outcome, after_seq: 0, limit: 9 });
  for (const state of [null, "sent", "dead"] as const)
    for (const chat_jid of [null, "home"])
      for (const message_id of [null, "m1"])
        await read.deliveries({ chat_jid, message_id, state, after: "d", limit: 9 });
  for (const turn_id of [null, "t1"]) await read.calls({ chat_jid: "home", turn_id, after: "c", limit: 9 });
  for (const chat_jid of [null, "home"]) await read.events({ after: null, chat_jid, limit: 9 });
  await read.chat("home");
  await read.chats();
  await read.chatOfAddress("a");
  await read.addresses();
  await read.message("home", "m");
  await read.messagesOfTurn("home", "t");
  await read.search("home", "word", 9);
  await read.revisions("home", "m");
  await read.attachmentBytes("a");
  await read.inbound("home", "m");
  await read.untaken("home", "", 9);
  await read.untold("home", "", 9);
  await read.head("home", "");
  await read.path("home", "e", 9);
  await read.entries("home", 9);
  await read.entry("home", "e");
  await read.entryOf("home", "m");
  for (const after of [null, "e"]) await read.tree({ chat_jid: "home", after, limit: 9 });
  await read.labels("home");
  await read.turn("t");
  await read.runningTurn("home", "");
  await read.call("c");
  await read.lastCall("home", "");
  await read.callParts(["c"]);
  await read.partial("c");
  await read.request("c");
  await read.work("turn", "turn:home", 9);
  await read.delivery("d");
  await read.delivered("a", "x");
  await read.lastEvent();
  await read.token("t");
  await read.tokens();
  await read.people();
  await read.personOf("web:x");
  await read.runningTurns("home");
  await read.toolsDone("c");
  for (const accounts of [{ is: "chat:home" }, { under: "person:" }])
    await read.spent({ accounts, from: "2026-11-01", to: "2026-11-30" });
  await read.blockKey("home");
  await read.loginCode("s");
  await read.lastCallOfTurn("t");
  await read.lastAdmitted({
    chat_jid: "home",
    thread_id: "",
    senders: ["a"],
    since: 1,
    reasons: ["mention"],
  });
}

test("no question walks through the history", async () => {
  const db = connectWriter({ path: join(folder, "plan.db"), busyMs: 100, maxBytes: null });
  runGroup(db, [["commit", pack([registered()]).facts, []]]);
  const { prepare, statements } = watched(db);
  await askEverything(readsOn(prepare));
  const found = [...statements].flatMap((sql) =>
    walks(db, sql).map((step) => `${step}  in  ${sql.replace(/\s+/g, " ")}`),
  );
  expect(found).toEqual([]);
  expect(statements.size).toBeGreaterThan(60);
  // The test can see one when there is one.
  expect(walks(db, "SELECT * FROM messages WHERE content = 'x'")).toEqual(["SCAN messages"]);
  expect(walks(db, "SELECT * FROM messages WHERE chat_jid = 'x' ORDER BY seq").length).toBe(1);
  db.close();
});

test("a claim looks up the lane that waits longest, however many there are", () => {
  const db = connectWriter({ path: join(folder, "claim.db"), busyMs: 100, maxBytes: null });
  const plan = db
    .prepare(
      "EXPLAIN QUERY PLAN SELECT lane, chat_jid, fence, tries FROM lanes WHERE kind = ? AND free_at <= ? ORDER BY free_at, since LIMIT ?",
    )
    .all()
    .map(({ detail }) => String(detail));
  expect(plan).toEqual(["SEARCH lanes USING INDEX lanes_free (kind=? AND free_at<?)"]);
  db.close();
});

test("a filtered reading finds each message once, however many it looks at", async () => {
  const db = connectWriter({ path: join(folder, "slices.db"), busyMs: 100, maxBytes: null });
  const isBen = (n: number) => n % 1_000 < 2;
  const facts = Array.from({ length: 5_000 }, (_, n): Fact[] => {
    const id = `m${n + 1}`;
    const outcome = isBen(n + 1) ? "failed" : "ambient";
    return [message(id, { sender: isBen(n + 1) ? "web:ben" : "web:olivia" }), inbound(id, { outcome })];
  });
  runGroup(db, [["commit", pack([registered(), ...facts.flat()]).facts, []]]);
  const read = readsOn(db.prepare);
  const bens = [1, 1_000, 1_001, 2_000, 2_001, 3_000, 3_001, 4_000, 4_001, 5_000];
  const query = { chat_jid: "home", message_type: null, sender: "web:ben", limit: 100 };
  const seqs = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq);
  expect(seqs(await read.messages({ ...query, after_seq: 0, before_seq: null }))).toEqual(bens);
  expect(seqs(await read.messages({ ...query, after_seq: null, before_seq: 9_999 }))).toEqual(bens);
  expect(seqs(await read.messages({ ...query, after_seq: null, before_seq: 9_999, limit: 3 }))).toEqual(
    bens.slice(-3),
  );
  const early = { ...query, after_seq: 0, before_seq: null, since: "1999-01-01T00:00:00.000Z" };
  expect(seqs(await read.messages(early))).toEqual(bens);
  const failed = await read.inbounds({ chat_jid: "home", outcome: "failed", after_seq: 0, limit: 100 });
  expect(failed.map(({ message_id }) => message_id)).toEqual(bens.map((seq) => `m${seq}`));
  db.close();
});

test("a request is never told through more than a short chain of earlier ones", () => {
  const db = connectWriter({ path: join(folder, "chain.db"), busyMs: 100, maxBytes: null });
  const started = (n: number): Fact => ({
    type: "call_started",
    call: call(`c${n}`),
    request: {
      base: n === 0 ? null : { call_id: `c${n - 1}`, count: n },
      blocks: [block(`b${n}`)],
      left_out: [],
      breaks: [],
    },
  });
  runGroup(db, [
    ["commit", pack([registered(), ...Array.from({ length: 600 }, (_, n) => started(n))]).facts, []],
  ]);
  expect(db.prepare("SELECT count(*) AS calls, max(depth) AS deepest FROM calls").get()).toMatchObject({
    calls: 600,
    deepest: 512,
  });
  db.close();
});

test("a conversation can be read with nothing but sqlite3", () => {
  const db = connectWriter({ path: join(folder, "plain.db"), busyMs: 100, maxBytes: null });
  const columns = db.prepare("PRAGMA table_info(messages)").all();
  expect(columns.slice(0, 9).map(({ name, type }) => `${name} ${type}`)).toEqual([
    "id TEXT",
    "chat_jid TEXT",
    "sender TEXT",
    "sender_name TEXT",
    "content TEXT",
    "timestamp TEXT",
    "is_from_me INTEGER",
    "message_type TEXT",
    "metadata TEXT",
  ]);
  expect(columns.filter(({ pk }) => pk !== 0).map(({ name, pk }) => [name, pk])).toEqual([
    ["id", 1],
    ["chat_jid", 2],
  ]);
  expect(columns.find(({ name }) => name === "message_type")?.dflt_value).toBe("'user'");
  const index = db.prepare("PRAGMA index_info(idx_messages_by_chat)").all();
  expect(index.map(({ name }) => name)).toEqual(["chat_jid", "timestamp"]);
  db.prepare("select seq, sender, message_type, substr(content,1,60) from messages order by seq").all();
  db.close();
});
