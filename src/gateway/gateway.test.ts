import { afterEach, describe, expect, it } from "vitest";
import type { Channel, Gate, OutgoingMessage } from "../channel/channel.js";
import type { MessageRow } from "../message/index.js";
import { resolveModel } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { createGateway, type Gateway, type GatewayOptions } from "./gateway.js";

const gateways: Gateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
});

async function open(options: Partial<GatewayOptions> = {}): Promise<{ gateway: Gateway; store: Store }> {
  const store = options.store ?? openMemory();
  const gateway = createGateway({
    store,
    resolveModel: (name) => resolveModel(name, { LONGHAND_DEMO_DELAY_MS: "0" }),
    defaultModel: "demo/demo",
    limits: { leaseMs: 500 },
    ...options,
  });
  gateways.push(gateway);
  await gateway.start();
  return { gateway, store };
}

const metadata = (more: Record<string, unknown> = {}) => ({
  source: "slack",
  sender_id: "slack:U1",
  sender_display_name: "Olivia",
  sender_type: "human",
  ...more,
});

async function say(
  gateway: Gateway,
  chat: string,
  content: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const result = await gateway.submitChat(chat, { content, msg_metadata: metadata(more) });
  if (result.status !== "stored") throw new Error(JSON.stringify(result));
  return result.answer.message_id;
}

