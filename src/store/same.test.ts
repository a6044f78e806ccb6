import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { block, call, chat, delivery, entry, head, inbound, message, turn, work } from "./contract/sample.js";
import { openMemory } from "./memory.js";
import { openSqlite } from "./sqlite.js";
import { type Expectation, type Fact, type Lease, type Store, WORK_KINDS } from "./store.js";

/**
 * The store in memory is simple enough to be believed. Whatever is done to both, in whatever order and at once, the
 * SQLite store must answer the same and hold the same.
 */

const RUNS = process.env.LONGHAND_LONG ? 300 : 25;
const folder = mkdtempSync(join(tmpdir(), "longhand-same-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CHATS = ["home", "other"];
const MESSAGES = ["m0", "m1", "m2", "m3", "m4", "m5"];
const ENTRIES = ["e0", "e1", "e2", "e3", "e4"];
const CALLS = ["c0", "c1", "c2", "c3"];
const DELIVERIES = ["d0", "d1", "d2"];
const TURNS = ["t0", "t1"];
const SENDERS = ["web:olivia", "slack:U1", "slack:U2"];
const ACCOUNTS = ["server", "chat:home", "person:p0", "person:p1"];
const DAYS = ["2026-11-14", "2026-11-15"];
const LANES = ["turn:home", "turn:other", "delivery:slack:C1#", "delivery:slack:C2#", "fetch:home"];
const WORDS = ["apple", "Äpfel 日本", "pear 日本語", ""];

const pick = <T>(...from: T[]) => fc.constantFrom(...from);
const jid = pick(...CHATS);
const time = fc.integer({ min: 0, max: 60 });
const at = time.map((second) => new Date(Date.UTC(2026, 10, 15, 12, 0, second)).toISOString());
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 2 });

const newMessage = fc
  .record({
    chat_jid: jid,
    content: pick(...WORDS),
    timestamp: at,
    sender: pick("web:olivia", "web:ben", "host"),
    message_type: pick("user" as const, "host" as const, "assistant" as const),
    dedupe_key: orNull(pick("k0", "k1")),
    idempotency: orNull(fc.record({ key: pick("i0", "i1"), body_sha256: pick("x", "y") })),
    untaken: fc.boolean(),
    thread_id: pick("", "side"),
    turn_id: orNull(pick(...TURNS)),
  })
  .chain((more) => pick(...MESSAGES).map((id): Fact => message(id, more)));

const aChat = fc
  .record({ jid, name: pick("one", "two"), addresses: fc.subarray(["web:1", "slack:C1", "irc:2"]) })
  .chain(({ jid: of, name, addresses }) =>
    at.map((when): Fact => {
      const bindings = addresses.map((address) => ({
        channel: "web",
        address,
        mode: "both" as const,
        trace: "short" as const,
        threads: "shared" as const,
      }));
      return { type: "chat", chat: chat(of, { name, bindings }), at: when };
    }),
  );

const aWork = fc
  .record({
    id: pick("w0", "w1", "w2", "w3", "w4"),
    lane: pick(...LANES),
    run_at: fc.oneof(fc.constant(0), fc.nat(30)),
  })
  .map(({ id, lane, run_at }): Fact => {
    const kind = WORK_KINDS.find((known) => lane.startsWith(known)) ?? "turn";
    return work(id, { kind, lane, run_at });
  });

const aCall = fc
  .record({
    id: pick(...CALLS),
    chat_jid: jid,
    turn_id: orNull(pick(...TURNS)),
    purpose: pick("turn" as const, "compaction" as const),
    blocks: fc.array(fc.tuple(pick("b0", "b1", "b2"), fc.boolean()), { maxLength: 3 }),
    base: orNull(fc.record({ call_id: pick(...CALLS), count: fc.integer({ min: 0, max: 4 }) })),
  })
  .map(
    ({ id, blocks, base, ...more }): Fact => ({
      type: "call_started",
      call: call(id, more),
      request: {
        base,
        blocks: blocks.map(([name, known]) => block(name, known ? null : `bytes of ${name}`)),
        left_out: [],
        breaks: [],
      },
    }),
  );

