import assert from "node:assert/strict";
import { CHAT, type Check, inbound, kept, message, OTHER, registered, said, whyConflict } from "./sample.js";

/** The same message is stored once. */
export const once: Check[] = [
  {
    name: "a message with a known id is a duplicate; the first content wins and comes back with its admission",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1", { content: "first" }),
        inbound("m1", { reason: "why" }),
      ]);
      const again = await store.commit({ facts: [message("m1", { content: "second" }), inbound("m1")] });
      assert.equal(again.status, "duplicate");
      if (again.status !== "duplicate") return;
      assert.equal(again.message.content, "first");
      assert.equal(again.message.seq, 1);
      assert.equal(again.inbound?.reason, "why");
      assert.equal((await said(store)).length, 1);
    },
  },
  {
    name: "a platform message is told by its key, whatever id it is given the second time",
    async check(store) {
      await kept(store, [registered(), message("m1", { dedupe_key: "slack|C1|17", content: "first" })]);
      const again = await store.commit({
        facts: [message("m2", { dedupe_key: "slack|C1|17", content: "second" })],
      });
      assert.equal(again.status, "duplicate");
      if (again.status !== "duplicate") return;
      assert.equal(again.message.id, "m1");
      assert.equal(again.message.content, "first");
      assert.equal(again.inbound, null);
      assert.equal(await store.read.message(CHAT, "m2"), null);
    },
  },
  {
    name: "the same id or key in two chats is two messages, and no key is never equal",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      await kept(store, [message("m1", { dedupe_key: "k", idempotency: { key: "i", body_sha256: "x" } })]);
      await kept(store, [
        message("m1", { chat_jid: OTHER, dedupe_key: "k", idempotency: { key: "i", body_sha256: "y" } }),
      ]);
      await kept(store, [message("m2"), message("m3")]);
      assert.equal((await said(store)).length, 3);
      assert.equal((await said(store, OTHER)).length, 1);
    },
  },
  {
    name: "an idempotency key answers with its message, and refuses another body",
    async check(store) {
      await kept(store, [
        registered(),
        message("m1", { idempotency: { key: "k", body_sha256: "aa" } }),
        inbound("m1"),
      ]);
      const same = await store.commit({
        facts: [message("m2", { idempotency: { key: "k", body_sha256: "aa" } })],
      });
      assert.equal(same.status, "duplicate");
      if (same.status === "duplicate") assert.equal(same.message.id, "m1");
      if (same.status === "duplicate") assert.equal(same.inbound?.message_id, "m1");
      const other = await store.commit({
        facts: [message("m3", { idempotency: { key: "k", body_sha256: "bb" } })],
      });
      assert.match(whyConflict(other), /another body/);
      assert.equal((await said(store)).length, 1);
    },
  },
  {
    name: "of many that arrive at the same instant, one is stored and the others are told which",
    async check(store) {
      await kept(store, [registered()]);
      const storm = Array.from({ length: 50 }, (_, index) =>
        store.commit({ facts: [message(`m${index}`, { dedupe_key: "same", content: `copy ${index}` })] }),
      );
      const results = await Promise.all(storm);
      const stored = results.filter(({ status }) => status === "committed");
      assert.equal(stored.length, 1);
      const [row] = await said(store);
      for (const result of results) if (result.status === "duplicate") assert.deepEqual(result.message, row);
      assert.equal((await said(store)).length, 1);
    },
  },
  {
    name: "a message twice in one batch is refused whole",
    async check(store) {
      await kept(store, [registered()]);
      const twice = await store.commit({ facts: [message("m1"), message("m1")] });
      assert.notEqual(twice.status, "committed");
      assert.deepEqual(await said(store), []);
    },
  },
];