async function settled(gateway: Gateway, chat: string, id: string): Promise<string> {
  for (let tries = 0; tries < 1000; tries++) {
    const outcome = await gateway.outcome(chat, id);
    if (outcome && outcome.outcome !== "pending") return outcome.outcome;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no outcome of ${id}`);
}

async function lastRequest(gateway: Gateway, chat: string): Promise<{ role: string; content: string }[]> {
  const calls = await gateway.read.calls({ chat_jid: chat, turn_id: null, after: null, limit: 500 });
  const bytes = await gateway.request(calls.at(-1)?.id ?? "");
  if (!bytes || bytes === "erased") throw new Error("no request");
  return JSON.parse(Buffer.from(bytes).toString()).messages;
}

const rowsOf = (gateway: Gateway, chat: string): Promise<MessageRow[]> => gateway.getMessagesSince(chat, 0);

describe("the gateway", () => {
  it("answers what was said, with what was said meanwhile in view", async () => {
    const { gateway } = await open();
    await gateway.registerChat({ jid: "team" });
    await say(gateway, "team", "the train leaves at nine", {
      sender_id: "slack:U2",
      sender_display_name: "Ash",
    });
    await gateway.storePassiveMessage("team", {
      content: "overheard",
      msg_metadata: metadata({ sender_id: "slack:U3", sender_display_name: "Kim" }),
    });
    const asked = await say(gateway, "team", "@Longhand: when?");
    expect(await settled(gateway, "team", asked)).toBe("answered");
    const people = (await lastRequest(gateway, "team"))
      .filter(({ role }) => role === "user")
      .map(({ content }) => content);
    expect(people.map((text) => text.split("\n").at(-1))).toEqual([
      "[Ash]: the train leaves at nine",
      "[Kim]: overheard",
      "[Olivia]: when?",
    ]);
  });

  it("answers each of many messages in one chat, one at a time and in order", async () => {
    const { gateway } = await open();
    await gateway.changeChat("home", { while_busy: "queue" });
    const ids = await Promise.all(
      Array.from({ length: 12 }, (_, index) => say(gateway, "home", `question ${index}`)),
    );
    for (const id of ids) expect(await settled(gateway, "home", id)).toBe("answered");
    const turns = (await rowsOf(gateway, "home"))
      .filter((row) => row.turn_id !== null)
      .map((row) => row.turn_id);
    const runs = turns.filter((turn, index) => turn !== turns[index - 1]);
    expect(runs).toHaveLength(ids.length);
  });

  it("strikes a deleted message from what the model reads, and keeps to what it read of an edited one", async () => {
    const { gateway } = await open();
    const secret = await say(gateway, "home", "the code is 1234");
    await settled(gateway, "home", secret);
    const typo = await say(gateway, "home", "meet at ten");
    await settled(gateway, "home", typo);
    await gateway.revise("home", typo, "meet at eleven");
    await gateway.revise("home", secret, null);
    await settled(gateway, "home", await say(gateway, "home", "so?"));
    const people = JSON.stringify((await lastRequest(gateway, "home")).filter(({ role }) => role === "user"));
    expect(people).not.toContain("1234");
    expect(people).toContain("meet at ten");
  });

  it("gives a second person of the same name a name of their own, for good", async () => {
    const { gateway } = await open();
    for (const sender_id of ["slack:U1", "slack:U2", "slack:U1", "slack:U2"]) {
      await settled(gateway, "home", await say(gateway, "home", "it is me", { sender_id }));
    }
    const names = (await lastRequest(gateway, "home"))
      .filter(({ role }) => role === "user")
      .map(({ content }) => /\[(Olivia[^\]]*)\]/.exec(content)?.[1]);
    expect(names).toEqual(["Olivia", "Olivia 2", "Olivia", "Olivia 2"]);
  });

  it("tells people, not the model, when no model can be reached", async () => {
    const { gateway } = await open({ resolveModel: () => ({ ok: false, why: "set a key" }) });
    const id = await say(gateway, "home", "hello?");
    expect(await settled(gateway, "home", id)).toBe("failed");
    expect((await rowsOf(gateway, "home")).map((row) => row.sender)).toContain("host");
  });

  it("keeps an extension's note on the path, also one posted while a turn runs", async () => {
    const { gateway } = await open({
      resolveModel: (name) => resolveModel(name, { LONGHAND_DEMO_DELAY_MS: "20" }),
    });
    const id = await say(gateway, "home", "take your time");
    while (!(await gateway.read.runningTurn("home", "")))
      await new Promise((resolve) => setTimeout(resolve, 5));
    const note = await gateway.postCustom("home", "note", "posted meanwhile");
    expect(await settled(gateway, "home", id)).toBe("answered");
    const head = await gateway.read.head("home", "");
    const path = await gateway.read.path("home", head ?? "", 100);
    expect(path.map((entry) => entry.id)).toContain(note);
    expect(path.filter((entry) => entry.message?.sender === "bot")).toHaveLength(1);
  });

  it("stops a turn when asked, and keeps what was said so far", async () => {
    const { gateway } = await open({
      resolveModel: (name) => resolveModel(name, { LONGHAND_DEMO_DELAY_MS: "20" }),
    });
    const id = await say(gateway, "home", "/long story please");
    for (let tries = 0; tries < 400 && !(await gateway.read.runningTurn("home", "")); tries++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await gateway.stopTurn("home")).toBe(true);
    expect(await settled(gateway, "home", id)).toBe("stopped");
    expect(await settled(gateway, "home", await say(gateway, "home", "and now?"))).toBe("answered");
  });

  const slowly = { resolveModel: (name: string) => resolveModel(name, { LONGHAND_DEMO_DELAY_MS: "20" }) };
  const bots = async (gateway: Gateway) =>
    (await rowsOf(gateway, "home")).filter((row) => row.sender === "bot");
  const streaming = async (gateway: Gateway, store: Store) => {
    for (let tries = 0; tries < 400; tries++) {
      const calls = await store.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 10 });
      const running = calls.find((call) => call.status === "running");
      if (running && (await store.read.partial(running.id)).some((part) => part.type === "text"))
        return running.id;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`nothing streamed in ${gateway}`);
  };

  it("that goes down in the middle of an answer answers once when it is up again, and keeps what was said", async () => {
    const store = openMemory();
    const limits = { leaseMs: 500, saveEveryMs: 10 };
    const { gateway: first } = await open({ store, limits, ...slowly });
    const id = await say(first, "home", "/long story please");
    const cutId = await streaming(first, store);
    await first.stop(0);
    expect(await bots(first)).toEqual([]);
    const { gateway: second } = await open({ store });
    expect(await settled(second, "home", id)).toBe("answered");
    const [cut, whole, ...more] = await bots(second);
    expect(more).toEqual([]);
    expect(cut?.call_id).toBe(cutId);
    expect(whole?.content.startsWith(cut?.content ?? "?")).toBe(true);
    expect(await second.call(cutId)).toMatchObject({ status: "cut", error_kind: "cut" });
    expect(await store.read.runningTurn("home", "")).toBeNull();
    expect((await rowsOf(second, "home")).filter((row) => row.sender === "result_meta")).toHaveLength(1);
  });

  it("leaves no turn running when what it was about is gone after a crash", async () => {
    const store = openMemory();
    const { gateway: first } = await open({ store, ...slowly, limits: { leaseMs: 500, saveEveryMs: 10 } });
    const id = await say(first, "home", "/long story please");
    const cutId = await streaming(first, store);
    await first.stop(0);
    await first.revise("home", id, null);
    const { gateway: second } = await open({ store });
    expect(await settled(second, "home", id)).toBe("ignored");
    expect(await store.read.runningTurn("home", "")).toBeNull();
    expect((await second.call(cutId))?.status).toBe("cut");
  });

  it("can be stopped in each of several turns that were waiting together", async () => {
    const { gateway, store } = await open({ ...slowly, limits: { leaseMs: 500, saveEveryMs: 10 } });
    await gateway.changeChat("home", { while_busy: "queue" });
    const ids = await Promise.all(["one", "two"].map((name) => say(gateway, "home", `/long ${name}`)));
    for (const id of ids) {
      await streaming(gateway, store);
      expect(await gateway.stopTurn("home")).toBe(true);
      expect(await settled(gateway, "home", id)).toBe("stopped");
    }
    expect(await gateway.stopTurn("home")).toBe(false);
  });

  it("leaves no message without an outcome when its chat is removed, running or waiting", async () => {
    const { gateway, store } = await open({ ...slowly, limits: { leaseMs: 500, saveEveryMs: 10 } });
    await gateway.registerChat({ jid: "brief", trigger: "always" });
    const ids = await Promise.all(["/long one", "/long two"].map((text) => say(gateway, "brief", text)));
    while (!(await store.read.runningTurn("brief", "")))
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await gateway.removeChat("brief")).toBe(true);
    for (const id of ids) expect(["ignored", "failed"]).toContain(await settled(gateway, "brief", id));
    expect(await store.read.runningTurn("brief", "")).toBeNull();
  });

  it("shows the model all that a busy group said meanwhile", async () => {
    const { gateway } = await open();
    await gateway.registerChat({ jid: "busy" });
    await Promise.all(Array.from({ length: 700 }, (_, index) => say(gateway, "busy", `remark ${index}`)));
    expect(await settled(gateway, "busy", await say(gateway, "busy", "@longhand what did I miss?"))).toBe(
      "answered",
    );
    const people = (await lastRequest(gateway, "busy")).filter(({ role }) => role === "user");
    expect(people).toHaveLength(701);
    expect(people.at(-1)?.content).toContain("what did I miss?");
  });

  it("lets nobody run it through a program who may not run it themselves", async () => {
    const { gateway } = await open();
    await gateway.registerChat({ jid: "closed", allow: ["slack:U9"] });
    const inject = { content: "hi", msg_metadata: metadata(), run: true };
    expect(await gateway.injectMessage("closed", inject)).toMatchObject({ answer: { admission: "ignored" } });
    const allowed = { ...inject, msg_metadata: metadata({ sender_id: "slack:U9" }) };
    expect(await gateway.injectMessage("closed", allowed)).toMatchObject({ answer: { admission: "run" } });
  });

  it("tells people once when a message cannot be delivered, and does not tell the telling", async () => {
    const dead = (name: string): Channel => ({
      name,
      start: async () => {},
      send: async () => ({ ok: false, retryAfter: "never", why: "no such room" }),
      stop: async () => {},
    });
    const { gateway } = await open({ channels: [dead("one"), dead("two")] });
    const bindings = ["one", "two"].map((channel) => ({ channel, address: `${channel}:room` }));
    await gateway.registerChat({ jid: "gone", bindings });
    await say(gateway, "gone", "is anybody there?");
    const undelivered = () =>
      gateway.read.deliveries({ chat_jid: "gone", message_id: null, state: "dead", after: null, limit: 100 });
    for (let tries = 0; tries < 200 && (await undelivered()).length < 4; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await rowsOf(gateway, "gone")).map((row) => row.sender)).toEqual(["slack:U1", "host", "host"]);
    expect(await undelivered()).toHaveLength(4);
  });

  it("hears and answers through a channel, mirrors to the others, and knows its own echo", async () => {
    const sent: OutgoingMessage[] = [];
    const channelOf = (name: string): Channel & { gate: Gate | null } => ({
      name,
      gate: null,
      async start(gate) {
        this.gate = gate;
      },
      async send(address, message) {
        sent.push(message);
        return { ok: true, externalId: `${address}/${sent.length}` };
      },
      async stop() {},
    });
    const [one, two] = [channelOf("one"), channelOf("two")];
    const { gateway } = await open({ channels: [one, two] });
    const bindings = ["one", "two"].map((channel) => ({ channel, address: `${channel}:room`, trace: "off" }));
    await gateway.registerChat({ jid: "both", trigger: "always", bindings });
    const heard = await one.gate?.receive({
      address: "one:room",
      content: " hi ",
      msg_metadata: metadata({ source: "one", external_message_id: "1" }) as never,
    });
    if (heard?.status !== "stored") throw new Error(JSON.stringify(heard));
    expect(await settled(gateway, "both", heard.answer.message_id)).toBe("answered");
    for (let tries = 0; tries < 200 && sent.length < 3; tries++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(sent.map((message) => message.sender).sort()).toEqual(["bot", "bot", "slack:U1"]);
    const { outbox } = {
      outbox: await gateway.read.deliveries({
        chat_jid: "both",
        message_id: null,
        state: "sent",
        after: null,
        limit: 10,
      }),
    };
    const back = outbox.find((delivery) => delivery.address === "one:room");
    const echo = await one.gate?.receive({
      address: "one:room",
      content: "x",
      msg_metadata: metadata({ source: "one", external_message_id: back?.external_id }) as never,
    });
    expect(echo).toMatchObject({
      status: "stored",
      answer: { admission: "ignored", reason: "echo", duplicate: true },
    });
    expect(
      await two.gate?.receive({
        address: "two:elsewhere",
        content: "x",
        msg_metadata: metadata({ source: "two" }) as never,
      }),
    ).toEqual({ status: "unregistered" });
  });
});