const tokens = fc.integer({ min: -20, max: 100 });
const aSpending = fc
  .record({
    account: pick(...ACCOUNTS),
    day: pick(...DAYS),
    spending: fc.record({
      calls: pick(0, 1),
      unpriced: pick(0, 1),
      input_tokens: tokens,
      output_tokens: tokens,
      cache_read_tokens: tokens,
      cache_write_tokens: tokens,
      usd: pick(-0.1, 0, 0.1, 0.2, 1 / 3),
    }),
  })
  .map((more): Fact => ({ type: "spent", ...more }));

const aPerson = fc
  .record({
    id: pick("p0", "p1"),
    name: pick("one", "two"),
    senders: fc.array(pick(...SENDERS), { maxLength: 3 }),
    created_at: at,
  })
  .map((person): Fact => ({ type: "person", person }));

const aTool = fc
  .record({ call_id: pick(...CALLS), index: fc.nat(2), result: pick({ a: 1 }, { b: ["日本", null] }) })
  .map((more): Fact => ({ type: "tool_done", ...more }));

const fact: fc.Arbitrary<Fact> = fc.oneof(
  { arbitrary: newMessage, weight: 12 },
  { arbitrary: aChat, weight: 3 },
  { arbitrary: aWork, weight: 8 },
  { arbitrary: aCall, weight: 2 },
  { arbitrary: aSpending, weight: 3 },
  { arbitrary: aPerson, weight: 2 },
  { arbitrary: aTool, weight: 2 },
  pick(...CALLS).map((call_id): Fact => ({ type: "tools_written", call_id })),
  pick("p0", "p1").map((id): Fact => ({ type: "person_removed", id })),
  fc
    .record({ chat_jid: jid, outcome: pick("pending" as const, "ambient" as const), received_at: time })
    .chain((more) => pick(...MESSAGES).map((id) => inbound(id, more))),
  fc
    .record({ chat_jid: jid, message_id: pick(...MESSAGES), turn_id: orNull(pick(...TURNS)), at })
    .map((more): Fact => ({ type: "outcome", outcome: "answered", reason: "because", ...more })),
  fc
    .record({ chat_jid: jid, message_id: pick(...MESSAGES), content: orNull(pick(...WORDS)), at })
    .map((more): Fact => ({ type: "revision", ...more })),
  fc
    .record({
      chat_jid: jid,
      message_id: pick(...MESSAGES),
      index: fc.integer({ min: 0, max: 1 }),
      name: pick("a", "b"),
    })
    .map(
      ({ name, ...more }): Fact => ({
        type: "attachment",
        ...more,
        attachment: {
          name,
          mime_type: "text/plain",
          size: 1,
          sha256: name,
          state: "delivered",
          reason: null,
          url: null,
        },
        bytes: new TextEncoder().encode(name),
      }),
    ),
  fc
    .record({ chat_jid: jid, thread_id: pick("", "side"), interruptions: fc.nat(3) })
    .chain((more) =>
      fc.tuple(pick(...TURNS), at).map(([id, started_at]) => turn(id, { ...more, started_at })),
    ),
  fc.tuple(pick(...TURNS), jid, at, pick("ended" as const, "superseded" as const)).map(
    ([turn_id, chat_jid, when, status]): Fact => ({
      type: "turn_ended",
      turn_id,
      chat_jid,
      status,
      at: when,
    }),
  ),
  fc
    .record({
      chat_jid: jid,
      kind: pick("message" as const, "compaction" as const),
      message_id: orNull(pick(...MESSAGES)),
      first: orNull(pick(...ENTRIES)),
    })
    .chain(({ first, ...more }) =>
      fc
        .tuple(pick(...ENTRIES), orNull(pick(...ENTRIES)))
        .map(([id, parent]) =>
          entry(id, parent, { ...more, data: more.kind === "compaction" ? { first_kept: first } : {} }),
        ),
    ),
  fc.tuple(orNull(pick(...ENTRIES)), pick("", "side"), jid).map(([id, thread, of]) => head(id, thread, of)),
  fc
    .record({ chat_jid: jid, folded: pick("a", "b"), label: pick("A", "B"), sender: pick("x:1", "x:2") })
    .map((more): Fact => ({ type: "label", ...more })),
  fc.tuple(pick(...CALLS), jid).map(
    ([id, chat_jid]): Fact => ({
      type: "call_ended",
      call: call(id, { chat_jid, status: "ok" }),
      leftovers: [{ part: 0, data: { id } }],
    }),
  ),
  pick(...CALLS).map(
    (call_id): Fact => ({
      type: "call_partial",
      call_id,
      parts: [{ part: 0, type: "text", content: call_id }],
    }),
  ),
  fc.tuple(jid, at).map(([of, when]): Fact => ({ type: "chat_removed", jid: of, at: when })),
  fc
    .tuple(pick("slack:C1", "slack:C9"), at)
    .map(([address, when]): Fact => ({ type: "knock", address, channel: "slack", name: "n", at: when })),
  fc.tuple(pick("k0", "k1"), pick("s0", "s1"), at, orNull(pick("p0", "p1"))).map(
    ([id, sha256, created_at, person_id]): Fact => ({
      type: "token",
      token: { id, name: id, sha256, scopes: ["read"], created_at, person_id },
    }),
  ),
  pick("k0", "k1").map((id): Fact => ({ type: "token_removed", id })),
  fc
    .tuple(pick(...LANES), fc.integer({ min: 0, max: 50 }))
    .map(([lane, run_at]): Fact => ({ type: "lane_due", lane, run_at })),
  fc
    .record({ chat_jid: jid, address: pick("slack:C1", "slack:C2"), message_id: pick(...MESSAGES) })
    .chain((more) => pick(...DELIVERIES).map((id) => delivery(id, more))),
  fc
    .record({
      id: pick(...DELIVERIES),
      state: pick("sent" as const, "dead" as const),
      external_id: orNull(pick("x0", "x1")),
      at,
    })
    .map(
      (more): Fact => ({
        type: "delivery_state",
        reason: null,
        attempts: 1,
        last_error: null,
        retry_at: null,
        ...more,
      }),
    ),
);

