import assert from "node:assert/strict";
import type { Fact, RequestBlock, Store } from "../store.js";
import {
  AT,
  block,
  CHAT,
  type Check,
  call,
  claimed,
  delivery,
  entry,
  head,
  ids,
  inbound,
  kept,
  LATER,
  logged,
  message,
  onlyClaim,
  registered,
  said,
  turn,
  whyConflict,
  work,
} from "./sample.js";

const BEN = { sender: "web:ben", sender_name: "Ben" };

export const erasure: Check[] = [
  {
    name: "of what somebody said only tombstones are left, and others' words stay",
    async check(store) {
      await kept(store, [registered(), message("m1", { metadata: { source: "web", secret: "m" } })]);
      await kept(store, [message("m2", BEN), inbound("m1", { reason: "!secret" }), inbound("m2")]);
      await kept(store, [
        revised("m1", "secret two"),
        labelled("web:olivia", "olivia"),
        labelled("web:ben", "ben"),
      ]);
      await kept(store, [erased()]);
      const [gone, stays] = await said(store);
      assert.deepEqual(gone, {
        id: "m1",
        chat_jid: CHAT,
        seq: 1,
        sender: "erased",
        sender_name: "",
        content: "",
        timestamp: AT,
        is_from_me: false,
        message_type: "user",
        metadata: {},
        turn_id: null,
        call_id: null,
        part: null,
        attachments: [],
        revision: 2,
        edited_at: null,
        deleted_at: LATER,
      });
      assert.equal(stays?.content, "words of m2");
      assert.deepEqual(
        (await store.read.revisions(CHAT, "m1")).map(({ content }) => content),
        [null],
      );
      const { outcome, reason } = (await store.read.inbound(CHAT, "m1")) ?? {};
      assert.deepEqual([outcome, reason], ["ignored", "erased"]);
      assert.equal((await store.read.inbound(CHAT, "m2"))?.outcome, "pending");
      assert.deepEqual(
        (await store.read.labels(CHAT)).map(({ sender }) => sender),
        ["web:ben"],
      );
      assert.deepEqual((await logged(store)).slice(-2), ["outcome", "message.revised"]);
      assert.deepEqual(await store.read.search(CHAT, "secret", 10), []);
      assert.deepEqual(await found(store), { messages: 1, attachments: 0, receipts: 0, summaries: 0 });
      assert.match(whyConflict(await store.commit({ facts: [revised("m1", "again")] })), /deleted/);
    },
  },
  {
    name: "what was erased does not come in again, though nothing tells by what it is known",
    async check(store) {
      const known = { dedupe_key: "slack C1 17.5", idempotency: { key: "try 1", body_sha256: "aa" } };
      await kept(store, [registered(), message("m1", known), inbound("m1"), message("m2", BEN)]);
      await kept(store, [erased()]);
      for (const again of [
        { dedupe_key: known.dedupe_key },
        { idempotency: { key: "try 1", body_sha256: "bb" } },
      ]) {
        const result = await store.commit({ facts: [message("m3", again)] });
        assert.equal(result.status, "duplicate");
        if (result.status === "duplicate") assert.equal(result.message.id, "m1");
      }
      await kept(store, [message("m4", { dedupe_key: "slack C1 17.6" })]);
      // Under the same keys in another chat it is something else.
      await kept(store, [registered("other"), message("m1", { ...known, chat_jid: "other" })]);
      const inOneGo = await store.commit({
        facts: [erased({ id: "second" }), message("m5", { dedupe_key: "slack C1 17.6" })],
      });
      assert.equal(inOneGo.status, "duplicate");
      assert.equal((await said(store)).at(-1)?.id, "m4");
    },
  },
  {
    name: "their files go, except where somebody else attached the same",
    async check(store) {
      await kept(store, [registered(), message("m1"), message("m2", BEN)]);
      await kept(store, [attached("m1", 0, "aa"), attached("m1", 1, "bb"), attached("m2", 0, "bb")]);
      await kept(store, [erased()]);
      assert.equal(await store.read.attachmentBytes("aa"), null);
      assert.notEqual(await store.read.attachmentBytes("bb"), null);
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, []);
      assert.equal((await store.read.message(CHAT, "m2"))?.attachments.length, 1);
      assert.equal((await found(store)).attachments, 2);
      // One that was still being fetched does not come after.
      await kept(store, [attached("m1", 2, "cc")]);
      assert.deepEqual((await store.read.message(CHAT, "m1"))?.attachments, []);
      assert.equal(await store.read.attachmentBytes("cc"), null);
    },
  },
  {
    name: "receipts that held their words are redacted, also where they only go on from such a one",
    async check(store) {
      await kept(store, [registered(), message("m1"), message("m2", BEN)]);
      const blocks = [from("p", "prompt", CHAT), from("b2", "message", "m2"), from("b1", "message", "m1")];
      await kept(store, [started("c1", blocks), started("c2", [from("b3", "message", "m2")], ["c1", 3])]);
      await kept(store, [started("c3", [from("b4", "message", "m2")], ["c2", 2])]);
      await kept(store, [
        { type: "call_partial", call_id: "c2", parts: [{ part: 0, type: "text", content: "so" }] },
      ]);
      await kept(store, [
        { type: "call_partial", call_id: "c3", parts: [{ part: 0, type: "text", content: "so" }] },
      ]);
      await kept(store, [erased()]);
      const redacted = await Promise.all(
        ["c1", "c2", "c3"].map(async (id) => (await store.read.call(id))?.redacted),
      );
      assert.deepEqual(redacted, [true, true, false]);
      const held = (await store.read.request("c2"))?.blocks.map(({ bytes }) => bytes !== null);
      assert.deepEqual(held, [true, true, false, true]);
      assert.equal((await store.read.call("c1"))?.request_sha256, "");
      assert.equal((await store.read.call("c1"))?.error, "erased");
      assert.equal((await store.read.call("c3"))?.request_sha256, "00");
      assert.deepEqual(await store.read.partial("c2"), []);
      assert.equal((await store.read.partial("c3")).length, 1);
      assert.equal((await found(store)).receipts, 2);
      // A request made before, and written down only now, would bring the words back.
      const late = await store.commit({ facts: [started("c4", [from("b5", "message", "m1")])] });
      assert.match(whyConflict(late), /m1 has been erased/);
      // The same bytes in somebody else's name are theirs.
      await kept(store, [started("c5", [from("b1", "message", "m2")])]);
      assert.notEqual((await store.read.request("c5"))?.blocks[0]?.bytes, null);
    },
  },
  {
    name: "summaries made since they spoke are not read any more: what those covered is",
    async check(store) {
      const summary = (first_kept: string | null) => ({ summary: "so they said", first_kept });
      await kept(store, [registered(), message("m0", BEN), message("m1"), message("m2", BEN)]);
      await kept(store, [
        entry("e0", null, { message_id: "m0" }),
        entry("k0", "e0", { kind: "compaction", data: summary("e0") }),
        entry("e1", "k0", { message_id: "m1", data: { label: "Olivia" } }),
        entry("e2", "e1", { message_id: "m2", data: { label: "Ben" } }),
        entry("k1", "e2", { kind: "compaction", data: summary("e2") }),
        entry("e3", "k1", { kind: "branch_summary", data: summary(null) }),
        entry("e4", "e3", { kind: "edit", message_id: "m1", data: { label: "Olivia" } }),
        head("e4"),
      ]);
      await kept(store, [started("s1", [from("bs", "message", "m0")], null, "compaction")]);
      await kept(store, [started("c1", [from("bk", "compaction", "k1"), from("b0", "compaction", "k0")])]);
      await kept(store, [erased()]);
      const path = await store.read.path(CHAT, "e4", 100);
      assert.deepEqual(
        path.map(({ id, data }) => [id, data]),
        [
          ["k0", summary("e0")],
          ["e0", {}],
          ["e1", {}],
          ["e2", { label: "Ben" }],
          ["k1", { erased: LATER }],
          ["e3", { erased: LATER }],
          ["e4", {}],
        ],
      );
      const held = (await store.read.request("c1"))?.blocks.map(({ bytes }) => bytes !== null);
      assert.deepEqual(held, [false, true]);
      assert.equal((await store.read.call("s1"))?.redacted, true);
      assert.equal((await found(store)).summaries, 2);
      const late = await store.commit({ facts: [started("c2", [from("bk2", "compaction", "k1")])] });
      assert.match(whyConflict(late), /k1 has been erased/);
    },
  },
  {
    name: "what others' messages brought along of what was said before goes, in the chats they spoke in",
    async check(store) {
      const brought = { metadata: { source: "web", thread_context: "Olivia: secret" } };
      await kept(store, [
        registered(),
        registered("other"),
        message("m1"),
        message("m2", { ...BEN, ...brought }),
      ]);
      await kept(store, [message("m3", { ...BEN, ...brought, chat_jid: "other" })]);
      await kept(store, [entry("e2", null, { message_id: "m2", data: { label: "Ben" } })]);
      await kept(store, [started("c1", [from("b1", "thread_context", "m2"), from("b2", "notice", "m2")])]);
      await kept(store, [erased()]);
      const left = { source: "web", thread_context_erased: true };
      assert.deepEqual((await store.read.message(CHAT, "m2"))?.metadata, left);
      assert.equal((await store.read.message(CHAT, "m2"))?.content, "words of m2");
      assert.deepEqual((await store.read.message("other", "m3"))?.metadata, brought.metadata);
      const held = (await store.read.request("c1"))?.blocks.map(({ bytes }) => bytes !== null);
      assert.deepEqual(held, [false, true]);
      assert.deepEqual((await store.read.path(CHAT, "e2", 9))[0]?.data, { label: "Ben" });
    },
  },
  {
    name: "whoever is answering in a chat they spoke in can write nothing more, and the next goes on at once",
    async check(store) {
      await kept(store, [registered(), message("m1"), inbound("m1"), work("w1"), delivery("d1"), turn("t1")]);
      const claim = await onlyClaim(store, 1000, 9000);
      const [sending] = await claimed(store, 1000, 9000, { kind: "delivery" });
      assert.ok(sending);
      await kept(store, [erased()]);
      const { lane, fence } = claim;
      const late = await store.commit({ expect: [{ type: "lease", lane, fence }], facts: [message("m2")] });
      assert.equal(late.status, "fenced");
      assert.deepEqual(await store.renew([{ lane, fence }], 1001, 9000), [{ lane, fence }]);
      const next = await onlyClaim(store, 1001, 9000);
      assert.equal(next.lane, lane);
      assert.ok(next.fence > fence + 1);
      assert.equal(next.tries, 1);
      const still = { lane: sending.lane, fence: sending.fence };
      assert.deepEqual(await store.renew([still], 1001, 9000), []);
    },
  },
  {
    name: "what a program said for them, what answered them, who knocked under their name and what they spent goes too",
    async check(store) {
      const own = { untaken: false };
      await kept(store, [
        registered(),
        message("m1"),
        message("m2", {
          ...own,
          sender: "system",
          message_type: "system",
          metadata: { sender_id: "web:olivia" },
        }),
        message("m3", {
          ...own,
          sender: "command_output",
          message_type: "tool_result",
          metadata: { answers: "m1" },
        }),
        message("m4", { ...own, sender: "host", message_type: "host", metadata: { answers: "m9" } }),
        message("m5", {
          ...own,
          sender: "host",
          message_type: "host",
          metadata: { answers: "m9", quotes: ["m8", "m1"] },
        }),
        { type: "knock", address: "sms:1", channel: "sms", name: "Olivia", at: AT },
        { type: "knock", address: "web:olivia", channel: "web", name: "?", at: AT },
        { type: "knock", address: "sms:2", channel: "sms", name: "Livi", at: AT },
        { type: "knock", address: "sms:3", channel: "sms", name: "Ben", at: AT },
        spent("sender:web:olivia"),
        spent("sender:web:ben"),
        delivery("d1", { last_error: "secret" }),
      ]);
      await kept(store, [erased({ names: ["Livi"], accounts: ["sender:web:olivia"] })]);
      assert.deepEqual(
        (await said(store)).map(({ sender, content }) => [sender, content]),
        [
          ["erased", ""],
          ["erased", ""],
          ["erased", ""],
          ["host", "words of m4"],
          ["erased", ""],
        ],
      );
      assert.deepEqual(
        (await store.read.addresses()).map(({ address }) => address),
        ["sms:3"],
      );
      const accounts = await store.read.spent({ accounts: { under: "sender:" }, from: "2000", to: "2999" });
      assert.deepEqual(
        accounts.map(({ account }) => account),
        ["sender:web:ben"],
      );
      assert.equal((await store.read.delivery("d1"))?.last_error, null);
    },
  },
  {
    name: "an erasure is all or nothing, and one of somebody who never spoke finds nothing",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      const refused = await store.commit({ facts: [erased(), revised("nobody", "x")] });
      assert.equal(refused.status, "conflict");
      assert.equal((await store.read.message(CHAT, "m1"))?.content, "words of m1");
      assert.equal(await store.read.erasure("erasure"), null);
      await kept(store, [erased({ senders: ["web:nobody"] })]);
      assert.deepEqual(await found(store), { messages: 0, attachments: 0, receipts: 0, summaries: 0 });
      assert.deepEqual(ids(await store.read.untaken(CHAT, "", 9)), ["m1"]);
    },
  },
];

