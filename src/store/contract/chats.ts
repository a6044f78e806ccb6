import assert from "node:assert/strict";
import type { Binding } from "../../message/index.js";
import type { Fact } from "../store.js";
import {
  AT,
  CHAT,
  type Check,
  chat,
  kept,
  LATER,
  message,
  OTHER,
  registered,
  said,
  whyConflict,
} from "./sample.js";

export const chats: Check[] = [
  {
    name: "a chat comes back as it was registered, and as it was changed",
    async check(store) {
      assert.equal(await store.read.chat(CHAT), null);
      const given = chat(CHAT, {
        trigger: { pattern: "^hey" },
        aliases: ["a", "b"],
        bindings: [binding("web:1"), binding("slack:2", { mode: "listen" })],
      });
      await kept(store, [{ type: "chat", chat: given, at: AT }], [{ type: "chat_absent", jid: CHAT }]);
      assert.deepEqual(await store.read.chat(CHAT), given);
      const changed = { ...given, name: "changed", bindings: [binding("slack:2"), binding("irc:3")] };
      await kept(store, [{ type: "chat", chat: changed, at: AT }], [{ type: "chat_present", jid: CHAT }]);
      assert.deepEqual(await store.read.chat(CHAT), changed);
      assert.equal(await store.read.chatOfAddress("web:1"), null);
      assert.deepEqual(await store.read.chatOfAddress("irc:3"), changed);
    },
  },
  {
    name: "chats are listed in the order in which they were registered",
    async check(store) {
      await kept(store, [registered("b", { bindings: [binding("web:b")] })]);
      await kept(store, [registered("a")]);
      await kept(store, [registered("b", { name: "again", bindings: [binding("web:b")] })]);
      const list = await store.read.chats();
      assert.deepEqual(
        list.map(({ jid, name, bindings }) => [jid, name, bindings.length]),
        [
          ["b", "again", 1],
          ["a", "a", 0],
        ],
      );
    },
  },
  {
    name: "expecting a chat to be there or not is checked at the commit",
    async check(store) {
      const absent = { type: "chat_absent", jid: CHAT } as const;
      const present = { type: "chat_present", jid: CHAT } as const;
      const early = await store.commit({ facts: [], expect: [present] });
      assert.deepEqual(early.status === "conflict" && early.expectation, present);
      await kept(store, [registered()], [absent]);
      assert.match(
        whyConflict(await store.commit({ facts: [registered()], expect: [absent] })),
        /already registered/,
      );
    },
  },
  {
    name: "a chat that somebody else changed since it was read is not overwritten",
    async check(store) {
      const bindings = [binding("web:1"), binding("slack:2")];
      await kept(store, [registered(CHAT, { name: "Küche \u0000", bindings })]);
      const was = await store.read.chat(CHAT);
      assert.ok(was);
      const unchanged = { type: "chat_unchanged", chat: was } as const;
      const results = await Promise.all(
        ["one", "two"].map((model) =>
          store.commit({ expect: [unchanged], facts: [{ type: "chat", chat: { ...was, model }, at: AT }] }),
        ),
      );
      assert.deepEqual(results.map(({ status }) => status).sort(), ["committed", "conflict"]);
      const late = await store.commit({ expect: [unchanged], facts: [] });
      assert.match(whyConflict(late), /changed/);
      if (late.status === "conflict") assert.deepEqual(late.expectation, unchanged);
      const now = await store.read.chat(CHAT);
      assert.ok(now);
      await kept(store, [message("m1")], [{ type: "chat_unchanged", chat: now }]);
      await kept(store, [{ type: "chat", chat: { ...now, bindings: bindings.toReversed() }, at: AT }]);
      whyConflict(await store.commit({ expect: [{ type: "chat_unchanged", chat: now }], facts: [] }));
      await kept(store, [{ type: "chat_removed", jid: CHAT, at: AT }]);
      const gone = await store.commit({ expect: [{ type: "chat_unchanged", chat: now }], facts: [] });
      assert.match(whyConflict(gone), /not registered/);
    },
  },
  {
    name: "an address belongs to one chat at most",
    async check(store) {
      await kept(store, [registered(CHAT, { bindings: [binding("web:1")] })]);
      const taken = await store.commit({
        facts: [registered(OTHER, { bindings: [binding("irc:2"), binding("web:1")] })],
      });
      assert.match(whyConflict(taken), /web:1 is bound to chat home/);
      assert.equal(await store.read.chat(OTHER), null);
      assert.equal(await store.read.chatOfAddress("irc:2"), null);
      whyConflict(
        await store.commit({
          facts: [registered(OTHER, { bindings: [binding("irc:2"), binding("irc:2")] })],
        }),
      );
      await kept(store, [registered(CHAT), registered(OTHER, { bindings: [binding("web:1")] })]);
      assert.equal((await store.read.chatOfAddress("web:1"))?.jid, OTHER);
    },
  },
  {
    name: "a removed chat is not registered; when it comes back, so do its messages, numbers and key",
    async check(store) {
      await kept(store, [registered(CHAT, { bindings: [binding("web:1")] }), message("m1")]);
      const key = await store.read.blockKey(CHAT);
      await kept(store, [{ type: "chat_removed", jid: CHAT, at: LATER }]);
      assert.equal(await store.read.chat(CHAT), null);
      assert.deepEqual(await store.read.chats(), []);
      assert.equal(await store.read.chatOfAddress("web:1"), null);
      assert.match(whyConflict(await store.commit({ facts: [message("m2")] })), /not registered/);
      assert.match(
        whyConflict(await store.commit({ facts: [{ type: "chat_removed", jid: CHAT, at: LATER }] })),
        /not registered/,
      );
      await kept(store, [registered()], [{ type: "chat_absent", jid: CHAT }]);
      assert.deepEqual(await kept(store, [message("m2")]), { m2: 2 });
      assert.equal((await store.commit({ facts: [message("m1")] })).status, "duplicate");
      assert.equal((await said(store)).length, 2);
      assert.deepEqual(await store.read.blockKey(CHAT), key);
    },
  },
  {
    name: "what is said before a chat is removed is kept, and what is said after it is not, also at the same instant",
    async check(store) {
      await kept(store, [registered(), message("m1")]);
      const results = await Promise.all([
        store.commit({ facts: [message("m2")] }),
        store.commit({ facts: [{ type: "chat_removed", jid: CHAT, at: LATER }] }),
        store.commit({ facts: [message("m3")] }),
        store.commit({ facts: [registered()] }),
        store.commit({ facts: [message("m4"), { type: "chat_removed", jid: "nowhere", at: LATER }] }),
        store.commit({ facts: [message("m5")] }),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ["committed", "committed", "conflict", "committed", "conflict", "committed"],
      );
      assert.deepEqual(
        (await said(store)).map(({ id, seq }) => [id, seq]),
        [
          ["m1", 1],
          ["m2", 2],
          ["m5", 3],
        ],
      );
    },
  },
  {
    name: "each chat has a secret key of its own, and keeps it",
    async check(store) {
      await kept(store, [registered(), registered(OTHER)]);
      const key = await store.read.blockKey(CHAT);
      assert.equal(key?.length, 32);
      assert.notDeepEqual(key, await store.read.blockKey(OTHER));
      await kept(store, [registered(CHAT, { name: "changed" })]);
      assert.deepEqual(await store.read.blockKey(CHAT), key);
      assert.equal(await store.read.blockKey("nowhere"), null);
    },
  },
  {
    name: "whoever knocks at an address without a chat is counted until it has one",
    async check(store) {
      const knock = (address: string, at: string, name = "n"): Fact => ({
        type: "knock",
        address,
        channel: "slack",
        name,
        at,
      });
      await kept(store, [knock("slack:2", AT), knock("slack:1", LATER)]);
      await kept(store, [knock("slack:2", LATER, "newer name")]);
      assert.deepEqual(await store.read.addresses(), [
        { address: "slack:1", channel: "slack", name: "n", first_seen: LATER, last_seen: LATER, count: 1 },
        {
          address: "slack:2",
          channel: "slack",
          name: "newer name",
          first_seen: AT,
          last_seen: LATER,
          count: 2,
        },
      ]);
      await kept(store, [registered(CHAT, { bindings: [binding("slack:2")] })]);
      assert.deepEqual(
        (await store.read.addresses()).map(({ address }) => address),
        ["slack:1"],
      );
    },
  },
  {
    name: "a name in a chat belongs to the first who bore it",
    async check(store) {
      const label = (folded: string, sender: string, chat_jid = CHAT): Fact => ({
        type: "label",
        chat_jid,
        folded,
        label: folded.toUpperCase(),
        sender,
      });
      await kept(store, [registered(), registered(OTHER), label("olivia", "a:1"), label("ben", "a:1")]);
      assert.match(whyConflict(await store.commit({ facts: [label("olivia", "a:2")] })), /taken/);
      await kept(store, [label("olivia", "a:1"), label("olivia 2", "a:2"), label("olivia", "a:2", OTHER)]);
      assert.deepEqual(await store.read.labels(CHAT), [
        { folded: "ben", label: "BEN", sender: "a:1" },
        { folded: "olivia", label: "OLIVIA", sender: "a:1" },
        { folded: "olivia 2", label: "OLIVIA 2", sender: "a:2" },
      ]);
    },
  },
  {
    name: "tokens are found by the hash of their secret until they are removed",
    async check(store) {
      const token = {
        id: "t1",
        name: "web",
        sha256: "aa",
        scopes: ["read", "ingest:slack"],
        created_at: AT,
        person_id: null,
      };
      await kept(store, [{ type: "token", token }]);
      assert.deepEqual(await store.read.token("aa"), token);
      assert.equal(await store.read.token("bb"), null);
      whyConflict(await store.commit({ facts: [{ type: "token", token: { ...token, id: "t2" } }] }));
      await kept(store, [{ type: "token", token: { ...token, id: "t0", sha256: "cc" } }]);
      assert.deepEqual(
        (await store.read.tokens()).map(({ id }) => id),
        ["t0", "t1"],
      );
      await kept(store, [
        { type: "token_removed", id: "t1" },
        { type: "token_removed", id: "t1" },
      ]);
      assert.equal(await store.read.token("aa"), null);
    },
  },
];

function binding(address: string, more: Partial<Binding> = {}): Binding {
  return {
    channel: address.split(":")[0] ?? "",
    address,
    mode: "both",
    trace: "short",
    threads: "shared",
    ...more,
  };
}
