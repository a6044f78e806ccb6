import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../agent/index.js";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { type HeldModel, startHeldModel } from "../testing/heldModel.js";
import { ASH, Talk } from "../testing/talk.js";
import { dayOf } from "./budget.js";
import { createGateway, type Gateway, type GatewayOptions } from "./gateway.js";

/** One dollar for a token of an answer; what is asked is free. */
const DOLLAR: NonNullable<Model["price"]> = { input: 0, output: 1_000_000, cacheRead: 0, cacheWrite: 0 };
/** What is put aside for an answer before it comes, in tokens: at this price, in dollars. */
const ASIDE = 4096;

let held: HeldModel;
const gateways: Gateway[] = [];
beforeEach(async () => {
  held = await startHeldModel();
});
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
  await held.close();
});

async function open(budget: Record<string, number> = {}, options: Partial<GatewayOptions> = {}) {
  const store = openMemory();
  const gateway = createGateway({
    store,
    resolveModel: (name) => {
      const price = name === "unpriced" ? null : DOLLAR;
      return { ok: true, model: model({ api: "openai-chat", id: name, baseUrl: held.baseUrl, price }) };
    },
    defaultModel: "main",
    limits: { leaseMs: 2000, attempts: 1 },
    ...options,
  });
  gateways.push(gateway);
  await gateway.start();
  await gateway.registerChat({ jid: "a", trigger: "always", budget });
  await gateway.registerChat({ jid: "b", trigger: "always", budget });
  return { gateway, store, a: new Talk(gateway, "a"), b: new Talk(gateway, "b") };
}

/** Ask, and have it answered for so many tokens of an answer. */
async function spend(talk: Talk, output: number, speaker = {}): Promise<string> {
  const id = await talk.say("how much?", speaker);
  (await held.next()).say("That much.", { input: 0, output });
  return talk.outcome(id);
}