const expectation: fc.Arbitrary<Expectation> = fc.oneof(
  jid.map((of) => ({ type: "chat_present" as const, jid: of })),
  jid.map((of) => ({ type: "chat_absent" as const, jid: of })),
  fc.record({ type: fc.constant("pending" as const), chat_jid: jid, message_id: pick(...MESSAGES) }),
  fc.record({
    type: fc.constant("head" as const),
    chat_jid: jid,
    thread_id: pick("", "side"),
    entry_id: orNull(pick(...ENTRIES)),
  }),
  fc.record({
    type: fc.constant("revision" as const),
    chat_jid: jid,
    message_id: pick(...MESSAGES),
    revision: pick(0, 1),
  }),
  fc.record({
    type: fc.constant("delivery" as const),
    id: pick(...DELIVERIES),
    state: pick("pending" as const, "sent" as const),
  }),
  fc.record({
    type: fc.constant("budget" as const),
    account: pick(...ACCOUNTS),
    day: pick(...DAYS),
    plus: fc.record({ usd: pick(0, 0.1), tokens: pick(0, 50) }),
    usd: orNull(pick(0, 0.3, 1)),
    tokens: orNull(pick(0, 100, 400)),
  }),
  fc.record({
    type: fc.constant("lease" as const),
    lane: pick(...LANES),
    fence: fc.integer({ min: 0, max: 3 }),
  }),
);

const facts = fc.oneof(
  { arbitrary: fact.map((one) => [one]), weight: 3 },
  fc.array(fact, { minLength: 1, maxLength: 4 }),
);
const expect_: fc.Arbitrary<Expectation[]> = fc.oneof(
  { arbitrary: fc.constant<Expectation[]>([]), weight: 4 },
  fc.array(expectation, { maxLength: 2 }),
);
/** Which of the leases we were given; in a store that gave none, a made-up one. */
const lease = fc.nat(30);

type Doing =
  | { do: "commit"; facts: Fact[]; expect: Expectation[] }
  | { do: "claim"; kind: (typeof WORK_KINDS)[number]; now: number; lasts: number; limit: number }
  | { do: "renew"; leases: number[]; now: number; lasts: number }
  | { do: "release"; holder: string; now: number }
  | {
      do: "settle";
      lease: number;
      done: string[];
      later: { id: string; run_at: number; attempts: number }[];
      release: boolean;
      facts: Fact[];
      expect: Expectation[];
    };

