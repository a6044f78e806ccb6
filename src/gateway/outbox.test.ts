import { afterEach, describe, expect, it } from "vitest";
import type { Channel, SendOptions, SendResult } from "../channel/channel.js";
import type { Delivery } from "../message/index.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { type Clock, systemClock } from "./clock.js";
import { createGateway, type Gateway } from "./gateway.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-11-15T12:00:00.000Z");

/** Let everything that is under way come to rest. */
async function rest(): Promise<void> {
  for (let round = 0; round < 60; round++) await new Promise((resolve) => setImmediate(resolve));
}

/** Time stands still until a test moves it. */
function stillClock() {
  let now = START;
  const timers = new Set<{ due: number; ring: () => void }>();
  const clock: Clock = {
    now: () => now,
    steady: () => now,
    newId: systemClock.newId,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const ring = () => {
          timers.delete(timer);
          resolve();
        };
        const timer = { due: now + ms, ring };
        timers.add(timer);
        if (ms <= 0 || signal?.aborted) return ring();
        signal?.addEventListener("abort", ring);
      }),
    every: (ms, tick) => {
      const timer = {
        due: now + ms,
        ring: () => {
          timer.due = now + ms;
          tick();
        },
      };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const pass = async (ms: number, step = ms): Promise<void> => {
    for (const end = now + ms; now < end; ) {
      now = Math.min(end, now + step);
      for (const timer of [...timers]) if (timer.due <= now) timer.ring();
      await rest();
    }
  };
  return { clock, pass };
}

type Sent = { key: string; text: string; at: number };

/** A platform that answers as it is told to. */
function platform(clock: Clock, more: Partial<Channel> = {}) {
  const sent: Sent[] = [];
  const ok: SendResult = { ok: true, externalId: "x1" };
  const under = {
    sent,
    answer: async (_options: SendOptions): Promise<SendResult> => ok,
    heal: () => {
      under.answer = async () => ok;
    },
    fails: (retryAfter: number | "never" | "unknown") => {
      under.answer = async () => ({ ok: false, retryAfter, why: "the platform said no" });
    },
  };
  const channel: Channel = {
    name: "there",
    start: async () => {},
    stop: async () => {},
    send: async (_address, message, options) => {
      sent.push({ key: options.key, text: message.content, at: clock.now() });
      return under.answer(options);
    },
    ...more,
  };
  return { ...under, channel, under };
}

const gateways: Gateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
});

async function open(clock: Clock, channels: Channel[], store: Store = openMemory()): Promise<Gateway> {
  const gateway = createGateway({
    store,
    clock,
    channels,
    resolveModel: () => ({ ok: false, why: "nobody is asked here" }),
    defaultModel: "none",
  });
  gateways.push(gateway);
  await gateway.start();
  await gateway.registerChat({ jid: "team", bindings: [{ channel: "there", address: "there:room" }] });
  return gateway;
}

async function say(gateway: Gateway, content: string): Promise<void> {
  const msg_metadata = {
    source: "here",
    sender_id: "here:U1",
    sender_display_name: "Olivia",
    sender_type: "human",
  };
  const result = await gateway.submitChat("team", { content, msg_metadata });
  if (result.status !== "stored") throw new Error(JSON.stringify(result));
  await rest();
}

async function deliveries(gateway: Gateway): Promise<Delivery[]> {
  return gateway.read.deliveries({
    chat_jid: "team",
    message_id: null,
    state: null,
    after: null,
    limit: 100,
  });
}

async function only(gateway: Gateway): Promise<Delivery> {
  const [delivery] = await deliveries(gateway);
  if (!delivery) throw new Error("no delivery");
  return delivery;
}

/** The store, with something that happens right after a delivery was read. */
function interrupted(store: Store, then: { next: ((id: string) => Promise<void>) | null }): Store {
  const delivery = async (id: string) => {
    const read = await store.read.delivery(id);
    const next = then.next;
    then.next = null;
    await next?.(id);
    return read;
  };
  return { ...store, read: { ...store.read, delivery } };
}