describe("a chat's budget", () => {
  it("of money: a word at 80 %, once; no answer at 100 %; both for people, not for the model", async () => {
    const { a, b } = await open({ usd_per_day: 25_000 });
    expect(await spend(a, 19_999)).toBe("answered");
    expect(await a.news()).toEqual([]);
    expect(await spend(a, 1)).toBe("answered");
    expect(await a.news()).toEqual(["80 % of this chat's budget of $25000 a day is used."]);
    expect(await spend(a, 5000)).toBe("answered");
    const refused = await a.ended(await a.say("and now?"));
    expect(refused).toMatchObject({
      outcome: "over_budget",
      reason: "this chat's budget of $25000 a day is spent",
    });
    expect(await a.news()).toEqual([
      "80 % of this chat's budget of $25000 a day is used.",
      "Not answered: this chat's budget of $25000 a day is spent.",
    ]);
    expect(held.calls).toHaveLength(3);
    expect(JSON.stringify(held.calls.map(({ messages }) => messages))).not.toContain("budget");
    expect(await spend(b, 1)).toBe("answered");
  });

  it("of tokens: counts what is asked and what is answered", async () => {
    const { a } = await open({ tokens_per_day: 50_000 });
    for (const tokens of [10_000, 15_000]) {
      expect(await a.news()).toEqual([]);
      const id = await a.say("how much?");
      (await held.next()).say("That much.", { input: tokens, output: tokens });
      expect(await a.outcome(id)).toBe("answered");
    }
    expect(await a.news()).toEqual(["80 % of this chat's budget of 50000 tokens a day is used."]);
    const refused = await a.ended(await a.say("and now?"));
    expect(refused).toMatchObject({ outcome: "over_budget" });
    expect(refused.reason).toBe("this chat's budget of 50000 tokens a day is spent");
  });

  it("has no room for an answer that may cost more than what is left: said in words, before it costs", async () => {
    const { a } = await open({ usd_per_day: ASIDE + 500 });
    expect(await spend(a, 501)).toBe("answered");
    const id = await a.say("one more?");
    expect(await a.ended(id)).toMatchObject({
      outcome: "over_budget",
      reason:
        "this chat's budget of $4596 a day has no room for another answer, for which up to 4096 tokens are put aside",
    });
    expect(await a.news()).toEqual([
      "The assistant does not answer: this chat's budget of $4596 a day has no room for another answer, for which up to 4096 tokens are put aside.",
    ]);
    expect(held.calls).toHaveLength(1);
  });

  it("that was raised gives a new word at 80 % of it", async () => {
    const { a, gateway } = await open({ usd_per_day: 5000 });
    await spend(a, 4250);
    await gateway.changeChat("a", { budget: { usd_per_day: 25_000 } });
    await spend(a, 1000);
    expect(await a.news()).toHaveLength(1);
    await spend(a, 14_750);
    expect((await a.news()).at(-1)).toBe("80 % of this chat's budget of $25000 a day is used.");
    await spend(a, 1);
    expect(await a.news()).toHaveLength(2);
  });

  it("gives back what was put aside for a call that failed", async () => {
    const { a } = await open({ usd_per_day: ASIDE + 500 });
    for (let count = 0; count < 3; count++) {
      const id = await a.say("hello?");
      (await held.next()).fail(400);
      expect(await a.outcome(id)).toBe("failed");
    }
    expect(await spend(a, 1)).toBe("answered");
  });

  it("keeps what was put aside for a call that was stopped, or whose server does not tell what it used", async () => {
    const { a } = await open({ usd_per_day: 2.5 * ASIDE });
    const stopped = await a.say("go on and on");
    (await held.next()).begin("On");
    await a.say("stop");
    expect(await a.outcome(stopped)).toBe("stopped");
    expect(await spend(a, 0)).toBe("answered");
    expect((await a.ended(await a.say("and now?"))).outcome).toBe("over_budget");
    expect(held.calls).toHaveLength(2);
  });

  it("begins anew with the chat's own day", () => {
    const evening = Date.parse("2026-03-01T23:30:00Z");
    expect(dayOf(null, evening)).toBe("2026-03-01");
    expect(dayOf({ time_zone: "Europe/Copenhagen" }, evening)).toBe("2026-03-02");
    expect(dayOf({ time_zone: "America/New_York" }, evening)).toBe("2026-03-01");
  });
});

describe("a person's budget", () => {
  it("is one across chats and sender ids; others are not touched by it", async () => {
    const { a, b, gateway } = await open({ usd_per_person_per_day: 10_000 });
    await gateway.addPerson({ name: "Olivia", senders: ["slack:U1", "whatsapp:49"] });
    expect(await spend(a, 5000)).toBe("answered");
    expect(await spend(b, 5000, { sender_id: "whatsapp:49", source: "http" })).toBe("answered");
    expect(await b.news()).toEqual(["80 % of your budget of $10000 a day is used."]);
    const refused = await a.ended(await a.say("and now?"));
    expect(refused).toMatchObject({ outcome: "over_budget", reason: "your budget of $10000 a day is spent" });
    expect(await spend(a, 1, ASH)).toBe("answered");
  });
});