const works = pick("w0", "w1", "w2", "w3", "w4");
const doing: fc.Arbitrary<Doing> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant("commit" as const), facts, expect: expect_ }), weight: 6 },
  {
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      kind: pick(...WORK_KINDS),
      now: fc.integer({ min: 20, max: 60 }),
      lasts: fc.integer({ min: 1, max: 60 }),
      limit: fc.integer({ min: 0, max: 3 }),
    }),
    weight: 3,
  },
  fc.record({
    do: fc.constant("renew" as const),
    leases: fc.array(lease, { maxLength: 3 }),
    now: time,
    lasts: time,
  }),
  fc.record({ do: fc.constant("release" as const), holder: pick("h", "other"), now: time }),
  {
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      lease,
      done: fc.array(works, { maxLength: 2 }),
      later: fc.array(fc.record({ id: works, run_at: time, attempts: fc.nat(5) }), { maxLength: 2 }),
      release: fc.boolean(),
      facts: fc.array(fact, { maxLength: 2 }),
      expect: expect_,
    }),
    weight: 3,
  },
);

async function perform(store: Store, leases: readonly Lease[], what: Doing): Promise<unknown> {
  const held = (index: number): Lease =>
    leases[index % Math.max(leases.length, 1)] ?? { lane: "turn:home", fence: index % 3 };
  switch (what.do) {
    case "commit":
      return store.commit(what);
    case "claim":
      return store.claim({
        kind: what.kind,
        now: what.now,
        leaseMs: what.lasts,
        limit: what.limit,
        holder: "h",
      });
    case "renew":
      return store.renew(what.leases.map(held), what.now, what.lasts).then((lost) => ({ lost }));
    case "release":
      return store.release(what.holder, what.now);
    case "settle":
      return store.settle({ ...what, lease: held(what.lease) });
  }
}

/** A duplicate is shown as it is now, which may be after the next write already: which one it is must agree. */
function told(result: unknown): unknown {
  const duplicate =
    typeof result === "object" && result !== null && "message" in result ? result.message : null;
  if (typeof duplicate !== "object" || duplicate === null || !("id" in duplicate)) return result;
  return { status: "duplicate", id: duplicate.id };
}

function leasesIn(results: readonly unknown[]): Lease[] {
  const claims = results.flatMap((result) => (Array.isArray(result) ? result : []));
  return claims.map(({ lane, fence }: Lease) => ({ lane, fence }));
}

