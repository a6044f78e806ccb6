import assert from "node:assert/strict";
import type { Entry, Fact, Store } from "../store.js";
import { AT, CHAT, type Check, entry, ids, inbound, kept, message, registered } from "./sample.js";

export const edits: Check[] = [
  {
    name: "a message edited after a turn took it is to be told, until it was",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1"),
        message("m2"),
        entry("e1", null, { message_id: "m1" }),
      ]);
      await kept(store, [revised("m1", "eleven"), revised("m2", "no turn took this one")]);
      assert.deepEqual(await untold(store), ["m1"]);
      assert.equal((await store.read.untold(CHAT, "", 10))[0]?.content, "eleven");
      assert.deepEqual(ids(await store.read.untold(CHAT, "side", 10)), []);
      await kept(store, [told("m1", 1)]);
      assert.deepEqual(await untold(store), []);
      await kept(store, [revised("m1", "twelve")]);
      assert.deepEqual(await untold(store), ["m1"]);
      // The message stands once on the tree however often it is told.
      await kept(store, [entry("e2", "e1", { kind: "edit", message_id: "m1", data: { revision: 2 } })]);
      const path = await store.read.path(CHAT, "e2", 10);
      assert.deepEqual(
        path.map(({ kind, message: row }) => [kind, row?.content]),
        [
          ["message", "twelve"],
          ["edit", "twelve"],
        ],
      );
    },
  },
  {
    name: "an edit that came while an earlier one was told is to be told too",
    async check(store) {
      await kept(store, [registered(), message("m1"), entry("e1", null, { message_id: "m1" })]);
      await kept(store, [revised("m1", "eleven"), revised("m1", "twelve"), told("m1", 1)]);
      assert.deepEqual(await untold(store), ["m1"]);
      await kept(store, [told("m1", 2), told("nobody", 1)]);
      assert.deepEqual(await untold(store), []);
    },
  },
  {
    name: "of what no model reads, of other rows than people's and of what is deleted no edit is told",
    async check(store) {
      const own = { untaken: false };
      await kept(store, [
        registered(),
        message("command", own),
        inbound("command", { admission: "command" }),
        message("refused", own),
        inbound("refused", { admission: "ignored", outcome: "ignored" }),
        message("answer", { ...own, sender: "bot", message_type: "assistant" }),
        message("gone", own),
        message("heard", own),
        inbound("heard", { admission: "passive", outcome: "passive" }),
        message("brought", own),
      ]);
      const all = ["command", "refused", "answer", "gone", "heard", "brought"];
      await kept(
        store,
        all.map((id) => revised(id, "other words")),
      );
      assert.deepEqual(await untold(store), ["gone", "heard", "brought"]);
      await kept(store, [revised("gone", null)]);
      assert.deepEqual(await untold(store), ["heard", "brought"]);
    },
  },
  {
    name: "a summary that may say what is deleted says nothing any more, and what it covered is read again",
    async check(store) {
      const summary = (id: string, parent: string, seq: number, more: Partial<Entry> = {}) =>
        entry(id, parent, {
          kind: "compaction",
          data: { summary: `words of ${id}`, first_kept: parent, covers: { seq } },
          ...more,
        });
      await kept(store, [
        registered(),
        message("m1"),
        entry("e1", null, { message_id: "m1" }),
        message("m2"),
        entry("e2", "e1", { message_id: "m2" }),
        summary("s1", "e2", 1),
        message("m3", { sender: "bot", message_type: "assistant" }),
        entry("e3", "s1", { message_id: "m3" }),
        summary("s2", "e3", 2),
        summary("b1", "e3", 3, { kind: "branch_summary" }),
        message("m4", { thread_id: "side" }),
        summary("side", "e3", 4, { thread_id: "side" }),
      ]);
      const said = async () => {
        const entries = await store.read.entries(CHAT, 10);
        return entries.flatMap(({ id, data }) => ("summary" in data ? [id] : []));
      };
      await kept(store, [revised("m2", "an edit takes nothing away")]);
      assert.deepEqual(await said(), ["s1", "s2", "b1", "side"]);
      await kept(store, [revised("m2", null)]);
      assert.deepEqual(await said(), ["s1", "side"]);
      const path = await store.read.path(CHAT, "s2", 10);
      assert.deepEqual(
        path.map(({ id }) => id),
        ["s1", "e2", "e3", "s2"],
      );
      await kept(store, [revised("m3", null)]);
      assert.deepEqual(await said(), ["s1"]);
    },
  },
];

function revised(message_id: string, content: string | null): Fact {
  return { type: "revision", chat_jid: CHAT, message_id, content, at: AT };
}

function told(message_id: string, revision: number): Fact {
  return { type: "edit_told", chat_jid: CHAT, message_id, revision };
}

async function untold(store: Store): Promise<string[]> {
  return ids(await store.read.untold(CHAT, "", 10));
}
