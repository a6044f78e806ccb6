import assert from "node:assert/strict";
import type { Fact, Store } from "../store.js";
import { bodyOf, started } from "./calls.js";
import {
  AT,
  block,
  CHAT,
  type Check,
  call,
  ids,
  kept,
  LATER,
  message,
  OTHER,
  registered,
  whyConflict,
} from "./sample.js";

const REASON = "kept for 30 days";

export const retention: Check[] = [
  {
    name: "an expired request is gone, and what its call used and cost stays, with when and why",
    async check(store) {
      const usage = {
        input_tokens: 7,
        output_tokens: 5,
        cache_read_tokens: 3,
        cache_write_tokens: 1,
        reasoning_tokens: null,
      };
      const left_out = [{ message_id: "m3", reason: "deleted" }];
      await kept(store, [registered(), started("c1", { blocks: [block("b1")], left_out })]);
      await kept(store, [
        ended("c1", { usage, request_sha256: "abc", error: "he said so", error_kind: "unknown" }),
      ]);
      await kept(store, [expired("c1")]);
      assert.equal(await store.read.request("c1"), null);
      const envelope = await store.read.call("c1");
      assert.deepEqual(envelope?.expired, { at: LATER, reason: REASON });
      assert.deepEqual(envelope?.usage, usage);
      assert.equal(envelope?.request_sha256, "");
      assert.equal(envelope?.error, "expired");
      assert.equal((await store.read.receiptTotals(null)).bytes, 0);
      assert.deepEqual(
        (await store.read.calls({ chat_jid: CHAT, turn_id: null, after: null, limit: 10 })).map(
          ({ id }) => id,
        ),
        ["c1"],
      );
      // Nothing brings it back, and asking twice changes nothing.
      whyConflict(await store.commit({ facts: [ended("c1")] }));
      await kept(store, [expired("c1")]);
      assert.deepEqual(await store.read.call("c1"), envelope);
    },
  },
  {
    name: "blocks that living requests have stay, whoever stored them",
    async check(store) {
      await kept(store, [registered(), started("c1", { blocks: [block("b1"), block("b2"), block("b3")] })]);
      await kept(store, [started("c2", { base: { call_id: "c1", count: 2 }, blocks: [block("b4")] })]);
      await kept(store, [started("c3", { base: { call_id: "c2", count: 3 }, blocks: [block("b5")] })]);
      await kept(store, [started("c4", { blocks: [block("b5", null), block("b3", null)] })]);
      await kept(
        store,
        ["c1", "c2", "c3", "c4"].map((id) => ended(id)),
      );
      await kept(store, [expired("c1", "c2")]);
      assert.equal(await store.read.request("c1"), null);
      assert.equal(await store.read.request("c2"), null);
      assert.equal(await bodyOf(store, "c3"), "bytes of b1|bytes of b2|bytes of b4|bytes of b5");
      assert.equal(await bodyOf(store, "c4"), "bytes of b5|bytes of b3");
      assert.equal((await store.read.receiptTotals(null)).bytes, 5 * "bytes of b1".length);
      await kept(store, [expired("c3")]);
      assert.equal(await bodyOf(store, "c4"), "bytes of b5|bytes of b3");
      assert.equal((await store.read.receiptTotals(null)).bytes, 2 * "bytes of b1".length);
      await kept(store, [expired("c4")]);
      assert.deepEqual(await store.read.receiptTotals(null), { calls: 0, bytes: 0, next: null });
    },
  },
  {
    name: "a request goes on from a living one whose beginning stands in an expired one, and from no expired one",
    async check(store) {
      await kept(store, [registered(), started("c1", { blocks: [block("b1"), block("b2"), block("b3")] })]);
      await kept(store, [started("c2", { base: { call_id: "c1", count: 2 }, blocks: [block("b4")] })]);
      await kept(store, [ended("c1"), ended("c2"), expired("c1")]);
      whyConflict(await store.commit({ facts: [started("c9", { base: { call_id: "c1", count: 3 } })] }));
      await kept(store, [started("c3", { base: { call_id: "c2", count: 1 }, blocks: [block("b5")] })]);
      await kept(store, [ended("c3"), expired("c2")]);
      assert.equal(await bodyOf(store, "c3"), "bytes of b1|bytes of b5");
      assert.equal((await store.read.receiptTotals(null)).bytes, 2 * "bytes of b1".length);
      // A block that is gone is stored anew.
      whyConflict(await store.commit({ facts: [started("c9", { blocks: [block("b4", null)] })] }));
      await kept(store, [started("c9", { blocks: [block("b4")] })]);
      assert.equal(await bodyOf(store, "c9"), "bytes of b4");
    },
  },
  {
    name: "a long chain loses its beginning piece by piece, and the rest is read whole",
    async check(store) {
      await kept(store, [registered(), started("c0", { blocks: [block("b0")] }), ended("c0")]);
      for (let n = 1; n <= 150; n++) {
        const base = { call_id: `c${n - 1}`, count: n };
        await kept(store, [started(`c${n}`, { base, blocks: [block(`b${n}`)] }), ended(`c${n}`)]);
      }
      for (const upTo of [40, 100, 149]) {
        await kept(store, [expired(...Array.from({ length: upTo + 1 }, (_, n) => `c${n}`))]);
        for (const n of [upTo + 1, 150]) {
          const list = ids((await store.read.request(`c${n}`))?.blocks ?? []);
          assert.deepEqual(
            list,
            Array.from({ length: n + 1 }, (_, index) => `b${index}`),
          );
        }
      }
      await kept(store, [expired("c150")]);
      assert.equal((await store.read.receiptTotals(null)).bytes, 0);
    },
  },
  {
    name: "what runs, and what is another chat's, does not expire; the oldest that can are found first",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      const at = (second: number) => `2026-11-15T12:00:0${second}.000Z`;
      await kept(store, [
        started("c2", { blocks: [block("b1")] }, { started_at: at(2) }),
        started("c1", { blocks: [block("b1")] }, { started_at: at(1) }),
        started("c3", { blocks: [block("b1")] }, { started_at: at(3) }),
        started("d1", { blocks: [block("b1")] }, { started_at: at(4), chat_jid: OTHER }),
      ]);
      await kept(store, [
        ended("c1", { started_at: at(1) }),
        ended("c2", { started_at: at(2) }),
        ended("d1", { started_at: at(4), chat_jid: OTHER }),
      ]);
      await kept(store, [expired("c3", "d1")]);
      assert.equal(await bodyOf(store, "c3"), "bytes of b1");
      assert.equal(await bodyOf(store, "d1"), "bytes of b1");
      const found = (before: string, limit: number) => store.read.keptReceipts({ before, limit });
      assert.deepEqual(ids(await found(at(9), 10)), ["c1", "c2", "d1"]);
      assert.deepEqual(await found(at(9), 1), [{ id: "c1", chat_jid: CHAT }]);
      assert.deepEqual(ids(await found(at(2), 10)), ["c1"]);
      await kept(store, [expired("c1")]);
      assert.deepEqual(ids(await found(at(9), 10)), ["c2", "d1"]);
      assert.equal((await store.read.receiptTotals(null)).calls, 3);
    },
  },
  {
    name: "all of many blocks are counted, page by page",
    async check(store) {
      const blocks = Array.from({ length: 4500 }, (_, index) => block(`b${index}`, "12345"));
      await kept(store, [registered(), started("c1", { blocks })]);
      assert.deepEqual(await totals(store), { calls: 1, bytes: 4500 * 5 });
    },
  },
  {
    name: "a call that ends after words of its request were erased does not bring them back",
    async check(store) {
      const erasing = { id: "e1", senders: ["web:olivia"], names: [], accounts: [], at: AT };
      await kept(store, [registered(), message("m1"), started("c1", { blocks: [block("b1")] })]);
      await kept(store, [{ type: "senders_erased", erasing }]);
      await kept(store, [ended("c1", { request_sha256: "abc", error: "he said so" })]);
      const envelope = await store.read.call("c1");
      assert.equal(envelope?.redacted, true);
      assert.equal(envelope?.request_sha256, "");
      assert.equal(envelope?.error, "erased");
      assert.equal(envelope?.status, "ok");
    },
  },
];

function ended(id: string, more: Parameters<typeof call>[1] = {}): Fact {
  return { type: "call_ended", call: call(id, { status: "ok", ...more }), leftovers: [] };
}

function expired(...call_ids: string[]): Fact {
  return { type: "receipts_expired", chat_jid: CHAT, call_ids, at: LATER, reason: REASON };
}

async function totals(store: Store): Promise<{ calls: number; bytes: number }> {
  const sum = { calls: 0, bytes: 0 };
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Store["read"]["receiptTotals"]>> = await store.read.receiptTotals(after);
    sum.calls += page.calls;
    sum.bytes += page.bytes;
    after = page.next;
  } while (after !== null);
  return sum;
}
