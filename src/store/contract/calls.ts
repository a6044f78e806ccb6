import assert from "node:assert/strict";
import type { Fact, RequestBlock, RequestList, Store } from "../store.js";
import { block, CHAT, type Check, call, ids, kept, OTHER, registered, turn, whyConflict } from "./sample.js";

export const calls: Check[] = [
  {
    name: "a request comes back byte for byte, in order, with where each block came from",
    async check(store) {
      const every = Uint8Array.from({ length: 256 }, (_, index) => index);
      const binary: RequestBlock = { id: "b2", kind: "tools", size: 256, sources: [], bytes: every };
      const left_out = [{ message_id: "m3", reason: "host messages are for people" }];
      const breaks = [{ block: 1, reason: "changed tools" }];
      await kept(store, [
        registered(),
        started("c1", { blocks: [block("b1"), binary, block("b1")], left_out, breaks }),
      ]);
      const request = await store.read.request("c1");
      assert.deepEqual(request?.left_out, left_out);
      assert.deepEqual(request?.breaks, breaks);
      assert.deepEqual(
        request?.blocks.map(({ id, kind, size, sources }) => ({ id, kind, size, sources })),
        [
          { id: "b1", kind: "message", size: 11, sources: [{ type: "message", id: "m1" }] },
          { id: "b2", kind: "tools", size: 256, sources: [] },
          { id: "b1", kind: "message", size: 11, sources: [{ type: "message", id: "m1" }] },
        ],
      );
      assert.deepEqual(
        await bodyOf(store, "c1"),
        `bytes of b1|${[...every].join()}|bytes of b1`.replace(`${[...every].join()}`, text(every)),
      );
      assert.equal(await store.read.request("c9"), null);
    },
  },
  {
    name: "a request that goes on from an earlier one costs only what is new",
    async check(store) {
      await kept(store, [registered(), started("c1", { blocks: [block("b1"), block("b2"), block("b3")] })]);
      await kept(store, [
        started("c2", { base: { call_id: "c1", count: 2 }, blocks: [block("b4"), block("b1", null)] }),
      ]);
      await kept(store, [started("c3", { base: { call_id: "c2", count: 4 }, blocks: [] })]);
      await kept(store, [started("c4", { base: { call_id: "c3", count: 1 }, blocks: [block("b5")] })]);
      await kept(store, [started("c5", { base: { call_id: "c4", count: 0 }, blocks: [block("b6")] })]);
      const list = async (id: string) => ids((await store.read.request(id))?.blocks ?? []);
      assert.deepEqual(await list("c1"), ["b1", "b2", "b3"]);
      assert.deepEqual(await list("c2"), ["b1", "b2", "b4", "b1"]);
      assert.deepEqual(await list("c3"), ["b1", "b2", "b4", "b1"]);
      assert.deepEqual(await list("c4"), ["b1", "b5"]);
      assert.deepEqual(await list("c5"), ["b6"]);
      assert.equal(await bodyOf(store, "c3"), "bytes of b1|bytes of b2|bytes of b4|bytes of b1");
    },
  },
  {
    name: "a chain of a thousand requests, each going on from the last, is read whole",
    async check(store) {
      await kept(store, [registered(), started("c0", { blocks: [block("b0")] })]);
      for (let n = 1; n <= 1000; n += 50) {
        const facts: Fact[] = [];
        for (let i = n; i < n + 50; i++) {
          facts.push(
            started(`c${i}`, { base: { call_id: `c${i - 1}`, count: i }, blocks: [block(`b${i}`)] }),
          );
        }
        await kept(store, facts);
      }
      for (const n of [1, 64, 511, 512, 513, 514, 1000]) {
        const list = ids((await store.read.request(`c${n}`))?.blocks ?? []);
        assert.deepEqual(
          list,
          Array.from({ length: n + 1 }, (_, index) => `b${index}`),
        );
      }
    },
  },
  {
    name: "a block that was never stored, and a base that is not there, are refused",
    async check(store) {
      await kept(store, [registered(), registered(OTHER), started("c1", { blocks: [block("b1")] })]);
      assert.match(
        whyConflict(await store.commit({ facts: [started("c2", { blocks: [block("b9", null)] })] })),
        /b9 was never stored/,
      );
      whyConflict(await store.commit({ facts: [started("c2", { base: { call_id: "c9", count: 1 } })] }));
      whyConflict(await store.commit({ facts: [started("c2", { base: { call_id: "c1", count: 2 } })] }));
      const elsewhere = started("c2", { base: { call_id: "c1", count: 1 } });
      whyConflict(await store.commit({ facts: [{ ...elsewhere, call: call("c2", { chat_jid: OTHER }) }] }));
      const foreign = started("c2", { blocks: [block("b1", null)] });
      whyConflict(await store.commit({ facts: [{ ...foreign, call: call("c2", { chat_jid: OTHER }) }] }));
      assert.match(whyConflict(await store.commit({ facts: [started("c1", {})] })), /already a call c1/);
    },
  },
  {
    name: "the first bytes of a block stay",
    async check(store) {
      await kept(store, [registered(), started("c1", { blocks: [block("b1", "first")] })]);
      await kept(store, [started("c2", { blocks: [block("b1", "second")] })]);
      assert.equal(await bodyOf(store, "c2"), "first");
    },
  },
  {
    name: "a call keeps its envelope, and its end replaces it",
    async check(store) {
      await kept(store, [registered(), turn("t1"), started("c1", {}, { turn_id: "t1" })]);
      assert.deepEqual(await store.read.call("c1"), call("c1", { turn_id: "t1" }));
      const ended = call("c1", {
        turn_id: "t1",
        status: "ok",
        stop_reason: "stop",
        duration_ms: 12,
        usage: {
          input_tokens: 1,
          output_tokens: 2,
          cache_read_tokens: 3,
          cache_write_tokens: 4,
          reasoning_tokens: null,
        },
        cost: { input: 0.5, output: 0.25, cache_read: 0, cache_write: 0, total: 0.75 },
      });
      const leftovers = [
        { part: 1, data: { api: "x", deep: [{ a: null }] } },
        { part: 0, data: {} },
      ];
      await kept(store, [{ type: "call_ended", call: ended, leftovers }]);
      assert.deepEqual(await store.read.call("c1"), ended);
      assert.deepEqual(await store.read.callParts(["c9", "c1"]), [
        { call: ended, leftovers: [...leftovers].reverse() },
      ]);
      whyConflict(await store.commit({ facts: [{ type: "call_ended", call: call("c9"), leftovers: [] }] }));
      assert.equal(await store.read.call("c9"), null);
    },
  },
  {
    name: "an answer that streams is kept part by part until it ends",
    async check(store) {
      await kept(store, [registered(), started("c1", {})]);
      await kept(store, [
        { type: "call_partial", call_id: "c1", parts: [{ part: 1, type: "text", content: "He" }] },
      ]);
      await kept(store, [
        {
          type: "call_partial",
          call_id: "c1",
          parts: [
            { part: 1, type: "text", content: "Hello" },
            { part: 0, type: "thinking", content: "hm" },
          ],
        },
      ]);
      assert.deepEqual(await store.read.partial("c1"), [
        { part: 0, type: "thinking", content: "hm" },
        { part: 1, type: "text", content: "Hello" },
      ]);
      await kept(store, [{ type: "call_ended", call: call("c1", { status: "cut" }), leftovers: [] }]);
      assert.deepEqual(await store.read.partial("c1"), []);
      const late = await store.commit({ facts: [{ type: "call_partial", call_id: "c1", parts: [] }] });
      assert.match(whyConflict(late), /not running/);
    },
  },
  {
    name: "calls are listed by chat and by turn, page by page",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      for (let n = 1; n <= 6; n++)
        await kept(store, [started(`c${n}`, {}, { turn_id: n % 2 === 0 ? "even" : "odd" })]);
      await kept(store, [{ ...started("x1", {}), call: call("x1", { chat_jid: OTHER, turn_id: "even" }) }]);
      const list = async (turn_id: string | null, after: string | null, limit = 100) =>
        ids(await store.read.calls({ chat_jid: CHAT, turn_id, after, limit }));
      assert.deepEqual(await list(null, null), ["c1", "c2", "c3", "c4", "c5", "c6"]);
      assert.deepEqual(await list(null, "c2", 2), ["c3", "c4"]);
      assert.deepEqual(await list("even", null), ["c2", "c4", "c6"]);
      assert.deepEqual(await list("even", "c2"), ["c4", "c6"]);
      assert.deepEqual(await list(null, "nowhere"), []);
    },
  },
  {
    name: "the newest call of a thread is the last one made to answer in it",
    async check(store) {
      await kept(store, [registered(), turn("t1"), turn("t2", { thread_id: "side" })]);
      assert.equal(await store.read.lastCall(CHAT, ""), null);
      await kept(store, [started("c1", {}, { turn_id: "t1" }), started("c2", {}, { turn_id: "t1" })]);
      await kept(store, [
        started("c3", {}, { turn_id: "t2" }),
        started("c4", {}, { turn_id: "t1", purpose: "compaction" }),
        started("c5", {}),
      ]);
      assert.equal(await store.read.lastCall(CHAT, ""), "c2");
      assert.equal(await store.read.lastCall(CHAT, "side"), "c3");
    },
  },
  {
    name: "the newest call of a turn is found without the others",
    async check(store) {
      await kept(store, [registered(), turn("t1"), turn("t2")]);
      assert.equal(await store.read.lastCallOfTurn("t1"), null);
      await kept(store, [started("c1", {}, { turn_id: "t1" }), started("c2", {}, { turn_id: "t1" })]);
      await kept(store, [started("c3", {}, { turn_id: "t2" }), started("c4", {})]);
      assert.deepEqual(await store.read.lastCallOfTurn("t1"), await store.read.call("c2"));
      await kept(store, [{ type: "call_ended", call: call("c2", { status: "ok" }), leftovers: [] }]);
      assert.equal((await store.read.lastCallOfTurn("t1"))?.status, "ok");
      assert.equal((await store.read.lastCallOfTurn("t2"))?.id, "c3");
    },
  },
  {
    name: "a call stays with the turn it was started for",
    async check(store) {
      const request = { base: null, blocks: [], left_out: [], breaks: [] };
      await kept(store, [
        registered(),
        { type: "call_started", call: call("c1", { turn_id: "t1" }), request },
      ]);
      await kept(store, [{ type: "call_ended", call: call("c1", { turn_id: null }), leftovers: [] }]);
      const query = { chat_jid: CHAT, after: null, limit: 9 };
      assert.deepEqual(ids(await store.read.calls({ ...query, turn_id: "t1" })), ["c1"]);
    },
  },
  {
    name: "what a tool of a batch gave is kept until the batch is written, word for word",
    async check(store) {
      await kept(store, [registered(), started("c1", {}), started("c2", {})]);
      assert.deepEqual(await store.read.toolsDone("c1"), []);
      const odd = { content: "nul \u0000, half \ud83c, 日本", nested: [{ ok: null }, 1.5, false] };
      await kept(store, [done("c1", 2, odd)]);
      await kept(store, [done("c1", 0, { content: "first" }), done("c2", 0, { content: "other" })]);
      assert.deepEqual(await store.read.toolsDone("c1"), [
        { index: 0, result: { content: "first" } },
        { index: 2, result: odd },
      ]);
      await kept(store, [{ type: "call_ended", call: call("c1", { status: "ok" }), leftovers: [] }]);
      await kept(store, [done("c1", 2, { content: "again" })]);
      assert.deepEqual((await store.read.toolsDone("c1"))[1], { index: 2, result: { content: "again" } });
      await kept(store, [{ type: "tools_written", call_id: "c1" }]);
      await kept(store, [{ type: "tools_written", call_id: "c1" }]);
      assert.deepEqual(await store.read.toolsDone("c1"), []);
      assert.equal((await store.read.toolsDone("c2")).length, 1);
    },
  },
  {
    name: "a tool of a call that is not there, or of a batch that was refused, leaves nothing",
    async check(store) {
      assert.match(whyConflict(await store.commit({ facts: [done("c9", 0, {})] })), /no call c9/);
      await kept(store, [registered(), started("c1", {})]);
      whyConflict(await store.commit({ facts: [done("c1", 0, {}), done("c9", 0, {})] }));
      assert.deepEqual(await store.read.toolsDone("c1"), []);
    },
  },
];

/** A call that is about to be made. */
export function started(
  id: string,
  request: Partial<RequestList>,
  more: Parameters<typeof call>[1] = {},
): Extract<Fact, { type: "call_started" }> {
  return {
    type: "call_started",
    call: call(id, more),
    request: { base: null, blocks: [], left_out: [], breaks: [], ...request },
  };
}

export async function bodyOf(store: Store, call_id: string): Promise<string> {
  const blocks = (await store.read.request(call_id))?.blocks ?? [];
  return blocks.map(({ bytes }) => (bytes ? text(bytes) : "(gone)")).join("|");
}

/** Bytes one by one, so that none is lost to decoding. */
function text(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function done(call_id: string, index: number, result: Record<string, unknown>): Fact {
  return { type: "tool_done", call_id, index, result };
}
