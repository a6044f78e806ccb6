import assert from "node:assert/strict";
import type { Fact, Store } from "../store.js";
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
