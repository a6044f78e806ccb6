import assert from "node:assert/strict";
import {
  AT,
  CHAT,
  type Check,
  ids,
  inbound,
  kept,
  LATER,
  message,
  OTHER,
  registered,
  said,
  whyConflict,
  work,
} from "./sample.js";

export const messages: Check[] = [
  {
    name: "a message comes back as it was given, character for character",
    async check(store) {
      const content = "  [Olivia]: \u202ehé\r\n\t日本語 ภาษาไทย 🎉 'quotes\" \\ % _ \u2028 end ";
      const metadata = {
        source: "web",
        nested: { list: [1, null, "x", { deep: true }] },
        "🙂": "\u2029",
        empty: {},
      };
      await kept(store, [
        registered(),
        message("m1", {
          content,
          metadata,
          is_from_me: true,
          turn_id: "t",
          call_id: "c",
          part: 3,
          sender_name: "O'L",
        }),
      ]);
      assert.deepEqual(await store.read.message(CHAT, "m1"), {
        id: "m1",
        chat_jid: CHAT,
        seq: 1,
        sender: "web:olivia",
        sender_name: "O'L",
        content,
        timestamp: AT,
        is_from_me: true,
        message_type: "user",
        metadata,
        turn_id: "t",
        call_id: "c",
        part: 3,
        attachments: [],
        revision: 0,
        edited_at: null,
        deleted_at: null,
      });
    },
  },
  {
    name: "what a reader does to an answer changes nothing in the store",
    async check(store) {
      const given = message("m1", { metadata: { source: "web", list: [1] } });
      await kept(store, [registered(), given]);
      given.message.metadata.source = "changed by the writer";
      const read = await store.read.message(CHAT, "m1");
      if (read) read.metadata.source = "changed by the reader";
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.metadata, { source: "web", list: [1] });
    },
  },
  {
    name: "numbers count from 1 in each chat without gaps, whatever the clocks say",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      assert.deepEqual(
        await kept(store, [message("a", { timestamp: "2030-01-01T00:00:00.000Z" }), message("b")]),
        { a: 1, b: 2 },
      );
      assert.deepEqual(
        await kept(store, [message("a", { chat_jid: OTHER, timestamp: "1999-01-01T00:00:00.000Z" })]),
        { a: 1 },
      );
      assert.deepEqual(await kept(store, [message("c", { timestamp: "1970-01-01T00:00:00.000Z" })]), {
        c: 3,
      });
      assert.deepEqual(ids(await said(store)), ["a", "b", "c"]);
    },
  },
  {
    name: "a batch that is refused uses no number",
    async check(store) {
      await kept(store, [registered(), message("a")]);
      const refused = await store.commit({ facts: [message("b"), message("c"), message("a")] });
      assert.equal(refused.status, "duplicate");
      assert.deepEqual(await kept(store, [message("d")]), { d: 2 });
    },
  },
  {
    name: "nothing is stored in a chat that is not registered, and the answer says so",
    async check(store) {
      const result = await store.commit({ facts: [message("m1"), inbound("m1"), work("w1")] });
      assert.match(whyConflict(result), /home is not registered/);
      assert.equal(await store.read.message(CHAT, "m1"), null);
      assert.deepEqual(await store.claim({ kind: "turn", holder: "a", now: 10, leaseMs: 10, limit: 9 }), []);
      assert.deepEqual(await store.read.events({ after: null, chat_jid: null, limit: 10 }), []);
    },
  },
  {
    name: "everything of a batch is written, or nothing of it",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      const refused = await store.commit({
        facts: [
          message("m2", { dedupe_key: "k2", idempotency: { key: "i2", body_sha256: "x" } }),
          inbound("m2"),
          work("w2"),
          { type: "knock", address: "slack:C9", channel: "slack", name: "n", at: AT },
          { type: "knock", address: "slack:C9", channel: "slack", name: "again", at: AT },
          { type: "revision", chat_jid: CHAT, message_id: "m1", content: "changed", at: LATER },
          { type: "revision", chat_jid: CHAT, message_id: "m1", content: "and again", at: LATER },
          {
            type: "attachment",
            chat_jid: CHAT,
            message_id: "m1",
            index: 0,
            attachment: FILE,
            bytes: new Uint8Array([1]),
          },
          { type: "label", chat_jid: CHAT, folded: "olivia", label: "Olivia", sender: "web:olivia" },
          { type: "chat", chat: { ...(await must(store.read.chat(CHAT))), name: "renamed" }, at: AT },
          {
            type: "outcome",
            chat_jid: CHAT,
            message_id: "nobody",
            outcome: "failed",
            reason: "",
            turn_id: null,
            at: AT,
          },
        ],
      });
      assert.equal(refused.status, "conflict");
      assert.deepEqual(ids(await said(store)), ["m1"]);
      assert.equal((await store.read.message(CHAT, "m1"))?.content, "words of m1");
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, []);
      assert.equal(await store.read.attachmentBytes("f00d"), null);
      assert.equal(await store.read.inbound(CHAT, "m2"), null);
      assert.deepEqual(await store.read.addresses(), []);
      assert.deepEqual(await store.read.labels(CHAT), []);
      assert.notEqual((await store.read.chat(CHAT))?.name, "renamed");
      assert.deepEqual(await store.claim({ kind: "turn", holder: "a", now: 10, leaseMs: 10, limit: 9 }), []);
      assert.equal((await store.read.events({ after: null, chat_jid: null, limit: 10 })).length, 2);
      assert.deepEqual(
        await kept(store, [
          message("m2", { dedupe_key: "k2", idempotency: { key: "i2", body_sha256: "y" } }),
        ]),
        { m2: 2 },
      );
    },
  },
  {
    name: "one refused commit among many leaves the others alone",
    async check(store) {
      await kept(store, [registered(), message("taken")]);
      const many = Array.from({ length: 100 }, (_, index) =>
        store.commit({ facts: [message(index === 50 ? "taken" : `m${index}`), work(`w${index}`)] }),
      );
      const results = await Promise.all(many);
      assert.equal(results.filter(({ status }) => status === "committed").length, 99);
      assert.equal(results[50]?.status, "duplicate");
      const rows = await said(store);
      assert.deepEqual(
        rows.map(({ seq }) => seq),
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
      assert.equal((await store.read.work("turn", "turn:home", 1000)).length, 99);
      assert.equal(
        (await store.read.work("turn", "turn:home", 1000)).some(({ id }) => id === "w50"),
        false,
      );
    },
  },
  {
    name: "messages are numbered in the order in which they were handed in",
    async check(store) {
      await kept(store, [registered()]);
      const names = Array.from({ length: 200 }, (_, index) => `m${index}`);
      await Promise.all(names.map((id) => store.commit({ facts: [message(id)] })));
      assert.deepEqual(ids(await said(store)), names);
    },
  },
  {
    name: "a window of messages is read from any side and by any filter",
    async check(store) {
      await kept(store, [registered()]);
      for (let n = 1; n <= 12; n++) {
        const host = n % 3 === 0;
        await kept(store, [
          message(`m${n}`, {
            message_type: host ? "host" : "user",
            sender: host ? "host" : n % 2 === 0 ? "web:ben" : "web:olivia",
            timestamp: `2026-11-15T12:00:${String(60 - n).padStart(2, "0")}.000Z`,
          }),
        ]);
      }
      const read = async (query: {
        after_seq?: number;
        before_seq?: number;
        limit?: number;
        message_type?: "host" | "user";
        sender?: string;
        since?: string;
      }) =>
        (
          await store.read.messages({
            chat_jid: CHAT,
            after_seq: query.after_seq ?? null,
            before_seq: query.before_seq ?? null,
            limit: query.limit ?? 100,
            message_type: query.message_type ?? null,
            sender: query.sender ?? null,
            since: query.since ?? null,
          })
        ).map(({ seq }) => seq);
      assert.deepEqual(await read({ limit: 3 }), [1, 2, 3]);
      assert.deepEqual(await read({ after_seq: 4, limit: 3 }), [5, 6, 7]);
      assert.deepEqual(await read({ before_seq: 5, limit: 3 }), [2, 3, 4]);
      assert.deepEqual(await read({ before_seq: Number.MAX_SAFE_INTEGER, limit: 2 }), [11, 12]);
      assert.deepEqual(await read({ after_seq: 3, before_seq: 6 }), [4, 5]);
      assert.deepEqual(await read({ after_seq: 12 }), []);
      assert.deepEqual(await read({ message_type: "host" }), [3, 6, 9, 12]);
      assert.deepEqual(await read({ message_type: "host", before_seq: 12, limit: 2 }), [6, 9]);
      assert.deepEqual(
        await read({ message_type: "user", after_seq: 8 }),
        [10, 11].filter((n) => n % 3 !== 0),
      );
      assert.deepEqual(await read({ sender: "web:ben" }), [2, 4, 8, 10]);
      assert.deepEqual(await read({ sender: "web:ben", before_seq: 100, limit: 1 }), [10]);
      assert.deepEqual(await read({ since: "2026-11-15T12:00:56.500Z" }), [1, 2, 3]);
      assert.deepEqual(
        await read({ since: "2026-11-15T12:00:50.500Z", message_type: "host", before_seq: 999, limit: 1 }),
        [9],
      );
      assert.deepEqual(await read({ limit: 0 }), []);
      assert.deepEqual(
        await store.read.messages({
          chat_jid: "nowhere",
          after_seq: 0,
          before_seq: null,
          limit: 5,
          message_type: null,
          sender: null,
        }),
        [],
      );
    },
  },
  {
    name: "the rows of a turn are found by its id",
    async check(store) {
      await kept(store, [registered(), registered(OTHER), message("a"), message("b", { turn_id: "t1" })]);
      await kept(store, [
        message("c", { turn_id: "t2" }),
        message("d", { turn_id: "t1" }),
        message("b", { chat_jid: OTHER, turn_id: "t1" }),
      ]);
      assert.deepEqual(ids(await store.read.messagesOfTurn(CHAT, "t1")), ["b", "d"]);
      assert.deepEqual(await store.read.messagesOfTurn(CHAT, "t3"), []);
    },
  },
  {
    name: "attachments come with their message, bytes by their hash",
    async check(store) {
      const bytes = new Uint8Array([0, 1, 2, 255]);
      const second = {
        ...FILE,
        name: "b.png",
        sha256: null,
        state: "unavailable" as const,
        reason: "not fetched",
        url: "https://x/b",
      };
      await kept(store, [
        registered(),
        message("m1"),
        message("m2"),
        { type: "attachment", chat_jid: CHAT, message_id: "m1", index: 1, attachment: second, bytes: null },
        { type: "attachment", chat_jid: CHAT, message_id: "m1", index: 0, attachment: FILE, bytes },
      ]);
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, [FILE, second]);
      assert.deepEqual(
        (await said(store)).map(({ attachments }) => attachments.length),
        [2, 0],
      );
      assert.deepEqual(Uint8Array.from((await store.read.attachmentBytes("f00d")) ?? []), bytes);
      const fetched = { ...second, sha256: "beef", state: "delivered" as const, reason: null };
      await kept(store, [
        {
          type: "attachment",
          chat_jid: CHAT,
          message_id: "m1",
          index: 1,
          attachment: fetched,
          bytes: new Uint8Array(0),
        },
      ]);
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, [FILE, fetched]);
      assert.equal((await store.read.attachmentBytes("beef"))?.length, 0);
      assert.equal(await store.read.attachmentBytes("none"), null);
      const small = { ...FILE, seen_sha256: "5ma11" };
      const heard = {
        ...fetched,
        state: "transcribed" as const,
        transcript: "it's ö\nfine",
        seen_sha256: "beef",
      };
      await kept(store, [
        {
          type: "attachment",
          chat_jid: CHAT,
          message_id: "m1",
          index: 0,
          attachment: small,
          bytes: new Uint8Array([7]),
        },
        { type: "attachment", chat_jid: CHAT, message_id: "m1", index: 1, attachment: heard, bytes: null },
      ]);
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, [small, heard]);
      assert.deepEqual(
        Uint8Array.from((await store.read.attachmentBytes("5ma11")) ?? []),
        new Uint8Array([7]),
      );
      assert.deepEqual(Uint8Array.from((await store.read.attachmentBytes("f00d")) ?? []), bytes);
      const lost = await store.commit({
        facts: [
          { type: "attachment", chat_jid: CHAT, message_id: "m9", index: 0, attachment: FILE, bytes: null },
        ],
      });
      assert.match(whyConflict(lost), /no message m9/);
    },
  },
  {
    name: "strange ids are only ids",
    async check(store) {
      await kept(store, [registered()]);
      const strange = ["__proto__", "constructor", "status", "'; DROP TABLE messages; --", "%", "日本"];
      for (const [index, id] of strange.entries())
        assert.deepEqual(Object.entries(await kept(store, [message(id)])), [[id, index + 1]]);
      assert.deepEqual(ids(await said(store)), strange);
    },
  },
];

const FILE = {
  name: "a.png",
  mime_type: "image/png",
  size: 4,
  sha256: "f00d",
  state: "delivered" as const,
  reason: null,
  url: null,
};

async function must<T>(promised: Promise<T | null>): Promise<T> {
  const value = await promised;
  assert.ok(value !== null);
  return value;
}
