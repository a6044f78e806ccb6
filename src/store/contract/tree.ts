import assert from "node:assert/strict";
import type { Fact } from "../store.js";
import {
  AT,
  CHAT,
  type Check,
  entry,
  head,
  ids,
  kept,
  LATER,
  message,
  OTHER,
  registered,
  turn,
  whyConflict,
} from "./sample.js";

export const tree: Check[] = [
  {
    name: "a message waits to be taken until an entry stands for it",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1"),
        message("m2", { thread_id: "t" }),
        message("m3", { untaken: false }),
        message("m4"),
      ]);
      assert.deepEqual(ids(await store.read.untaken(CHAT, "", 10)), ["m1", "m4"]);
      assert.deepEqual(ids(await store.read.untaken(CHAT, "", 1)), ["m1"]);
      assert.deepEqual(ids(await store.read.untaken(CHAT, "t", 10)), ["m2"]);
      await kept(store, [entry("e1", null, { message_id: "m4" })]);
      assert.deepEqual(ids(await store.read.untaken(CHAT, "", 10)), ["m1"]);
      assert.deepEqual(ids(await store.read.untaken(OTHER, "", 10)), []);
    },
  },
  {
    name: "a path leads from the root to an entry, with the messages it stands for",
    async check(store) {
      await kept(store, [registered(), message("m1"), message("m2"), message("m3")]);
      await kept(store, [
        entry("e1", null, { message_id: "m1", data: { label: "Olivia", nested: [1] } }),
        entry("e2", "e1", { kind: "model_change", data: { model: "x" } }),
        entry("e3", "e2", { message_id: "m2", turn_id: "t1" }),
        entry("fork", "e1", { message_id: "m3" }),
      ]);
      const path = await store.read.path(CHAT, "e3", 100);
      assert.deepEqual(ids(path), ["e1", "e2", "e3"]);
      assert.deepEqual(
        path.map((one) => one.message?.id ?? null),
        ["m1", null, "m2"],
      );
      assert.deepEqual(path[0]?.data, { label: "Olivia", nested: [1] });
      assert.equal(path[2]?.turn_id, "t1");
      assert.equal(path[1]?.kind, "model_change");
      assert.deepEqual(ids(await store.read.path(CHAT, "fork", 100)), ["e1", "fork"]);
      assert.deepEqual(await store.read.path(CHAT, "nowhere", 100), []);
      assert.deepEqual(await store.read.path(OTHER, "e3", 100), []);
      assert.deepEqual(ids(await store.read.entries(CHAT, 100)), ["e1", "e2", "e3", "fork"]);
      assert.deepEqual(ids(await store.read.entries(CHAT, 2)), ["e3", "fork"]);
    },
  },
  {
    name: "the whole tree is read in the order it grew, piece by piece",
    async check(store) {
      await kept(store, [registered(), message("m1"), message("m2")]);
      await kept(store, [
        entry("e1", null, { message_id: "m1" }),
        entry("e2", "e1", { kind: "compaction", data: { summary: "s", first_kept: "e1" } }),
        entry("e3", "e1", { message_id: "m2" }),
        entry("e4", "e3", { message_id: "m1" }),
      ]);
      const tree = (after: string | null, limit: number) => store.read.tree({ chat_jid: CHAT, after, limit });
      const all = await tree(null, 9);
      assert.deepEqual(ids(all), ["e1", "e2", "e3", "e4"]);
      assert.deepEqual(
        all.map((one) => one.message?.id ?? null),
        ["m1", null, "m2", "m1"],
      );
      assert.deepEqual(all[1]?.data, { summary: "s", first_kept: "e1" });
      assert.deepEqual(ids(await tree(null, 2)), ["e1", "e2"]);
      assert.deepEqual(ids(await tree("e2", 1)), ["e3"]);
      assert.deepEqual(ids(await tree("e4", 9)), []);
      assert.deepEqual(ids(await tree("nowhere", 9)), []);
      assert.deepEqual(await store.read.tree({ chat_jid: OTHER, after: null, limit: 9 }), []);
      assert.equal((await store.read.entry(CHAT, "e3"))?.parent, "e1");
      assert.equal(await store.read.entry(OTHER, "e3"), null);
      assert.equal(await store.read.entry(CHAT, "nowhere"), null);
      assert.equal((await store.read.entryOf(CHAT, "m1"))?.id, "e4");
      assert.equal((await store.read.entryOf(CHAT, "m2"))?.id, "e3");
      assert.equal(await store.read.entryOf(CHAT, "m9"), null);
      assert.equal(await store.read.entryOf(OTHER, "m1"), null);
    },
  },
  {
    name: "a path shows the newest words of a message, and its attachments",
    async check(store) {
      const attachment = {
        name: "a",
        mime_type: "text/plain",
        size: 1,
        sha256: "aa",
        state: "delivered",
        reason: null,
        url: null,
      } as const;
      await kept(store, [
        registered(),
        message("m1"),
        message("m2"),
        entry("e1", null, { message_id: "m1" }),
        entry("e2", "e1", { message_id: "m2" }),
      ]);
      await kept(store, [
        { type: "revision", chat_jid: CHAT, message_id: "m1", content: "edited", at: LATER },
        { type: "attachment", chat_jid: CHAT, message_id: "m2", index: 0, attachment, bytes: null },
      ]);
      const path = await store.read.path(CHAT, "e2", 10);
      assert.equal(path[0]?.message?.content, "edited");
      assert.deepEqual(path[1]?.message?.attachments, [attachment]);
    },
  },
  {
    name: "a path stops at what the newest compaction kept, and that compaction comes first",
    async check(store) {
      await kept(store, [registered(), ...chain(["a", "b", "c", "d"])]);
      await kept(store, [
        entry("c1", "d", { kind: "compaction", data: { summary: "a", first_kept: "b" } }),
        ...chain(["e", "f"], "c1"),
      ]);
      assert.deepEqual(ids(await store.read.path(CHAT, "f", 100)), ["c1", "b", "c", "d", "e", "f"]);
      assert.deepEqual(ids(await store.read.path(CHAT, "c1", 100)), ["c1", "b", "c", "d"]);
      assert.deepEqual(ids(await store.read.path(CHAT, "d", 100)), ["a", "b", "c", "d"]);
      await kept(store, [
        entry("c2", "f", { kind: "compaction", data: { summary: "a-c", first_kept: "d" } }),
        ...chain(["g"], "c2"),
      ]);
      assert.deepEqual(ids(await store.read.path(CHAT, "g", 100)), ["c2", "d", "e", "f", "g"]);
      await kept(store, [
        entry("c3", "g", { kind: "compaction", data: { summary: "all", first_kept: null } }),
        ...chain(["h"], "c3"),
      ]);
      assert.deepEqual(ids(await store.read.path(CHAT, "h", 100)), ["c3", "h"]);
    },
  },
  {
    name: "a path is no longer than asked, and keeps its newest entries",
    async check(store) {
      const names = Array.from({ length: 50 }, (_, index) => `e${index}`);
      await kept(store, [registered(), ...chain(names)]);
      assert.deepEqual(ids(await store.read.path(CHAT, "e49", 3)), ["e47", "e48", "e49"]);
    },
  },
  {
    name: "the head of each thread moves only where there is an entry, and not under somebody who looks away",
    async check(store) {
      await kept(store, [registered(), ...chain(["a", "b"])]);
      assert.equal(await store.read.head(CHAT, ""), null);
      const still = (entry_id: string | null) =>
        ({ type: "head", chat_jid: CHAT, thread_id: "", entry_id }) as const;
      await kept(store, [head("b")], [still(null)]);
      assert.equal(await store.read.head(CHAT, ""), "b");
      assert.equal(await store.read.head(CHAT, "thread"), null);
      whyConflict(await store.commit({ facts: [head("a")], expect: [still(null)] }));
      whyConflict(await store.commit({ facts: [head("a")], expect: [still("a")] }));
      await kept(store, [head("a"), head("b", "thread")], [still("b")]);
      assert.equal(await store.read.head(CHAT, ""), "a");
      assert.equal(await store.read.head(CHAT, "thread"), "b");
      assert.match(whyConflict(await store.commit({ facts: [head("nowhere")] })), /no entry nowhere/);
      await kept(store, [head(null)], [still("a")]);
      assert.equal(await store.read.head(CHAT, ""), null);
    },
  },
  {
    name: "an entry needs its parent and its message, and has an id of its own",
    async check(store) {
      await kept(store, [registered(), message("m1"), entry("e1", null, { message_id: "m1" })]);
      assert.match(whyConflict(await store.commit({ facts: [entry("e2", "nowhere")] })), /no entry nowhere/);
      assert.match(
        whyConflict(await store.commit({ facts: [entry("e2", "e1", { message_id: "m9" })] })),
        /no message m9/,
      );
      assert.match(whyConflict(await store.commit({ facts: [entry("e1", null)] })), /already an entry e1/);
      whyConflict(await store.commit({ facts: [entry("e9", "e1", { chat_jid: OTHER })] }));
      await kept(store, [entry("e3", null, { message_id: "m1" })]);
      assert.deepEqual(ids(await store.read.entries(CHAT, 10)), ["e1", "e3"]);
    },
  },
  {
    name: "a turn runs until it ends, once",
    async check(store) {
      await kept(store, [registered(), turn("t1", { thread_id: "x", trigger_id: "m7", interruptions: 3 })]);
      const running = {
        id: "t1",
        chat_jid: CHAT,
        thread_id: "x",
        trigger_id: "m7",
        started_at: AT,
        status: "running",
        ended_at: null,
        interruptions: 3,
      };
      assert.deepEqual(await store.read.turn("t1"), running);
      assert.deepEqual(await store.read.runningTurn(CHAT, "x"), running);
      assert.equal(await store.read.runningTurn(OTHER, ""), null);
      assert.equal(await store.read.runningTurn(CHAT, ""), null);
      whyConflict(await store.commit({ facts: [turn("t1")] }));
      const end: Fact = { type: "turn_ended", turn_id: "t1", chat_jid: CHAT, status: "stopped", at: LATER };
      await kept(store, [end]);
      assert.deepEqual(await store.read.turn("t1"), { ...running, status: "stopped", ended_at: LATER });
      assert.equal(await store.read.runningTurn(CHAT, "x"), null);
      assert.match(whyConflict(await store.commit({ facts: [end] })), /not running/);
      assert.equal(await store.read.turn("t9"), null);
    },
  },
  {
    name: "the turns that run in a chat are known, in all its threads",
    async check(store) {
      await kept(store, [
        registered(),
        turn("t3", { thread_id: "side" }),
        turn("t1"),
        turn("t2", { chat_jid: OTHER }),
        turn("t4", { thread_id: "aside" }),
      ]);
      assert.deepEqual(ids(await store.read.runningTurns(CHAT)), ["t3", "t1", "t4"]);
      assert.deepEqual(await store.read.runningTurns("nowhere"), []);
      assert.deepEqual(ids(await store.read.runningTurns(null)), ["t3", "t1", "t2", "t4"]);
      const at = { chat_jid: CHAT, at: LATER };
      await kept(store, [{ type: "turn_ended", turn_id: "t1", status: "superseded", ...at }]);
      assert.equal((await store.read.turn("t1"))?.status, "superseded");
      assert.deepEqual(await store.read.runningTurns(CHAT), [
        await store.read.turn("t3"),
        await store.read.turn("t4"),
      ]);
    },
  },
];

/** Entries that follow each other. */
function chain(names: readonly string[], parent: string | null = null): Fact[] {
  return names.map((id, index) =>
    entry(id, index === 0 ? parent : (names[index - 1] ?? null), { kind: "custom" }),
  );
}
