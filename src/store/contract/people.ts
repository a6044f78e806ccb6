import assert from "node:assert/strict";
import type { Person } from "../../message/index.js";
import type { Fact } from "../store.js";
import { AT, type Check, ids, kept, LATER, whyConflict } from "./sample.js";

export const people: Check[] = [
  {
    name: "a person is found by each of their sender ids, which stay as they were given",
    async check(store) {
      const olivia = person("olivia", { senders: ["whatsapp:49", "slack:U1", "E-Mail: Olivia 🌿"] });
      await kept(store, [{ type: "person", person: olivia }]);
      for (const sender of olivia.senders) assert.deepEqual(await store.read.personOf(sender), olivia);
      assert.equal(await store.read.personOf("slack:u1"), null);
      assert.equal(await store.read.personOf("olivia"), null);
      assert.deepEqual(await store.read.people(), [olivia]);
    },
  },
  {
    name: "people are listed in the order in which they came",
    async check(store) {
      assert.deepEqual(await store.read.people(), []);
      await kept(store, [
        known("zoe", { created_at: AT }),
        known("adam", { created_at: LATER }),
        known("ben", { created_at: AT, senders: ["web:ben"] }),
      ]);
      assert.deepEqual(ids(await store.read.people()), ["ben", "zoe", "adam"]);
    },
  },
  {
    name: "a person who is changed has the new name and only the new sender ids, and came when they came",
    async check(store) {
      await kept(store, [known("olivia", { senders: ["a:1", "a:2", "a:3"] })]);
      const changed = { name: "Livi", senders: ["a:4", "a:3", "a:1"], created_at: LATER };
      await kept(store, [known("olivia", changed)]);
      const now = person("olivia", { ...changed, created_at: AT });
      assert.deepEqual(await store.read.personOf("a:4"), now);
      assert.deepEqual(await store.read.people(), [now]);
      assert.equal(await store.read.personOf("a:2"), null);
      await kept(store, [known("olivia", { name: "Livi" })]);
      assert.deepEqual(await store.read.people(), [person("olivia", { name: "Livi" })]);
    },
  },
  {
    name: "a sender id belongs to one person at most, and a refusal says to whom",
    async check(store) {
      await kept(store, [known("olivia", { senders: ["a:1"] }), known("ben", { senders: ["b:1"] })]);
      const stolen = known("ben", { name: "Benjamin", senders: ["b:2", "a:1"] });
      assert.match(whyConflict(await store.commit({ facts: [stolen] })), /a:1.*olivia/);
      assert.deepEqual(await store.read.personOf("b:1"), person("ben", { senders: ["b:1"] }));
      assert.equal(await store.read.personOf("b:2"), null);
      const within = await store.commit({
        facts: [known("zoe", { senders: ["z:1"] }), known("adam", { senders: ["z:1"] })],
      });
      assert.match(whyConflict(within), /z:1.*zoe/);
      assert.deepEqual(ids(await store.read.people()), ["ben", "olivia"]);
      await kept(store, [known("olivia"), known("ben", { senders: ["b:1", "a:1"] })]);
      assert.equal((await store.read.personOf("a:1"))?.id, "ben");
    },
  },
  {
    name: "a sender id given twice is one",
    async check(store) {
      await kept(store, [known("olivia", { senders: ["a:1", "a:2", "a:1"] })]);
      assert.deepEqual(await store.read.people(), [person("olivia", { senders: ["a:1", "a:2"] })]);
    },
  },
  {
    name: "a removed person is gone, and their sender ids are free again",
    async check(store) {
      await kept(store, [known("olivia", { senders: ["a:1"] }), known("ben")]);
      await kept(store, [{ type: "person_removed", id: "olivia" }]);
      assert.equal(await store.read.personOf("a:1"), null);
      assert.deepEqual(ids(await store.read.people()), ["ben"]);
      await kept(store, [{ type: "person_removed", id: "olivia" }, known("ben", { senders: ["a:1"] })]);
      assert.equal((await store.read.personOf("a:1"))?.id, "ben");
    },
  },
  {
    name: "the id of a removed person is not given again, and what was theirs is gone",
    async check(store) {
      const token = { id: "t1", name: "link", sha256: "aa", scopes: ["read"], created_at: AT };
      await kept(store, [
        known("olivia", { senders: ["a:1"] }),
        { type: "token", token: { ...token, person_id: "olivia" } },
        { type: "token", token: { ...token, id: "t2", sha256: "bb", person_id: "ben" } },
        { type: "login_code", code: { sha256: "cc", person_id: "olivia", expires_at: 2000 }, now: 1000 },
        { type: "login_code", code: { sha256: "dd", person_id: null, expires_at: 2000 }, now: 1000 },
      ]);
      await kept(store, [{ type: "person_removed", id: "olivia" }]);
      assert.deepEqual(ids(await store.read.tokens()), ["t2"]);
      assert.equal(await store.read.loginCode("cc"), null);
      assert.notEqual(await store.read.loginCode("dd"), null);
      assert.match(whyConflict(await store.commit({ facts: [known("olivia")] })), /olivia.*removed/);
      const expected = { type: "person", id: "olivia", was: null } as const;
      const refused = await store.commit({ expect: [expected], facts: [known("zoe")] });
      assert.match(whyConflict(refused), /olivia.*removed/);
      if (refused.status === "conflict") assert.deepEqual(refused.expectation, expected);
      assert.deepEqual(await store.read.people(), []);
      await kept(store, [{ type: "person_removed", id: "nobody" }, known("nobody")]);
    },
  },
  {
    name: "of two who add a person of one id, or change the same one, the second is told",
    async check(store) {
      const absent = { type: "person", id: "olivia", was: null } as const;
      const results = await Promise.all(
        ["a:1", "a:2"].map((sender) =>
          store.commit({ expect: [absent], facts: [known("olivia", { senders: [sender] })] }),
        ),
      );
      assert.deepEqual(results.map(({ status }) => status).sort(), ["committed", "conflict"]);
      const was = (await store.read.people())[0] ?? null;
      const unchanged = { type: "person", id: "olivia", was } as const;
      await kept(store, [known("olivia", { name: "Livi", senders: ["a:1", "a:2"] })], [unchanged]);
      const late = await store.commit({ expect: [unchanged], facts: [known("olivia", { name: "O" })] });
      assert.match(whyConflict(late), /olivia was changed/);
      const gone = { type: "person", id: "ben", was: person("ben") } as const;
      assert.match(whyConflict(await store.commit({ expect: [gone], facts: [] })), /no person ben/);
    },
  },
  {
    name: "a login code is used once, by one of many who try at once",
    async check(store) {
      const code = { sha256: "cc", person_id: "olivia", expires_at: 2000 };
      await kept(store, [{ type: "login_code", code, now: 1000 }]);
      assert.deepEqual(await store.read.loginCode("cc"), code);
      assert.equal(await store.read.token("cc"), null);
      assert.deepEqual(await store.read.tokens(), []);
      const token = { name: "page", scopes: ["read"], created_at: AT, person_id: "olivia" };
      const used = await Promise.all(
        ["t1", "t2", "t3"].map((id) =>
          store.commit({
            facts: [
              { type: "login_code_used", sha256: "cc" },
              { type: "token", token: { ...token, id, sha256: id } },
            ],
          }),
        ),
      );
      assert.equal(used.filter(({ status }) => status === "committed").length, 1);
      assert.equal((await store.read.tokens()).length, 1);
      assert.equal(await store.read.loginCode("cc"), null);
    },
  },
  {
    name: "login codes whose time is over are forgotten when the next one comes",
    async check(store) {
      const code = (sha256: string, expires_at: number, now: number): Fact => ({
        type: "login_code",
        code: { sha256, person_id: null, expires_at },
        now,
      });
      await kept(store, [code("aa", 2000, 1000), code("bb", 3000, 1000)]);
      await kept(store, [code("cc", 4000, 2000)]);
      assert.equal(await store.read.loginCode("aa"), null);
      assert.equal((await store.read.loginCode("bb"))?.expires_at, 3000);
      assert.match(whyConflict(await store.commit({ facts: [code("bb", 9000, 2000)] })), /already/);
    },
  },
  {
    name: "a token knows whom its bearer speaks as",
    async check(store) {
      const token = { id: "t1", name: "link", sha256: "aa", scopes: ["read"], created_at: AT };
      const personal = { ...token, person_id: "olivia" };
      await kept(store, [{ type: "token", token: personal }]);
      assert.deepEqual(await store.read.token("aa"), personal);
      assert.deepEqual(await store.read.tokens(), [personal]);
    },
  },
];

function person(id: string, more: Partial<Person> = {}): Person {
  return { id, name: id, senders: [], created_at: AT, ...more };
}

function known(id: string, more: Partial<Person> = {}): Fact {
  return { type: "person", person: person(id, more) };
}