describe("the desk", () => {
  const failures = { dead: "never", retry: HOUR, unknown: "unknown", expired: HOUR, skipped: HOUR } as const;
  for (const state of ["dead", "retry", "unknown", "expired", "skipped"] as const) {
    it(`sends what is ${state} at once, when asked to`, async () => {
      const { clock, pass } = stillClock();
      const { channel, under } = platform(clock);
      const gateway = await open(clock, [channel]);
      under.fails(failures[state]);
      await say(gateway, "hello");
      if (state === "expired") await pass(25 * HOUR, HOUR);
      if (state === "skipped") await gateway.moveDelivery((await only(gateway)).id, "drop");
      await rest();
      expect((await only(gateway)).state).toBe(state);
      under.heal();
      expect(await gateway.moveDelivery((await only(gateway)).id, "retry")).toBe("ok");
      await rest();
      expect(await only(gateway)).toMatchObject({ state: "sent", reason: null, external_id: "x1" });
      const { address, thread_id } = await only(gateway);
      expect(await gateway.read.work("delivery", `delivery:${address}#${thread_id ?? ""}`, 9)).toEqual([]);
    });
  }

  it("sends in order what waits before the one it was asked for", async () => {
    const { clock } = stillClock();
    const { channel, under, sent } = platform(clock);
    const gateway = await open(clock, [channel]);
    under.fails("never");
    await say(gateway, "one");
    under.fails(HOUR);
    await say(gateway, "two");
    const [dead] = await deliveries(gateway);
    sent.length = 0;
    under.heal();
    await gateway.moveDelivery(dead?.id ?? "", "retry");
    await rest();
    expect(sent.map(({ text }) => text)).toEqual(["two", "one"]);
  });

  it("does not hold up the others when the one they wait for is dropped", async () => {
    const { clock } = stillClock();
    const { channel, under, sent } = platform(clock);
    const gateway = await open(clock, [channel]);
    under.fails(HOUR);
    await say(gateway, "one");
    await say(gateway, "two");
    under.heal();
    expect(await gateway.moveDelivery((await only(gateway)).id, "drop")).toBe("ok");
    await rest();
    expect((await deliveries(gateway)).map(({ state }) => state)).toEqual(["skipped", "sent"]);
    expect(sent.map(({ text }) => text)).toEqual(["one", "two"]);
  });

  it("never overwrites what arrived while the operator looked", async () => {
    const { clock } = stillClock();
    const { channel, under } = platform(clock);
    const store = openMemory();
    const then: Parameters<typeof interrupted>[1] = { next: null };
    const gateway = await open(clock, [channel], interrupted(store, then));
    under.fails(HOUR);
    await say(gateway, "hello");
    const { id, attempts, last_error } = await only(gateway);
    for (const to of ["drop", "retry"] as const) {
      then.next = async () => {
        const at = new Date(clock.now()).toISOString();
        const arrived = {
          id,
          attempts,
          last_error,
          state: "sent",
          reason: null,
          retry_at: null,
          at,
        } as const;
        await store.commit({ facts: [{ type: "delivery_state", external_id: "x9", ...arrived }] });
      };
      expect(await gateway.moveDelivery(id, to)).toBe("conflict");
      expect(await only(gateway)).toMatchObject({ state: "sent", external_id: "x9" });
    }
    expect(await gateway.moveDelivery("nobody", "drop")).toBe("unknown");
  });

  it("stops a delivery that the outbox has just taken up", async () => {
    const { clock } = stillClock();
    const { channel, sent } = platform(clock);
    const store = openMemory();
    const then: Parameters<typeof interrupted>[1] = { next: null };
    const gateway = await open(clock, [channel], interrupted(store, then));
    then.next = async (id) => void (await gateway.moveDelivery(id, "drop"));
    await say(gateway, "never mind");
    expect(sent).toEqual([]);
    expect((await only(gateway)).state).toBe("skipped");
  });
});

