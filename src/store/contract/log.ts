import assert from "node:assert/strict";
import type { DeliveryState } from "../../message/index.js";
import type { Fact, News } from "../store.js";
import {
  AT,
  CHAT,
  type Check,
  claimed,
  delivery,
  ids,
  inbound,
  kept,
  LATER,
  logged,
  message,
  OTHER,
  onlyClaim,
  registered,
  turn,
  whyConflict,
  work,
} from "./sample.js";

export const log: Check[] = [
  {
    name: "what happened is logged in order, by reference and never in words",
    async check(store) {
      const secret = "the words themselves";
      await kept(store, [
        registered(CHAT, { name: secret }),
        message("m1", { content: secret, sender_name: secret, metadata: { source: "web", note: secret } }),
        inbound("m1", { reason: secret }),
        message("h1", { message_type: "host", sender: "host" }),
        message("m2"),
        inbound("m2", { admission: "ambient", outcome: "ambient" }),
      ]);
      await kept(store, [
        turn("t1", { thread_id: "x" }),
        {
          type: "outcome",
          chat_jid: CHAT,
          message_id: "m1",
          outcome: "answered",
          reason: secret,
          turn_id: "t1",
          at: LATER,
        },
        { type: "turn_ended", turn_id: "t1", chat_jid: CHAT, status: "ended", at: LATER },
        { type: "revision", chat_jid: CHAT, message_id: "m2", content: secret, at: LATER },
        delivery("d1"),
        state("d1", "sent", { last_error: secret }),
        { type: "chat_removed", jid: CHAT, at: LATER },
      ]);
      const events = await store.read.events({ after: null, chat_jid: null, limit: 100 });
      assert.deepEqual(
        events.map(({ type, refs, at }) => [type, refs, at]),
        [
          ["chat", {}, AT],
          ["message", { message_id: "m1" }, AT],
          ["host", { message_id: "h1" }, AT],
          ["message", { message_id: "m2" }, AT],
          ["outcome", { message_id: "m2" }, AT],
          ["turn.started", { turn_id: "t1", trigger_id: "m1", thread_id: "x" }, AT],
          ["outcome", { message_id: "m1" }, LATER],
          ["turn.ended", { turn_id: "t1", status: "ended" }, LATER],
          ["message.revised", { message_id: "m2" }, LATER],
          ["delivery", { delivery_id: "d1", message_id: "m1" }, AT],
          ["delivery", { delivery_id: "d1", message_id: "m1" }, LATER],
          ["chat", {}, LATER],
        ],
      );
      for (const event of events) assert.equal(event.chat_jid, CHAT);
      assert.equal(JSON.stringify(events).includes(secret), false);
    },
  },
  {
    name: "a reader who goes on from a cursor gets every event once",
    async check(store) {
      assert.equal(await store.read.lastEvent(), null);
      await kept(store, [registered(), registered(OTHER)]);
      const writers = Array.from({ length: 60 }, (_, index) =>
        store.commit({ facts: [message(`m${index}`, { chat_jid: index % 3 === 0 ? OTHER : CHAT })] }),
      );
      const seen: string[] = [];
      let after: string | null = null;
      let done = false;
      const finished = Promise.all(writers).then(() => {
        done = true;
      });
      while (true) {
        const wasDone = done;
        const page = await store.read.events({ after, chat_jid: null, limit: 7 });
        for (const { cursor } of page) {
          assert.ok(after === null || cursor > after, "cursors ascend");
          after = cursor;
          seen.push(cursor);
        }
        if (wasDone && page.length === 0) break;
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      await finished;
      const all = await store.read.events({ after: null, chat_jid: null, limit: 1000 });
      assert.deepEqual(
        seen,
        all.map(({ cursor }) => cursor),
      );
      assert.equal(seen.length, 62);
      assert.equal(await store.read.lastEvent(), seen.at(-1));
      const mine = await store.read.events({ after: seen[10] ?? null, chat_jid: OTHER, limit: 1000 });
      assert.deepEqual(
        mine,
        all.slice(11).filter(({ chat_jid }) => chat_jid === OTHER),
      );
    },
  },
  {
    name: "a cursor that nobody was given reads from the start",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      assert.equal(
        (await store.read.events({ after: "no such cursor", chat_jid: null, limit: 10 })).length,
        2,
      );
    },
  },
  {
    name: "listeners are told after a commit what there is to look at, and not of what was refused",
    async check(store) {
      const told: News[] = [];
      // Which write it comes from is told by some stores only.
      const stop = store.subscribe(({ order: _, ...news }) => told.push(news));
      await kept(store, [registered()]);
      await settledNews();
      assert.deepEqual(told.splice(0), [{ work: [], events: true, settings: true }]);
      await kept(store, [message("m1"), work("w1"), delivery("d1")]);
      await settledNews();
      const [both] = told.splice(0);
      assert.deepEqual([...(both?.work ?? [])].sort(), ["delivery", "turn"]);
      assert.equal(both?.events, true);
      assert.equal((await store.commit({ facts: [message("m1"), work("w2")] })).status, "duplicate");
      const claim = await onlyClaim(store, 10, 100);
      await settledNews();
      assert.deepEqual(told.splice(0), []);
      await kept(store, [work("w3")]);
      await settledNews();
      assert.deepEqual(told.splice(0), [{ work: ["turn"], events: false, settings: false }]);
      const { lane, fence } = claim;
      await store.settle({ lease: { lane, fence }, done: ["w1"], later: [], release: true, facts: [] });
      await settledNews();
      assert.equal(
        told.splice(0).some((news) => news.work.includes("turn")),
        true,
        "a lane given back has work",
      );
      stop();
      await kept(store, [message("m5"), work("w5")]);
      await settledNews();
      assert.deepEqual(told, []);
    },
  },
  {
    name: "listeners hear when chats, people or tokens changed, and not when something else did",
    async check(store) {
      const told: News[] = [];
      const token = { id: "t1", name: "web", sha256: "aa", scopes: [], created_at: AT, person_id: null };
      const person = { id: "olivia", name: "Olivia", senders: [], created_at: AT };
      const changes: Fact[] = [
        registered(),
        { type: "person", person },
        { type: "token", token },
        { type: "token_removed", id: "t1" },
        { type: "person_removed", id: "olivia" },
        { type: "chat_removed", jid: CHAT, at: AT },
      ];
      store.subscribe((news) => told.push(news));
      for (const change of changes) {
        await kept(store, [change]);
        await settledNews();
        const heard = told.splice(0).some(({ settings }) => settings);
        assert.equal(heard, true, `${change.type} was not heard of`);
      }
      await store.commit({ facts: [{ type: "chat_removed", jid: CHAT, at: AT }] });
      await kept(store, [work("w1"), { type: "knock", address: "a", channel: "a", name: "a", at: AT }]);
      await settledNews();
      const others = told.map(({ work: kinds, settings }) => [kinds, settings]);
      assert.deepEqual(others, [[["turn"], false]]);
    },
  },
  {
    name: "when a listener hears of something, it can be read",
    async check(store) {
      const found: Promise<number>[] = [];
      store.subscribe(() => found.push(claimed(store, 10, 100).then((claims) => claims.length)));
      await kept(store, [registered(), message("m1"), work("w1")]);
      await settledNews();
      assert.equal(await found[0], 1);
    },
  },
  {
    name: "a delivery is kept with its work, and its state follows",
    async check(store) {
      await kept(store, [registered(), message("m1"), delivery("d1", { thread_id: "t" })]);
      const made = await store.read.delivery("d1");
      assert.equal(made?.state, "pending");
      assert.equal(made?.thread_id, "t");
      const claim = await onlyClaim(store, 10, 100, "delivery");
      assert.equal(claim.lane, "delivery:slack:C1#t");
      assert.equal(claim.work[0]?.ref, "d1");
      await kept(store, [
        state("d1", "retry", { attempts: 2, last_error: "503", retry_at: LATER, reason: "later" }),
      ]);
      assert.deepEqual(await store.read.delivery("d1"), {
        ...made,
        state: "retry",
        attempts: 2,
        last_error: "503",
        retry_at: LATER,
        reason: "later",
      });
      assert.match(whyConflict(await store.commit({ facts: [state("d9", "sent")] })), /no delivery d9/);
      assert.match(whyConflict(await store.commit({ facts: [delivery("d1")] })), /already a delivery d1/);
    },
  },
  {
    name: "a delivery is moved only from the state it was seen in",
    async check(store) {
      await kept(store, [registered(), message("m1"), delivery("d1")]);
      const drop = (seen: DeliveryState) =>
        store.commit({
          expect: [{ type: "delivery", id: "d1", state: seen }],
          facts: [state("d1", "skipped")],
        });
      await kept(store, [state("d1", "sent")]);
      assert.match(whyConflict(await drop("pending")), /is sent/);
      assert.equal((await store.read.delivery("d1"))?.state, "sent");
      assert.equal((await drop("sent")).status, "committed");
      const nowhere = { type: "delivery", id: "d9", state: "sent" } as const;
      assert.match(whyConflict(await store.commit({ expect: [nowhere], facts: [] })), /no delivery d9/);
    },
  },
  {
    name: "a lane that waits can be had earlier, in its order, and never later",
    async check(store) {
      const lane = "delivery:slack:C1#";
      await kept(store, [registered(), message("m1"), delivery("d1"), delivery("d2")]);
      const claim = await onlyClaim(store, 10, 100, "delivery");
      const later = [{ id: "work of d1", run_at: 500, attempts: 1 }];
      const { fence } = claim;
      await store.settle({ lease: { lane, fence }, done: [], later, release: true, facts: [] });
      const due = (run_at: number, name = lane) => kept(store, [{ type: "lane_due", lane: name, run_at }]);
      await due(700);
      await due(1, "delivery:slack:nowhere#");
      assert.deepEqual(await claimed(store, 499, 600, { kind: "delivery" }), []);
      await due(50);
      assert.deepEqual(await claimed(store, 49, 600, { kind: "delivery" }), []);
      const again = await onlyClaim(store, 50, 600, "delivery");
      assert.deepEqual(ids(again.work), ["work of d1", "work of d2"]);
      await due(60);
      assert.deepEqual(await claimed(store, 70, 900, { kind: "delivery" }), [], "it is still held");
    },
  },
  {
    name: "our own delivery is recognised by the platform's id when it comes back",
    async check(store) {
      await kept(store, [registered(), delivery("d1"), delivery("d2", { address: "slack:C2" })]);
      await kept(store, [state("d1", "sent", { external_id: "17.1" })]);
      assert.equal((await store.read.delivered("slack:C1", "17.1"))?.id, "d1");
      assert.equal(await store.read.delivered("slack:C2", "17.1"), null);
      assert.equal(await store.read.delivered("slack:C1", "17.2"), null);
    },
  },
  {
    name: "deliveries are listed by chat, message and state, page by page",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      for (let n = 1; n <= 8; n++) {
        await kept(store, [
          delivery(`d${n}`, { message_id: n <= 4 ? "m1" : "m2", chat_jid: n === 8 ? OTHER : CHAT }),
        ]);
      }
      await kept(store, [state("d2", "sent"), state("d3", "dead"), state("d6", "dead"), state("d8", "dead")]);
      const list = async (query: {
        chat_jid?: string;
        message_id?: string;
        state?: DeliveryState;
        after?: string;
        limit?: number;
      }) =>
        ids(
          await store.read.deliveries({
            chat_jid: query.chat_jid ?? null,
            message_id: query.message_id ?? null,
            state: query.state ?? null,
            after: query.after ?? null,
            limit: query.limit ?? 100,
          }),
        );
      assert.deepEqual(await list({}), ["d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]);
      assert.deepEqual(await list({ after: "d5", limit: 2 }), ["d6", "d7"]);
      assert.deepEqual(await list({ chat_jid: CHAT, message_id: "m1" }), ["d1", "d2", "d3", "d4"]);
      assert.deepEqual(await list({ state: "dead" }), ["d3", "d6", "d8"]);
      assert.deepEqual(await list({ state: "dead", chat_jid: CHAT, after: "d3" }), ["d6"]);
      assert.deepEqual(await list({ state: "sent" }), ["d2"]);
      assert.deepEqual(await list({ chat_jid: OTHER }), ["d8"]);
      assert.deepEqual(await list({ after: "nowhere" }), []);
      assert.equal((await logged(store, OTHER)).length, 2);
    },
  },
];

function state(
  id: string,
  now: DeliveryState,
  more: Partial<Extract<Fact, { type: "delivery_state" }>> = {},
): Fact {
  return {
    type: "delivery_state",
    id,
    state: now,
    reason: null,
    external_id: null,
    attempts: 1,
    last_error: null,
    retry_at: null,
    at: LATER,
    ...more,
  };
}

/** Long enough for news of a commit that is already done. */
function settledNews(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
