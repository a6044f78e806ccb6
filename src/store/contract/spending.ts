import assert from "node:assert/strict";
import {
  type CommitResult,
  type Expectation,
  type Fact,
  NOTHING_SPENT,
  type Spending,
  type Store,
} from "../store.js";
import { type Check, kept, message, registered, said, whyConflict } from "./sample.js";

const DAY = "2026-11-15";
const NEXT_DAY = "2026-11-16";

export const spending: Check[] = [
  {
    name: "what an account spends on a day adds up, class by class",
    async check(store) {
      const first = amounts({ calls: 1, input_tokens: 1000, output_tokens: 20, usd: 0.25 });
      const second = amounts({ calls: 1, unpriced: 1, input_tokens: 1, cache_read_tokens: 300, usd: 0.5 });
      await kept(store, [spent("chat:home", first), spent("chat:home", second)]);
      await kept(store, [spent("chat:home", amounts({ cache_write_tokens: 7 })), spent("server", second)]);
      assert.deepEqual(await onDays(store, { is: "chat:home" }), [
        {
          account: "chat:home",
          day: DAY,
          spending: {
            calls: 2,
            unpriced: 1,
            input_tokens: 1001,
            output_tokens: 20,
            cache_read_tokens: 300,
            cache_write_tokens: 7,
            usd: 0.75,
          },
        },
      ]);
    },
  },
  {
    name: "an estimate that was too high is taken back to the last fraction",
    async check(store) {
      await kept(store, [spent("server", amounts({ output_tokens: 4096, usd: 0.0625 }))]);
      await kept(store, [spent("server", amounts({ output_tokens: -4000, usd: -0.0575 }))]);
      const [row] = await onDays(store, { is: "server" });
      assert.equal(row?.spending.output_tokens, 96);
      assert.equal(row?.spending.usd, 0.0625 - 0.0575);
    },
  },
  {
    name: "spending is listed by account and day, for one account or all whose name begins alike",
    async check(store) {
      const accounts = ["sender:b", "person:b", "person:a", "person", "person:", "Person:c", "person:é🌿"];
      for (const account of accounts) await kept(store, [spent(account), spent(account, {}, NEXT_DAY)]);
      const names = async (under: string, from: string, to: string) =>
        (await onDays(store, { under }, from, to)).map(({ account, day }) => `${account} ${day.slice(-2)}`);
      assert.deepEqual(await names("person:", DAY, DAY), [
        "person: 15",
        "person:a 15",
        "person:b 15",
        "person:é🌿 15",
      ]);
      assert.deepEqual(await names("person:b", "2026-11-01", "2026-11-30"), ["person:b 15", "person:b 16"]);
      assert.deepEqual(await names("person:b", NEXT_DAY, "2026-12-31"), ["person:b 16"]);
      assert.deepEqual(await names("person:b", "2026-11-17", "2026-12-31"), []);
      assert.equal((await names("", DAY, NEXT_DAY)).length, 2 * accounts.length);
      assert.deepEqual(await onDays(store, { is: "person" }, DAY, DAY), [
        { account: "person", day: DAY, spending: amounts() },
      ]);
      assert.deepEqual(await onDays(store, { is: "nobody" }), []);
    },
  },
  {
    name: "an account spends up to its limit in money, and not beyond it",
    async check(store) {
      await kept(store, [registered(), spent("chat:home", amounts({ usd: 1.5 }))]);
      const within = budget({ usd: 2, plus: { usd: 0.5, tokens: 9 } });
      await kept(store, [message("m1")], [within]);
      const over = budget({ usd: 2, plus: { usd: 0.75, tokens: 0 } });
      const refused = await store.commit({ expect: [over], facts: [message("m2")] });
      assert.match(whyConflict(refused), /chat:home.*\b2 USD/);
      assert.deepEqual(refused.status === "conflict" && refused.expectation, over);
      assert.equal((await said(store)).length, 1);
    },
  },
  {
    name: "an account spends up to its limit in tokens of all classes, and not beyond it",
    async check(store) {
      const used = { input_tokens: 100, output_tokens: 20, cache_read_tokens: 3, cache_write_tokens: 7 };
      await kept(store, [spent("chat:home", amounts({ ...used, usd: 99 }))]);
      await kept(store, [], [budget({ tokens: 150, plus: { usd: 5, tokens: 20 } })]);
      const refused = await store.commit({
        expect: [budget({ tokens: 150, plus: { usd: 0, tokens: 21 } })],
        facts: [],
      });
      assert.match(whyConflict(refused), /chat:home.*\b150 tokens/);
    },
  },
  {
    name: "a limit counts for its account and its day, also before anything was spent",
    async check(store) {
      await kept(store, [spent("chat:home", amounts({ usd: 5 })), spent("server", amounts({ usd: 5 }))]);
      const plus = { usd: 1, tokens: 10 };
      await kept(store, [], [budget({ usd: 1, day: NEXT_DAY, plus })]);
      await kept(store, [], [budget({ usd: 1, account: "chat:other", plus })]);
      await kept(store, [], [budget({ plus: { usd: 1e9, tokens: 1e9 } })]);
      const none = budget({ usd: 0.5, account: "chat:other", plus });
      assert.match(whyConflict(await store.commit({ expect: [none], facts: [] })), /chat:other/);
      const both = [budget({ usd: 100, plus }), budget({ account: "server", usd: 5, plus })];
      assert.match(whyConflict(await store.commit({ expect: both, facts: [] })), /server/);
    },
  },
  {
    name: "many who spend at the same instant never go over the limit together",
    async check(store) {
      const one = (): Promise<CommitResult> =>
        store.commit({
          expect: [budget({ usd: 1, plus: { usd: 0.125, tokens: 0 } })],
          facts: [spent("chat:home", amounts({ calls: 1, usd: 0.125 }))],
        });
      const results = await Promise.all(Array.from({ length: 20 }, one));
      assert.equal(results.filter(({ status }) => status === "committed").length, 8);
      assert.equal(results.filter(({ status }) => status === "conflict").length, 12);
      const [row] = await onDays(store, { is: "chat:home" });
      assert.deepEqual(row?.spending, amounts({ calls: 8, usd: 1 }));
    },
  },
  {
    name: "what a refused batch would have spent is not spent",
    async check(store) {
      const facts = [spent("server", amounts({ usd: 1 })), message("m1", { chat_jid: "nowhere" })];
      whyConflict(await store.commit({ facts }));
      assert.deepEqual(await onDays(store, { under: "" }), []);
    },
  },
];

function amounts(more: Partial<Spending> = {}): Spending {
  return { ...NOTHING_SPENT, ...more };
}

function spent(account: string, more: Partial<Spending> = {}, day: string = DAY): Fact {
  return { type: "spent", account, day, spending: amounts(more) };
}

function budget(more: Partial<Extract<Expectation, { type: "budget" }>>): Expectation {
  return {
    type: "budget",
    account: "chat:home",
    day: DAY,
    plus: { usd: 0, tokens: 0 },
    usd: null,
    tokens: null,
    ...more,
  };
}

function onDays(store: Store, accounts: { is: string } | { under: string }, from = DAY, to = NEXT_DAY) {
  return store.read.spent({ accounts, from, to });
}
