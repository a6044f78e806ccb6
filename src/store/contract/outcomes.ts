import assert from "node:assert/strict";
import type { Fact } from "../store.js";
import {
  AT,
  CHAT,
  type Check,
  inbound,
  kept,
  LATER,
  message,
  OTHER,
  registered,
  said,
  whyConflict,
} from "./sample.js";

type Outcome = Extract<Fact, { type: "outcome" }>;

export const outcomes: Check[] = [
  {
    name: "an inbound message ends in exactly one outcome",
    async check(store) {
      await kept(store, [registered(), message("m1"), inbound("m1", { received_at: 1_794_744_000_123 })]);
      await kept(store, [answered("m1")]);
      assert.deepEqual(await store.read.inbound(CHAT, "m1"), {
        chat_jid: CHAT,
        message_id: "m1",
        admission: "run",
        reason: "trigger",
        outcome: "answered",
        outcome_reason: "because",
        turn_id: "t1",
        received_at: 1_794_744_000_123,
      });
      const again = await store.commit({ facts: [{ ...answered("m1"), outcome: "failed" }] });
      assert.match(whyConflict(again), /already ended: answered/);
      assert.equal((await store.read.inbound(CHAT, "m1"))?.outcome, "answered");
    },
  },
  {
    name: "an outcome or admission needs its message, and a message is admitted once",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      assert.match(whyConflict(await store.commit({ facts: [answered("m1")] })), /not an inbound message/);
      whyConflict(await store.commit({ facts: [inbound("m9")] }));
      await kept(store, [inbound("m1")]);
      whyConflict(await store.commit({ facts: [inbound("m1", { reason: "again" })] }));
      assert.equal((await store.read.inbound(CHAT, "m1"))?.reason, "trigger");
      assert.equal(await store.read.inbound(OTHER, "m1"), null);
    },
  },
  {
    name: "when somebody was last admitted for a reason is told by thread, sender and time",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      const said_ = (id: string, sender: string, received_at: number, reason = "mention", thread_id = "") => [
        message(id, { sender, thread_id }),
        inbound(id, { received_at, reason }),
      ];
      await kept(store, [
        ...said_("m1", "web:olivia", 1000),
        ...said_("m2", "web:ben", 2000),
        message("m3", { sender: "web:olivia" }),
        ...said_("m4", "slack:U1", 3000, "reply"),
        ...said_("m5", "web:olivia", 4000, "sticky"),
        ...said_("m6", "web:olivia", 5000, "mention", "side"),
      ]);
      const last = (more: Partial<Parameters<typeof store.read.lastAdmitted>[0]> = {}) =>
        store.read.lastAdmitted({
          chat_jid: CHAT,
          thread_id: "",
          senders: ["web:olivia"],
          since: 0,
          reasons: ["mention", "reply"],
          ...more,
        });
      assert.equal(await last(), 1000);
      assert.equal(await last({ since: 1000 }), 1000);
      assert.equal(await last({ since: 1001 }), null);
      assert.equal(await last({ senders: ["web:olivia", "slack:U1"] }), 3000);
      assert.equal(await last({ senders: ["web:olivia", "slack:U1"], since: 2500 }), 3000);
      assert.equal(await last({ reasons: ["sticky"] }), 4000);
      assert.equal(await last({ thread_id: "side" }), 5000);
      assert.equal(await last({ senders: [] }), null);
      assert.equal(await last({ reasons: [] }), null);
      assert.equal(await last({ chat_jid: OTHER }), null);
    },
  },
  {
    name: "outcomes are listed in the order of the chat, all or of one kind",
    async check(store) {
      await kept(store, [registered()]);
      for (let n = 1; n <= 6; n++) {
        const ambient = n % 2 === 0;
        const more = ambient ? ({ admission: "ambient", outcome: "ambient" } as const) : {};
        await kept(store, [message(`m${n}`), ...(n === 5 ? [] : [inbound(`m${n}`, more)])]);
      }
      const list = async (outcome: "pending" | "ambient" | "failed" | null, after_seq = 0, limit = 100) =>
        (await store.read.inbounds({ chat_jid: CHAT, outcome, after_seq, limit })).map(
          ({ message_id }) => message_id,
        );
      assert.deepEqual(await list(null), ["m1", "m2", "m3", "m4", "m6"]);
      assert.deepEqual(await list("pending"), ["m1", "m3"]);
      assert.deepEqual(await list("ambient", 2), ["m4", "m6"]);
      assert.deepEqual(await list(null, 1, 2), ["m2", "m3"]);
      assert.deepEqual(await list("failed"), []);
      await kept(store, [answered("m1")]);
      assert.deepEqual(await list("pending"), ["m3"]);
    },
  },
  {
    name: "an edit replaces the words and keeps the earlier ones",
    async check(store) {
      await kept(store, [registered(), message("m1", { content: "first" })]);
      await kept(store, [
        { type: "revision", chat_jid: CHAT, message_id: "m1", content: "second", at: LATER },
      ]);
      const row = await store.read.message(CHAT, "m1");
      assert.equal(row?.content, "second");
      assert.equal(row?.revision, 1);
      assert.equal(row?.edited_at, LATER);
      assert.equal(row?.deleted_at, null);
      assert.deepEqual(await store.read.revisions(CHAT, "m1"), [
        { revision: 0, content: "first", at: AT },
        { revision: 1, content: "second", at: LATER },
      ]);
    },
  },
  {
    name: "a deletion takes the words away and leaves them to the operator; it is final",
    async check(store) {
      await kept(store, [registered(), message("m1", { content: "first" })]);
      await kept(store, [{ type: "revision", chat_jid: CHAT, message_id: "m1", content: null, at: LATER }]);
      const row = await store.read.message(CHAT, "m1");
      assert.equal(row?.content, "");
      assert.equal(row?.deleted_at, LATER);
      assert.equal((await said(store)).length, 1);
      assert.deepEqual(await store.read.revisions(CHAT, "m1"), [
        { revision: 0, content: "first", at: AT },
        { revision: 1, content: null, at: LATER },
      ]);
      const late = await store.commit({
        facts: [{ type: "revision", chat_jid: CHAT, message_id: "m1", content: "back", at: LATER }],
      });
      assert.match(whyConflict(late), /is deleted/);
    },
  },
  {
    name: "a revision is refused when the message was revised meanwhile, or is not there",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      const edit = (content: string): Fact => ({
        type: "revision",
        chat_jid: CHAT,
        message_id: "m1",
        content,
        at: LATER,
      });
      const seen = { type: "revision", chat_jid: CHAT, message_id: "m1", revision: 0 } as const;
      await kept(store, [edit("one")], [seen]);
      whyConflict(await store.commit({ facts: [edit("two")], expect: [seen] }));
      assert.equal((await store.read.message(CHAT, "m1"))?.content, "one");
      whyConflict(
        await store.commit({
          facts: [{ type: "revision", chat_jid: CHAT, message_id: "m9", content: "x", at: AT }],
        }),
      );
      assert.deepEqual(await store.read.revisions(CHAT, "m9"), []);
    },
  },
];

function answered(message_id: string): Outcome {
  return {
    type: "outcome",
    chat_jid: CHAT,
    message_id,
    outcome: "answered",
    reason: "because",
    turn_id: "t1",
    at: LATER,
  };
}
