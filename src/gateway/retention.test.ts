import { expect, test } from "vitest";
import { openMemory } from "../store/memory.js";
import { ask, openHome, useHeldModel } from "../testing/heldHome.js";
import { systemClock } from "./clock.js";
import type { Gateway, GatewayOptions } from "./gateway.js";

useHeldModel();

const DAY = 86_400_000;

/** A clock whose day a test can change, and a chat in which this was asked. */
async function open(receipts: GatewayOptions["receipts"], store = openMemory()) {
  let days = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + days * DAY };
  const options = receipts ? { store, clock, receipts } : { store, clock };
  const opened = await openHome({ system_prompt: "Be brief." }, options);
  const later = (more: number) => {
    days += more;
  };
  return { ...opened, later };
}

async function callsOf(gateway: Gateway) {
  return gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
}

test("a request older than the operator wants is gone, with when and why; what it used stays, and newer ones are whole", async () => {
  const { gateway, home, later } = await open({ days: 30 });
  await ask(home, "first");
  later(20);
  await ask(home, "second");
  later(20);
  const [old, young] = await callsOf(gateway);
  const body = await gateway.request(young?.id ?? "");
  await gateway.sweep();
  expect(await gateway.request(old?.id ?? "")).toBe("expired");
  const receipt = await gateway.call(old?.id ?? "");
  expect(receipt).toMatchObject({ usage: old?.usage, status: "ok", blocks: [], request_sha256: "" });
  expect(receipt?.expired?.reason).toBe("requests are kept for 30 days");
  expect(Date.parse(receipt?.expired?.at ?? "")).toBeGreaterThan(Date.now() + 39 * DAY);
  // The young one began with the old one's blocks.
  expect(await gateway.request(young?.id ?? "")).toEqual(body);
  const gone = { ok: false, kind: "gone", why: expect.stringContaining("requests are kept for 30 days") };
  expect(await gateway.diff(old?.id ?? "", young?.id ?? "")).toEqual(gone);
  expect(await gateway.replay(old?.id ?? "")).toEqual(gone);
  // Nothing is left to compare the next request with: it is no break, and the chat goes on.
  later(40);
  await gateway.sweep();
  await ask(home, "third");
  const last = (await callsOf(gateway)).at(-1);
  expect(await gateway.call(last?.id ?? "")).toMatchObject({ breaks: [], status: "ok" });
  expect(Buffer.from((await gateway.request(last?.id ?? "")) ?? "").toString()).toContain("first");
});

test("by size, the oldest requests go until the rest fits, and none of the last hour", async () => {
  const { gateway, home, store, later } = await open({ bytes: 12_000 });
  for (let turn = 0; turn < 12; turn++) await ask(home, `${turn} ${"lorem ipsum ".repeat(100)}`);
  const before = await store.read.receiptTotals(null);
  expect(before.bytes).toBeGreaterThan(14_000);
  await gateway.sweep();
  expect(await store.read.receiptTotals(null)).toEqual(before);
  // A conversation that starts afresh shares nothing with what is old.
  later(1);
  await gateway.moveHead("home", { entry_id: null, thread_id: "" });
  await ask(home, "hello");
  await gateway.sweep();
  const after = await store.read.receiptTotals(null);
  expect(after.bytes).toBeLessThanOrEqual(12_000);
  const calls = await callsOf(gateway);
  const gone = calls.map(({ expired }) => expired !== undefined);
  expect(gone.at(0)).toBe(true);
  expect(gone.at(-1)).toBe(false);
  expect(gone).toEqual(gone.toSorted((a, b) => Number(b) - Number(a)));
});

test("without a word of the operator everything is kept", async () => {
  const { gateway, home, later } = await open(undefined);
  await ask(home, "first");
  later(10_000);
  await gateway.sweep();
  expect(await gateway.request((await callsOf(gateway))[0]?.id ?? "")).toBeInstanceOf(Uint8Array);
});

test("a turn whose last request expires under its hands goes on", async () => {
  const store = openMemory();
  let expireNow: (() => Promise<void>) | null = null;
  const watched: typeof store = {
    ...store,
    commit: async (batch) => {
      const starts = batch.facts.some(({ type }) => type === "call_started");
      if (starts && expireNow) await expireNow();
      return store.commit(batch);
    },
  };
  const { gateway, home } = await open(undefined, watched);
  await ask(home, "first");
  const [first] = await callsOf(gateway);
  expireNow = async () => {
    expireNow = null;
    const fact = {
      type: "receipts_expired",
      chat_jid: "home",
      call_ids: [first?.id ?? ""],
      at: "",
      reason: "",
    } as const;
    await store.commit({ facts: [{ ...fact, call_ids: [...fact.call_ids] }] });
  };
  await ask(home, "second");
  const second = (await callsOf(gateway)).at(-1);
  expect(await gateway.request(first?.id ?? "")).toBe("expired");
  expect((await gateway.request(second?.id ?? ""))?.length).toBe(second?.request_size);
});