async function everything({ read }: Store): Promise<unknown> {
  const perChat = CHATS.map(async (chat_jid) => ({
    chat: await read.chat(chat_jid),
    messages: await read.messages({
      chat_jid,
      after_seq: null,
      before_seq: null,
      limit: 100,
      message_type: null,
      sender: null,
    }),
    hosts: await read.messages({
      chat_jid,
      after_seq: null,
      before_seq: 99,
      limit: 2,
      message_type: "host",
      sender: null,
    }),
    bens: await read.messages({
      chat_jid,
      after_seq: 1,
      before_seq: null,
      limit: 2,
      message_type: null,
      sender: "web:ben",
      since: "2026-11-15T12:00:30.000Z",
    }),
    found: await Promise.all(
      ["apple", "äp", "日本", "本語 pear", "e"].map((words) => read.search(chat_jid, words, 3)),
    ),
    revisions: await Promise.all(MESSAGES.map((id) => read.revisions(chat_jid, id))),
    inbound: await Promise.all(MESSAGES.map((id) => read.inbound(chat_jid, id))),
    inbounds: await Promise.all(
      [null, "pending" as const, "answered" as const].map((outcome) =>
        read.inbounds({ chat_jid, outcome, after_seq: 0, limit: 100 }),
      ),
    ),
    untaken: await Promise.all(["", "side"].map((thread) => read.untaken(chat_jid, thread, 100))),
    heads: await Promise.all(["", "side"].map((thread) => read.head(chat_jid, thread))),
    paths: await Promise.all(
      ENTRIES.flatMap((id) => [read.path(chat_jid, id, 100), read.path(chat_jid, id, 2)]),
    ),
    entries: await read.entries(chat_jid, 100),
    labels: await read.labels(chat_jid),
    running: await read.runningTurn(chat_jid, ""),
    allRunning: await read.runningTurns(chat_jid),
    ofTurns: await Promise.all(TURNS.map((id) => read.messagesOfTurn(chat_jid, id))),
    lastCalls: await Promise.all(["", "side"].map((thread) => read.lastCall(chat_jid, thread))),
    calls: await Promise.all(
      [null, "t0", "t1"].map((turn_id) => read.calls({ chat_jid, turn_id, after: null, limit: 100 })),
    ),
    events: await read.events({ after: null, chat_jid, limit: 1000 }),
    hasKey: (await read.blockKey(chat_jid))?.length ?? null,
  }));
  return {
    perChat: await Promise.all(perChat),
    chats: await read.chats(),
    addresses: await read.addresses(),
    bound: await Promise.all(["web:1", "slack:C1", "irc:2"].map((address) => read.chatOfAddress(address))),
    bytes: await Promise.all(["a", "b"].map(async (hash) => [...((await read.attachmentBytes(hash)) ?? [])])),
    turns: await Promise.all(TURNS.map((id) => read.turn(id))),
    parts: await read.callParts(CALLS),
    toolsDone: await Promise.all(CALLS.map((id) => read.toolsDone(id))),
    partial: await Promise.all(CALLS.map((id) => read.partial(id))),
    requests: await Promise.all(
      CALLS.map(async (id) =>
        (await read.request(id))?.blocks.map((one) => [one.id, [...(one.bytes ?? [])]]),
      ),
    ),
    work: await Promise.all(LANES.flatMap((lane) => WORK_KINDS.map((kind) => read.work(kind, lane, 100)))),
    deliveries: await Promise.all(
      [null, "sent" as const, "pending" as const].map((state) =>
        read.deliveries({ chat_jid: null, message_id: null, state, after: null, limit: 100 }),
      ),
    ),
    delivered: await read.delivered("slack:C1", "x0"),
    events: await read.events({ after: null, chat_jid: null, limit: 1000 }),
    last: await read.lastEvent(),
    tokens: await read.tokens(),
    people: await read.people(),
    personOf: await Promise.all(SENDERS.map((sender) => read.personOf(sender))),
    spent: await Promise.all(
      [{ under: "" }, { under: "person:" }, { is: "server" }].map((accounts) =>
        read.spent({ accounts, from: "2026-11-14", to: "2026-11-15" }),
      ),
    ),
    spentThen: await read.spent({ accounts: { under: "" }, from: "2026-11-15", to: "2026-11-15" }),
  };
}

test("whatever happens, the two stores answer the same and hold the same", {
  timeout: RUNS * 10_000,
}, async () => {
  let files = 0;
  let statuses: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(doing, { minLength: 1, maxLength: 5 }), { minLength: 5, maxLength: 15, size: "max" }),
      async (steps) => {
        const memory = openMemory();
        const sqlite = await openSqlite({ path: join(folder, `${files++}.db`) });
        try {
          const leases: Lease[] = [];
          for (const store of [memory, sqlite])
            await store.commit({
              facts: CHATS.map((of) => ({ type: "chat", chat: chat(of), at: "2026-11-15T12:00:00.000Z" })),
            });
          for (const step of steps) {
            // All of a step are handed in at once, as in one turn of the event loop.
            const expected = await Promise.all(step.map((what) => perform(memory, leases, what)));
            const actual = await Promise.all(step.map((what) => perform(sqlite, leases, what)));
            expect(actual.map(told)).toEqual(expected.map(told));
            leases.push(...leasesIn(expected));
            statuses = tally(statuses, expected);
          }
          expect(await everything(sqlite)).toEqual(await everything(memory));
        } finally {
          await sqlite.close();
        }
      },
    ),
    { numRuns: RUNS },
  );
  // A run in which everything was refused would prove nothing.
  if (process.env.LONGHAND_LONG) console.log(statuses);
  for (const status of ["committed", "duplicate", "conflict", "fenced", "claimed"])
    expect(statuses[status] ?? 0).toBeGreaterThan(0);
});

function tally(before: Record<string, number>, results: readonly unknown[]): Record<string, number> {
  const counted = { ...before };
  for (const result of results) {
    const status = Array.isArray(result)
      ? result.length > 0
        ? "claimed"
        : "none"
      : typeof result === "object" && result !== null && "status" in result
        ? String(result.status)
        : "other";
    counted[status] = (counted[status] ?? 0) + 1;
  }
  return counted;
}
