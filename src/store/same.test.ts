import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  CHATS,
  CODES,
  MESSAGES,
  ENTRIES,
  ERASURES,
  CALLS,
  TURNS,
  SENDERS,
  LANES,
  pick,
  time,
  fact,
  facts,
  expect_,
  lease,
} from "./fixtures/someFacts.js";
import { chat } from "./contract/sample.js";
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
    lastAdmitted: await Promise.all(
      [0, 1, 20].map((since) =>
        read.lastAdmitted({
          chat_jid,
          thread_id: "",
          senders: ["web:ben", "web:olivia"],
          since,
          reasons: ["trigger", "mention"],
        }),
      ),
    ),
    untold: await Promise.all(["", "side"].map((thread) => read.untold(chat_jid, thread, 100))),
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
    codes: await Promise.all(CODES.map((sha256) => read.loginCode(sha256))),
    erasures: await Promise.all(
      ERASURES.map(async (id) => {
        const found = await read.erasure(id);
        return found && { ...found, scrubbed: true };
      }),
    ),
    lastOfTurns: await Promise.all(TURNS.map((id) => read.lastCallOfTurn(id))),
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