function erased(more: Partial<Extract<Fact, { type: "senders_erased" }>["erasing"]> = {}): Fact {
  const erasing = { id: "erasure", senders: ["web:olivia"], names: [], accounts: [], at: LATER, ...more };
  return { type: "senders_erased", erasing };
}

function revised(message_id: string, content: string): Fact {
  return { type: "revision", chat_jid: CHAT, message_id, content, at: AT };
}

function labelled(sender: string, label: string): Fact {
  return { type: "label", chat_jid: CHAT, folded: label, label, sender };
}

function attached(message_id: string, index: number, sha256: string): Fact {
  const attachment = { name: "secret", mime_type: "a/b", size: 1, sha256, reason: null, url: null };
  return {
    type: "attachment",
    chat_jid: CHAT,
    message_id,
    index,
    attachment: { ...attachment, state: "delivered" },
    bytes: new Uint8Array([1]),
  };
}

function from(id: string, type: string, source: string): RequestBlock {
  return { ...block(id), sources: [{ type, id: source }] };
}

function started(
  id: string,
  blocks: RequestBlock[],
  base: [string, number] | null = null,
  purpose: "turn" | "compaction" = "turn",
): Fact {
  const [call_id, count] = base ?? ["", 0];
  const request = { base: base && { call_id, count }, blocks, left_out: [], breaks: [] };
  return { type: "call_started", call: call(id, { purpose, error: "so it said" }), request };
}

function spent(account: string): Fact {
  const spending = {
    calls: 1,
    unpriced: 0,
    input_tokens: 1,
    output_tokens: 1,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    usd: 1,
  };
  return { type: "spent", account, day: "2026-11-15", spending };
}

async function found(store: Store) {
  const known = await store.read.erasure("erasure");
  if (!known) throw new Error("there was no erasure");
  const { messages, attachments, receipts, summaries } = known;
  return { messages, attachments, receipts, summaries };
}
