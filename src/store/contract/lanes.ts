import assert from "node:assert/strict";
import type { Claim, CommitResult, Lease, Settlement, Store } from "../store.js";
import {
  CHAT,
  type Check,
  claimed,
  ids,
  kept,
  message,
  onlyClaim,
  registered,
  said,
  whyConflict,
  work,
} from "./sample.js";

export const lanes: Check[] = [
  {
    name: "work is claimed with its lane, in order, once",
    async check(store) {
      await kept(store, [work("w1", { run_at: 5 }), work("w2"), work("w3")]);
      const claim = await onlyClaim(store, 10, 100);
      assert.equal(claim.lane, "turn:home");
      assert.equal(claim.kind, "turn");
      assert.equal(claim.chat_jid, CHAT);
      assert.deepEqual(ids(claim.work), ["w1", "w2", "w3"]);
      assert.deepEqual(claim.work[0], {
        id: "w1",
        kind: "turn",
        lane: "turn:home",
        chat_jid: CHAT,
        ref: "ref of w1",
        run_at: 5,
        attempts: 0,
      });
      assert.deepEqual(await claimed(store, 10, 100), []);
    },
  },
  {
    name: "work is not claimed before its time, nor as another kind",
    async check(store) {
      await kept(store, [work("w1", { run_at: 50 })]);
      assert.deepEqual(await claimed(store, 49, 100), []);
      assert.deepEqual(await claimed(store, 60, 100, { kind: "delivery" }), []);
      assert.equal((await claimed(store, 50, 100)).length, 1);
    },
  },
  {
    name: "the lane that waited longest is claimed first, and no more lanes than asked",
    async check(store) {
      await kept(store, [
        work("w1", { lane: "turn:a", run_at: 30 }),
        work("w2", { lane: "turn:b", run_at: 10 }),
        work("w3", { lane: "turn:c", run_at: 20 }),
        work("w4", { lane: "turn:d", run_at: 99 }),
      ]);
      const lanesOf = (claims: Claim[]) => claims.map(({ lane }) => lane);
      assert.deepEqual(await claimed(store, 50, 100, { limit: 0 }), []);
      assert.deepEqual(lanesOf(await claimed(store, 50, 100, { limit: 2 })), ["turn:b", "turn:c"]);
      assert.deepEqual(lanesOf(await claimed(store, 50, 100)), ["turn:a"]);
    },
  },
  {
    name: "a holder sees the first hundred pieces of a lane",
    async check(store) {
      await kept(
        store,
        Array.from({ length: 130 }, (_, index) => work(`w${index}`)),
      );
      const claim = await onlyClaim(store, 10, 100);
      assert.deepEqual(
        ids(claim.work),
        Array.from({ length: 100 }, (_, index) => `w${index}`),
      );
      await settled(store, claim, { done: ids(claim.work), release: true });
      assert.equal((await onlyClaim(store, 10, 100)).work.length, 30);
    },
  },
  {
    name: "many who claim at the same instant never hold the same lane",
    async check(store) {
      await kept(
        store,
        Array.from({ length: 20 }, (_, index) => work(`w${index}`, { lane: `turn:${index}` })),
      );
      const holders = Array.from({ length: 10 }, (_, index) =>
        claimed(store, 1, 100, { limit: 3, holder: `h${index}` }),
      );
      const taken = (await Promise.all(holders)).flat().map(({ lane }) => lane);
      assert.equal(taken.length, 20);
      assert.equal(new Set(taken).size, 20);
    },
  },
  {
    name: "a lease that ran out is taken over with the same work and a higher fence; the old holder can no longer write",
    async check(store) {
      await kept(store, [registered(), work("w1")]);
      const old = await onlyClaim(store, 10, 20);
      assert.deepEqual(await claimed(store, 19, 30), []);
      const taken = await onlyClaim(store, 20, 30);
      assert.deepEqual(taken.work, old.work);
      assert.ok(taken.fence > old.fence);
      const late = await store.commit({ expect: [leaseOf(old)], facts: [message("m1")] });
      assert.deepEqual(late, { status: "fenced", lane: "turn:home" });
      assert.deepEqual(await settle(store, old, { done: ["w1"], release: true }), {
        status: "fenced",
        lane: "turn:home",
      });
      assert.deepEqual(await store.renew([old], 0, 500), [leaseIn(old)]);
      assert.deepEqual(await said(store), []);
      await kept(store, [message("m2")], [leaseOf(taken)]);
      assert.equal((await store.read.work("turn", "turn:home", 9)).length, 1);
    },
  },
  {
    name: "a lease that ran out but was not taken over still counts",
    async check(store) {
      await kept(store, [registered(), work("w1")]);
      const claim = await onlyClaim(store, 10, 20);
      await kept(store, [message("m1")], [leaseOf(claim)]);
      assert.deepEqual(await store.renew([claim], 0, 2000), []);
      assert.deepEqual(await claimed(store, 1000, 1100), []);
      await settled(store, claim, { done: ["w1"], release: true });
    },
  },
  {
    name: "a renewed lease is kept for as long as it was renewed",
    async check(store) {
      await kept(store, [work("w1")]);
      const claim = await onlyClaim(store, 10, 20);
      assert.deepEqual(await store.renew([claim], 0, 50), []);
      assert.deepEqual(await claimed(store, 49, 100), []);
      assert.equal((await claimed(store, 50, 100)).length, 1);
      assert.deepEqual(await store.renew([claim], 0, 500), [leaseIn(claim)]);
      assert.deepEqual(await store.renew([{ lane: "turn:nowhere", fence: 1 }], 0, 500), [
        { lane: "turn:nowhere", fence: 1 },
      ]);
    },
  },
  {
    name: "many leases are renewed together; those that are lost are named, the others kept",
    async check(store) {
      await kept(store, [
        work("w1", { lane: "turn:a" }),
        work("w2", { lane: "turn:b" }),
        work("w3", { lane: "turn:c" }),
      ]);
      const [a, b, c] = await claimed(store, 10, 20);
      assert.ok(a && b && c);
      await settled(store, b, { done: ["w2"], release: true });
      const nowhere = { lane: "turn:nowhere", fence: 1 };
      assert.deepEqual(await store.renew([a, b, nowhere, c], 15, 100), [leaseIn(b), nowhere]);
      assert.deepEqual(await claimed(store, 114, 200), []);
      assert.equal((await claimed(store, 115, 200)).length, 2);
      assert.deepEqual(await store.renew([], 15, 100), []);
    },
  },
  {
    name: "a lane counts how often it was claimed without being settled",
    async check(store) {
      await kept(store, [work("w1"), work("w2")]);
      const first = await onlyClaim(store, 10, 20);
      assert.equal(first.tries, 1);
      assert.deepEqual(await store.renew([first], 10, 10), []);
      assert.equal((await onlyClaim(store, 20, 30)).tries, 2);
      await store.release("a", 25);
      const third = await onlyClaim(store, 25, 40);
      assert.equal(third.tries, 3);
      const refused = await settle(store, third, { expect: [{ type: "chat_present", jid: "nowhere" }] });
      whyConflict(refused);
      assert.equal((await settle(store, first, {})).status, "fenced");
      const fourth = await onlyClaim(store, 40, 50);
      assert.equal(fourth.tries, 4);
      await settled(store, fourth, { done: ["w1"] });
      const next = await onlyClaim(store, 50, 60);
      assert.equal(next.tries, 1);
      await settled(store, next, { later: [{ id: "w2", run_at: 0, attempts: 1 }], release: true });
      assert.equal((await onlyClaim(store, 60, 70)).tries, 1);
    },
  },
  {
    name: "work due at once is due whatever the clock says, in the order in which its lanes came to wait",
    async check(store) {
      const at = (lane: string) => ({ lane: `turn:${lane}`, run_at: 0 });
      await kept(store, [work("a1", at("a")), work("b1", at("b")), work("c1", at("c"))]);
      const take = async () => {
        const [claim] = await claimed(store, 0, 1000, { limit: 1 });
        assert.ok(claim);
        return claim;
      };
      const a = await take();
      assert.equal(a.lane, "turn:a");
      await kept(store, [work("a2", at("a")), work("d1", at("d"))]);
      await settled(store, a, { done: ["a1"], release: true });
      const rest = [await take(), await take(), await take(), await take()];
      // A lane in which there is always something to do goes to the end of the line.
      assert.deepEqual(
        rest.map(({ lane }) => lane),
        ["turn:b", "turn:c", "turn:d", "turn:a"],
      );
    },
  },
  {
    name: "a holder that starts anew need not wait for the leases of its earlier life",
    async check(store) {
      await kept(store, [work("w1"), work("w2", { lane: "turn:other" })]);
      const [mine] = await store.claim({ kind: "turn", holder: "a", now: 10, leaseMs: 990, limit: 1 });
      const [theirs] = await store.claim({ kind: "turn", holder: "b", now: 10, leaseMs: 990, limit: 1 });
      assert.ok(mine && theirs);
      await store.release("a", 11);
      assert.deepEqual(await store.renew([mine], 0, 2000), [leaseIn(mine)]);
      const again = await claimed(store, 11, 1000);
      assert.deepEqual(
        again.map(({ lane }) => lane),
        [mine.lane],
      );
      assert.deepEqual(await store.renew([theirs], 0, 2000), []);
    },
  },
  {
    name: "whoever gave a lane back holds it no longer",
    async check(store) {
      await kept(store, [registered(), work("w1"), work("w2")]);
      const claim = await onlyClaim(store, 10, 20);
      await settled(store, claim, { done: ["w1"], release: true });
      assert.deepEqual(await store.renew([claim], 0, 50), [leaseIn(claim)]);
      assert.equal(
        (await store.commit({ expect: [leaseOf(claim)], facts: [message("m1")] })).status,
        "fenced",
      );
      assert.equal((await settle(store, claim, { done: ["w2"] })).status, "fenced");
      const next = await onlyClaim(store, 10, 20);
      assert.ok(next.fence > claim.fence);
      assert.deepEqual(ids(next.work), ["w2"]);
    },
  },
  {
    name: "finished work is gone, and an empty lane is not claimed",
    async check(store) {
      await kept(store, [work("w1"), work("w2")]);
      const claim = await onlyClaim(store, 10, 20);
      await settled(store, claim, { done: ["w1"] });
      assert.deepEqual(ids(await store.read.work("turn", "turn:home", 9)), ["w2"]);
      assert.deepEqual(await claimed(store, 10, 20), [], "it is not given back yet");
      await settled(store, claim, { done: ["w2"], release: true });
      assert.deepEqual(await store.read.work("turn", "turn:home", 9), []);
      assert.deepEqual(await claimed(store, 1000, 2000), []);
    },
  },
  {
    name: "a lane whose holder vanished with nothing left to do is not claimed, and takes new work again",
    async check(store) {
      await kept(store, [work("w1")]);
      const claim = await onlyClaim(store, 10, 20);
      await settled(store, claim, { done: ["w1"] });
      assert.deepEqual(await claimed(store, 30, 40), []);
      await kept(store, [work("w2", { run_at: 31 })]);
      assert.deepEqual(ids((await onlyClaim(store, 31, 50)).work), ["w2"]);
    },
  },
  {
    name: "work that came while a lane was held is there when it is given back",
    async check(store) {
      await kept(store, [work("w1")]);
      const claim = await onlyClaim(store, 10, 100);
      await kept(store, [work("w2", { run_at: 11 })]);
      assert.deepEqual(await claimed(store, 50, 100), []);
      await settled(store, claim, { done: ["w1"], release: true });
      assert.deepEqual(ids((await onlyClaim(store, 12, 100)).work), ["w2"]);
    },
  },
  {
    name: "work put off is claimed at its new time with its attempts",
    async check(store) {
      await kept(store, [work("w1")]);
      const claim = await onlyClaim(store, 10, 100);
      await settled(store, claim, { later: [{ id: "w1", run_at: 60, attempts: 2 }], release: true });
      assert.deepEqual(await claimed(store, 59, 100), []);
      const again = await onlyClaim(store, 60, 100);
      assert.deepEqual(
        again.work.map(({ id, run_at, attempts }) => ({ id, run_at, attempts })),
        [{ id: "w1", run_at: 60, attempts: 2 }],
      );
    },
  },
  {
    name: "deliveries of a lane wait for the one before them, also while that is put off",
    async check(store) {
      const lane = "delivery:slack:C1#";
      await kept(store, [work("d1", { kind: "delivery", lane }), work("d2", { kind: "delivery", lane })]);
      const claim = await onlyClaim(store, 10, 100, "delivery");
      await settled(store, claim, { later: [{ id: "d1", run_at: 60, attempts: 1 }], release: true });
      assert.deepEqual(await claimed(store, 59, 100, { kind: "delivery" }), []);
      await kept(store, [work("d3", { kind: "delivery", lane, run_at: 20 })]);
      assert.deepEqual(await claimed(store, 59, 100, { kind: "delivery" }), []);
      assert.deepEqual(ids((await onlyClaim(store, 60, 100, "delivery")).work), ["d1", "d2", "d3"]);
    },
  },
  {
    name: "a turn that is put off does not hold up the messages behind it",
    async check(store) {
      await kept(store, [work("w1", { run_at: 500 })]);
      assert.deepEqual(await claimed(store, 10, 100), []);
      await kept(store, [work("w2", { run_at: 9 })]);
      const claim = await onlyClaim(store, 10, 100);
      assert.deepEqual(ids(claim.work), ["w2"]);
      await settled(store, claim, { done: ["w2"], release: true });
      assert.deepEqual(await claimed(store, 499, 600), []);
      assert.deepEqual(ids((await onlyClaim(store, 500, 600)).work), ["w1"]);
    },
  },
  {
    name: "what work led to is written together with its end, or neither is",
    async check(store) {
      await kept(store, [registered(), message("taken"), work("w1")]);
      const claim = await onlyClaim(store, 10, 100);
      const clash = await settle(store, claim, {
        done: ["w1"],
        release: true,
        facts: [message("new"), message("taken")],
      });
      assert.equal(clash.status, "duplicate");
      assert.equal(await store.read.message(CHAT, "new"), null);
      assert.deepEqual(ids(await store.read.work("turn", "turn:home", 9)), ["w1"]);
      assert.deepEqual(await claimed(store, 20, 100), [], "the lane is still held");
      const unmet = await settle(store, claim, {
        done: ["w1"],
        release: true,
        facts: [message("new")],
        expect: [{ type: "chat_absent", jid: CHAT }],
      });
      whyConflict(unmet);
      const good = await settled(store, claim, {
        done: ["w1"],
        release: true,
        facts: [message("new"), work("w2")],
      });
      assert.deepEqual(good, { new: 2 });
      assert.deepEqual(ids((await onlyClaim(store, 20, 100)).work), ["w2"]);
    },
  },
  {
    name: "only work of the lane that is held can be finished or put off through it",
    async check(store) {
      await kept(store, [work("w1", { lane: "turn:a" }), work("w2", { lane: "turn:b" })]);
      const [a] = await claimed(store, 10, 100, { limit: 1 });
      assert.ok(a);
      await settled(store, a, { done: ["w2", "unknown"], later: [{ id: "w2", run_at: 999, attempts: 9 }] });
      assert.deepEqual(
        (await store.read.work("turn", "turn:b", 9)).map(({ run_at }) => run_at),
        [0],
      );
    },
  },
  {
    name: "an id of work is used once at a time",
    async check(store) {
      await kept(store, [registered(), work("w1")]);
      assert.match(
        whyConflict(await store.commit({ facts: [message("m1"), work("w1", { lane: "turn:b" })] })),
        /already work w1/,
      );
      assert.equal(await store.read.message(CHAT, "m1"), null);
      const claim = await onlyClaim(store, 10, 100);
      await settled(store, claim, { done: ["w1"], release: true });
      await kept(store, [work("w1")]);
      assert.deepEqual(ids((await onlyClaim(store, 10, 100)).work), ["w1"]);
    },
  },
];

function leaseOf({ lane, fence }: Claim) {
  return { type: "lease", lane, fence } as const;
}

function leaseIn({ lane, fence }: Claim): Lease {
  return { lane, fence };
}

function settle(store: Store, claim: Claim, move: Partial<Settlement>): Promise<CommitResult> {
  const { lane, fence } = claim;
  return store.settle({ lease: { lane, fence }, done: [], later: [], release: false, facts: [], ...move });
}

async function settled(
  store: Store,
  claim: Claim,
  move: Partial<Settlement>,
): Promise<Record<string, number>> {
  const result = await settle(store, claim, move);
  assert.equal(result.status, "committed", `expected to settle, got ${JSON.stringify(result)}`);
  return result.status === "committed" ? result.seqs : {};
}