describe("the server's budget", () => {
  it("cannot be overrun by turns of two chats that run at once", async () => {
    const { a, b } = await open({}, { budget: { usd: ASIDE + 500 } });
    const first = await a.say("one?");
    const call = await held.next();
    const second = await b.ended(await b.say("two?"));
    expect(second).toMatchObject({
      outcome: "over_budget",
      reason:
        "the server's budget of $4596 a day has no room for another answer, for which up to 4096 tokens are put aside",
    });
    call.say("One.", { input: 0, output: 1 });
    expect(await a.outcome(first)).toBe("answered");
    expect(await spend(b, 1)).toBe("answered");
  });

  it("is never overrun by many at once, and warns exactly once", async () => {
    const { gateway, store } = await open({}, { budget: { usd: 20 * ASIDE } });
    held.answerAll((call) => call.say("Yes.", { input: 0, output: ASIDE }));
    const talks = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        await gateway.registerChat({ jid: `chat${index}`, trigger: "always" });
        return new Talk(gateway, `chat${index}`);
      }),
    );
    const outcomes = await Promise.all(talks.map(async (talk) => talk.outcome(await talk.say("hello?"))));
    expect(outcomes.filter((outcome) => outcome === "answered")).toHaveLength(20);
    expect(outcomes.filter((outcome) => outcome === "over_budget")).toHaveLength(10);
    const [spent] = await store.read.spent({ accounts: { is: "server" }, from: "0", to: "9" });
    expect(spent?.spending.usd).toBe(20 * ASIDE);
    const news = (await Promise.all(talks.map((talk) => talk.news()))).flat();
    expect(news.filter((text) => text.startsWith("80 %"))).toHaveLength(1);
  });

  it("is overrun only by what the answers of calls that run at once have beyond the ceiling", async () => {
    const { gateway, store } = await open({}, { budget: { usd: 5 * ASIDE } });
    held.answerAll((call) => call.say("Yes.", { input: 0, output: ASIDE + 10 }));
    const talks = await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        await gateway.registerChat({ jid: `chat${index}`, trigger: "always" });
        return new Talk(gateway, `chat${index}`);
      }),
    );
    await Promise.all(talks.map(async (talk) => talk.outcome(await talk.say("hello?"))));
    const [spent] = await store.read.spent({ accounts: { is: "server" }, from: "0", to: "9" });
    expect(held.calls.length).toBeLessThanOrEqual(5);
    expect(spent?.spending.usd).toBeLessThanOrEqual(5 * (ASIDE + 10));
  });
});

it("a model without a known price is refused under a budget of money, and used without one", async () => {
  const { a, b, gateway } = await open({}, { defaultModel: "unpriced" });
  await gateway.changeChat("a", { budget: { usd_per_day: 5 } });
  const refused = await a.ended(await a.say("hello?"));
  expect(refused.outcome).toBe("over_budget");
  expect(await a.news()).toEqual([
    "The assistant does not answer: there is a budget of money, and the price of openai/unpriced is not known.",
  ]);
  expect(held.calls).toEqual([]);
  expect(await spend(b, 1)).toBe("answered");
  await gateway.changeChat("a", { budget: { usd_per_day: null, tokens_per_day: 50_000 } });
  expect(await spend(a, 1)).toBe("answered");
});

it("what lacked money is read by the model later", async () => {
  const { a, gateway } = await open({ usd_per_day: 5000 });
  expect(await spend(a, 5000)).toBe("answered");
  expect(await a.outcome(await a.say("the train leaves at nine"))).toBe("over_budget");
  await gateway.changeChat("a", { budget: { usd_per_day: 10_000 } });
  const id = await a.say("when?");
  const call = await held.next();
  expect(call.heard).toEqual([
    "[Olivia]: how much?",
    "[Olivia]: the train leaves at nine",
    "[Olivia]: when?",
  ]);
  call.say("At nine.");
  expect(await a.outcome(id)).toBe("answered");
});

it("a limit that is given leaves the others as they are; a misspelled one is refused; null takes all away", async () => {
  const { gateway } = await open({ usd_per_day: 5 });
  await gateway.changeChat("a", { budget: { tokens_per_day: 100 } });
  const budget = async () => (await gateway.read.chat("a"))?.budget;
  expect(await budget()).toEqual({ usd_per_day: 5, tokens_per_day: 100, usd_per_person_per_day: null });
  const wrong = await gateway.changeChat("a", { budget: { tokens: 5 } });
  expect(wrong).toMatchObject({ status: "invalid", errors: [{ path: "budget.tokens" }] });
  const binding = { channel: "webhook", address: "webhook:k", mod: "listen" };
  expect(await gateway.changeChat("a", { bindings: [binding] })).toMatchObject({
    status: "invalid",
    errors: [{ path: "bindings[0].mod" }],
  });
  await gateway.changeChat("a", { budget: null });
  expect(await budget()).toEqual({ usd_per_day: null, tokens_per_day: null, usd_per_person_per_day: null });
});
