import { expect, it } from "vitest";
import { model } from "../provider/model.js";
import { CHAT, kept, message, OTHER, registered, turn } from "../store/contract/sample.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import { Elsewhere } from "./elsewhere.js";
import type { StreamEvent } from "./events.js";
import { createGateway } from "./gateway.js";
import { Live } from "./live.js";

const demo = (delayMs: number) => ({
  resolveModel: () => ({ ok: true, model: model({ api: "demo", id: "demo", delayMs }) }) as const,
  defaultModel: "demo/demo",
});

it("an answer that streams in one server is read along at the other, and ends there too", async () => {
  const store = openMemory();
  const limits = { saveEveryMs: 10 };
  const one = createGateway({ store, holder: "one", limits, ...demo(15) });
  const two = createGateway({ store, holder: "two", limits: { turns: 0 }, ...demo(0) });
  await Promise.all([one.start(), two.start()]);
  const seen: StreamEvent[] = [];
  const gone = new AbortController();
  const stream = two.events.stream({
    after: null,
    chatJid: "home",
    push: (event) => seen.push(event),
    drained: async () => {},
    signal: gone.signal,
  });
  await one.submitChat("home", {
    content: "/long story please",
    msg_metadata: {
      source: "web",
      sender_id: "web:me",
      sender_type: "human",
      sender_display_name: "Olivia",
    },
  });
  const words = () =>
    seen
      .filter(({ type }) => type === "turn.snapshot")
      .flatMap(({ data }) => JSON.parse(data).parts as { type: string; content: string }[])
      .filter(({ type }) => type === "text")
      .map(({ content }) => content);
  for (let tries = 0; tries < 1000 && words().length < 2; tries++) await pause();
  const [first = "", ...later] = words();
  expect(first).not.toBe("");
  expect(later.at(-1)?.startsWith(first)).toBe(true);
  for (let tries = 0; tries < 3000 && !seen.some(({ type }) => type === "turn.ended"); tries++) await pause();
  const end = seen.findIndex(({ type }) => type === "turn.ended");
  expect(end).toBeGreaterThan(0);
  await pause(900);
  expect(seen.slice(end).some(({ type }) => type === "turn.snapshot")).toBe(false);
  gone.abort();
  await stream;
  await Promise.all([one.stop(0), two.stop(0)]);
}, 30_000);

it("only chats somebody listens to are asked about, and nobody is asked while nothing can have started", async () => {
  const store = openMemory();
  await kept(store, [registered(CHAT), registered(OTHER), message("q"), turn("t1", { trigger_id: "q" })]);
  const asked: (string | null)[] = [];
  const calls: string[] = [];
  const read: Store["read"] = {
    ...store.read,
    runningTurns: (jid) => {
      asked.push(jid);
      return store.read.runningTurns(jid);
    },
    calls: () => Promise.reject(new Error("all calls of a turn were read")),
    lastCallOfTurn: (id) => {
      calls.push(id);
      return store.read.lastCallOfTurn(id);
    },
  };
  const elsewhere = new Elsewhere({ store: { ...store, read }, live: new Live() });
  await elsewhere.news([OTHER]);
  expect(asked).toEqual([OTHER]);
  expect(calls).toEqual([]);
  await elsewhere.news([OTHER]);
  expect(asked).toEqual([OTHER]);
  elsewhere.stir();
  await elsewhere.news([CHAT]);
  await elsewhere.news([CHAT]);
  expect(asked).toEqual([OTHER, CHAT, CHAT]);
  expect(calls).toEqual(["t1", "t1"]);
  const many = Array.from({ length: 50 }, (_, index) => `chat${index}`);
  await elsewhere.news(many);
  expect(asked.slice(3)).toEqual([null]);
  expect(calls).toHaveLength(2);
});

function pause(ms = 5): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