describe("the outbox", () => {
  it("sends nothing for a holder whose lane was taken over", async () => {
    const { clock } = stillClock();
    const { channel, sent } = platform(clock);
    const store = openMemory();
    const then: Parameters<typeof interrupted>[1] = { next: null };
    const gateway = await open(clock, [channel], interrupted(store, then));
    then.next = async () => {
      const later = START + HOUR;
      await store.claim({ kind: "delivery", holder: "another", now: later, leaseMs: HOUR, limit: 9 });
    };
    await say(gateway, "once");
    expect(then.next).toBe(null);
    expect(sent).toEqual([]);
    expect(await only(gateway)).toMatchObject({ state: "pending", attempts: 0 });
  });

  it("keeps what is for a channel that is away, and sends it when the channel is back within a day", async () => {
    const { clock, pass } = stillClock();
    const store = openMemory();
    const without = await open(clock, [], store);
    await say(without, "one");
    await say(without, "two");
    await pass(23 * HOUR, 5 * MINUTE);
    const [waiting] = await deliveries(without);
    expect(waiting).toMatchObject({ state: "retry", attempts: 0 });
    expect(waiting?.last_error).toContain("not running");
    await without.stop(0);
    const { channel, sent } = platform(clock);
    const gateway = await open(clock, [channel], store);
    await pass(MINUTE);
    expect(sent.map(({ text }) => text)).toEqual(["one", "two"]);
    expect((await deliveries(gateway)).map(({ attempts }) => attempts)).toEqual([1, 1]);
  });

  it("gives up after a day, tells people, and lets the lane flow", async () => {
    const { clock, pass } = stillClock();
    const gateway = await open(clock, []);
    await say(gateway, "one");
    await pass(HOUR);
    await say(gateway, "two");
    await pass(23 * HOUR + 2 * MINUTE, MINUTE);
    expect((await deliveries(gateway)).map(({ state }) => state)).toEqual(["expired", "retry"]);
    await pass(HOUR, MINUTE);
    expect((await deliveries(gateway)).map(({ state }) => state)).toEqual(["expired", "expired"]);
    const rows = await gateway.getMessagesSince("team", 0);
    expect(rows.filter((row) => row.message_type === "host")).toHaveLength(2);
  });

  it("tries for a day, at least every ten minutes, while the platform fails", async () => {
    const { clock, pass } = stillClock();
    const { channel, under, sent } = platform(clock);
    const gateway = await open(clock, [channel]);
    under.fails(0);
    await say(gateway, "hello");
    await pass(23 * HOUR, MINUTE);
    expect((await only(gateway)).state).toBe("retry");
    const gaps = sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBe(10 * MINUTE);
    under.heal();
    await pass(10 * MINUTE);
    expect((await only(gateway)).state).toBe("sent");
  });

  it("does not send again what may have arrived, as long as the platform cannot be asked", async () => {
    const { clock, pass } = stillClock();
    let find: () => Promise<{ externalId: string } | null> = async () => {
      throw new Error("the platform is down");
    };
    const { channel, under, sent } = platform(clock, { find: () => find() });
    const gateway = await open(clock, [channel]);
    under.fails("unknown");
    await say(gateway, "hello");
    under.heal();
    await pass(MINUTE, 1000);
    expect(await only(gateway)).toMatchObject({ state: "unknown", last_error: "the platform is down" });
    await gateway.moveDelivery((await only(gateway)).id, "retry");
    await rest();
    expect((await only(gateway)).state).toBe("unknown");
    find = () => new Promise(() => {});
    await pass(20 * MINUTE, 10_000);
    expect(await only(gateway)).toMatchObject({ state: "unknown", last_error: "no answer for 30 s" });
    expect(sent).toHaveLength(1);
    find = async () => ({ externalId: "x7" });
    await pass(11 * MINUTE, 10_000);
    expect(await only(gateway)).toMatchObject({ state: "sent", external_id: "x7" });
    expect(sent).toHaveLength(1);
  });

  it("sends again what the platform says is not there", async () => {
    const { clock, pass } = stillClock();
    const { channel, under, sent } = platform(clock, { find: async () => null });
    const gateway = await open(clock, [channel]);
    under.fails("unknown");
    await say(gateway, "hello");
    under.heal();
    await pass(MINUTE, 1000);
    expect((await only(gateway)).state).toBe("sent");
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1);
    expect(sent).toHaveLength(2);
  });

  it("loses patience with a platform that never answers, by its own clock", async () => {
    const { clock, pass } = stillClock();
    const { channel, under } = platform(clock);
    const gateway = await open(clock, [channel]);
    under.answer = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    await say(gateway, "hello");
    expect((await only(gateway)).state).toBe("sending");
    expect(await gateway.moveDelivery((await only(gateway)).id, "drop")).toBe("conflict");
    await pass(30_000, 1000);
    expect(await only(gateway)).toMatchObject({ state: "unknown", last_error: "no answer for 30 s" });
  });
});
