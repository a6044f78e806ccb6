import { afterEach, expect, test } from "vitest";
import { AT, CHAT, call, kept, message, OTHER, registered, turn } from "../store/contract/sample.js";
import { cursorOf } from "../store/events.js";
import { openMemory } from "../store/memory.js";
import type { Fact, News, Store } from "../store/store.js";
import { systemClock } from "./clock.js";
import { EventHub, type StreamEvent } from "./events.js";
import type { Log } from "./hall.js";
import { Line } from "./line.js";
import { Live } from "./live.js";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function open(store: Store = openMemory(), log: Log = () => {}) {
  const live = new Live();
  const hub = new EventHub({ store, live, clock: systemClock, log });
  closing.push(() => hub.close());
  return { hub, live, store };
}

/** An open stream and what came on it. */
function listen(hub: EventHub, after: string | null, chatJid: string | null = CHAT) {
  const seen: StreamEvent[] = [];
  const gone = new AbortController();
  closing.push(() => gone.abort());
  void hub.stream({
    after,
    chatJid,
    push: (event) => seen.push(event),
    drained: async () => {},
    signal: gone.signal,
  });
  return seen;
}

/** A store in which one kind of read is answered when it is let go, with what was there when it was asked. */
function heldBack(store: Store, what: "events" | "turn") {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const read: Store["read"] = {
    ...store.read,
    events: async (query) => {
      const page = await store.read.events(query);
      if (what === "events" && query.chat_jid !== null) await held;
      return page;
    },
    turn: async (id) => {
      const found = await store.read.turn(id);
      if (what === "turn") await held;
      return found;
    },
  };
  return { store: { ...store, read }, letGo: () => letGo() };
}

const until = (effect: () => boolean) => expect.poll(effect, { interval: 2, timeout: 5000 }).toBe(true);
const settle = () => new Promise((resolve) => setImmediate(resolve));
const types = (seen: StreamEvent[]) => seen.map((event) => event.type);
const dataOf = (event: StreamEvent | undefined) => JSON.parse(event?.data ?? "{}") as Record<string, unknown>;
const wordsOf = (seen: StreamEvent[]) =>
  seen.filter(({ type }) => type === "message").map((event) => contentOf(dataOf(event).message));
const contentOf = (row: unknown) => (row as { content: string }).content;
const say = (store: Store, id: string, content = id, chat_jid = CHAT) =>
  kept(store, [message(id, { content, chat_jid })]);
const delta = (text: string) =>
  ({ chat_jid: CHAT, turn_id: "t", call_id: "c", part: 0, kind: "text", delta: text }) as const;
const answerRow = message("answer", { message_type: "assistant", sender: "bot", turn_id: "t", call_id: "c" });
const ending: Fact = { type: "turn_ended", turn_id: "t", chat_jid: CHAT, status: "ended", at: AT };
const callStarted: Fact = {
  type: "call_started",
  call: call("c", { turn_id: "t" }),
  request: { base: null, blocks: [], left_out: [], breaks: [] },
};
const callEnded: Fact = {
  type: "call_ended",
  call: call("c", { turn_id: "t", status: "ok" }),
  leftovers: [],
};

async function startTurn({ store, live }: { store: Store; live: Live }): Promise<void> {
  await kept(store, [registered(), message("q"), turn("t", { trigger_id: "q" }), callStarted]);
  live.begin(CHAT, "t", "c");
}

test("a stream that takes long to open takes nothing from one that is open", async () => {
  const real = openMemory();
  let tellNews: (news: News) => void = () => {};
  let slowStart = () => {};
  let slowPage = () => {};
  let asked = 0;
  let holdTail = false;
  const store: Store = {
    ...real,
    subscribe: (listener) => {
      tellNews = listener;
      return real.subscribe(listener);
    },
    read: {
      ...real.read,
      lastEvent: async () => {
        if (++asked === 1)
          await new Promise<void>((resolve) => {
            slowStart = resolve;
          });
        return real.read.lastEvent();
      },
      events: async (query) => {
        const page = await real.read.events(query);
        if (query.chat_jid === null && holdTail)
          await new Promise<void>((resolve) => {
            slowPage = resolve;
          });
        return page;
      },
    },
  };
  const { hub } = open(store);
  await kept(store, [registered()]);
  listen(hub, "0");
  const quick = listen(hub, "0");
  await say(store, "one");
  await until(() => wordsOf(quick).length === 1);
  await settle();
  holdTail = true;
  tellNews({ work: [], events: true, settings: false });
  await settle();
  await say(store, "two");
  slowStart();
  await settle();
  holdTail = false;
  slowPage();
  await say(store, "three");
  await until(() => wordsOf(quick).includes("three"));
  expect(wordsOf(quick)).toEqual(["one", "two", "three"]);
});

test("whoever comes in the middle of an answer hears every word once", async () => {
  const room = open();
  await startTurn(room);
  listen(room.hub, await room.hub.now());
  await settle();
  room.live.push(delta("one "));
  const late = listen(room.hub, await room.hub.now());
  room.live.push(delta("two "));
  await until(() => late.length > 0);
  room.live.push(delta("three"));
  expect(types(late)).toEqual(["turn.snapshot", "turn.delta"]);
  expect(dataOf(late[0]).parts).toEqual([{ part: 0, type: "text", content: "one two " }]);
  expect(dataOf(late[1]).delta).toBe("three");
});

test.each(["events", "turn"] as const)("nothing of an answer is told after its end (%s)", async (slow) => {
  const { store, letGo } = heldBack(openMemory(), slow);
  const room = open(store);
  await startTurn(room);
  const seen = listen(room.hub, "0");
  await settle();
  room.live.push(delta("all of it"));
  await kept(store, [answerRow, callEnded, ending]);
  await settle();
  letGo();
  await until(() => types(seen).includes("turn.ended"));
  await say(store, "next");
  await until(() => wordsOf(seen).includes("next"));
  expect(types(seen).filter((type) => type.startsWith("turn."))).toEqual(["turn.started", "turn.ended"]);
});

test("a turn that the store knows to be over is not shown as running", async () => {
  const room = open();
  await startTurn(room);
  room.live.push(delta("all of it"));
  await kept(room.store, [answerRow, callEnded, ending]);
  const seen = listen(room.hub, await room.hub.now());
  await settle();
  await say(room.store, "next");
  await until(() => wordsOf(seen).includes("next"));
  expect(types(seen)).toEqual(["message"]);
});

test("words whose rows were told are not told again as being written", async () => {
  const room = open();
  await startTurn(room);
  room.live.push(delta("all of it"));
  await kept(room.store, [answerRow, callEnded]);
  const seen = listen(room.hub, "0");
  await until(() => types(seen).includes("turn.snapshot"));
  expect(types(seen).at(-1)).toBe("turn.snapshot");
  expect(dataOf(seen.at(-1))).toMatchObject({ turn_id: "t", call_id: "c", parts: [] });
});

test("a turn that is silent for a while, because a tool is at work, is shown as running", async () => {
  const room = open();
  room.live.beginTurn(CHAT, "t");
  await startTurn(room);
  await kept(room.store, [answerRow, callEnded]);
  room.live.end("c");
  const during = listen(room.hub, await room.hub.now());
  await until(() => during.length > 0);
  expect(types(during)).toEqual(["turn.snapshot"]);
  expect(dataOf(during[0])).toMatchObject({ chat_jid: CHAT, turn_id: "t", call_id: "c", parts: [] });
  await kept(room.store, [ending]);
  room.live.endTurn("t");
  const after = listen(room.hub, await room.hub.now());
  await say(room.store, "next");
  await until(() => after.length > 0);
  expect(types(after)).toEqual(["message"]);
});

test("what happens while a stream catches up comes once and in order, also when it is much", async () => {
  const { store, letGo } = heldBack(openMemory(), "events");
  const { hub } = open(store);
  await kept(store, [registered(), registered(OTHER)]);
  await say(store, "before");
  const seen = listen(hub, "0");
  await settle();
  const names = ["before", ...Array.from({ length: 30 }, (_, index) => `m${index}`), "after"];
  for (const name of names.slice(1, -1)) {
    await say(store, name, name + "x".repeat(100_000));
    await say(store, `${name}-noise`, "x", OTHER);
    await settle();
  }
  letGo();
  await settle();
  await say(store, "after");
  await until(() => wordsOf(seen).includes("after"));
  expect(wordsOf(seen).map((text) => text.replace(/x+$/, ""))).toEqual(names);
});

test("a stream that catches up keeps little in memory, and nothing of other chats", () => {
  const told: StreamEvent[] = [];
  const line = new Line("0", CHAT, (event) => told.push(event));
  const event = (position: number, chat_jid: string): StreamEvent => ({
    cursor: cursorOf(position),
    type: "message",
    chat_jid,
    data: "x".repeat(200_000),
    ends: null,
  });
  for (let position = 1; position <= 10; position++) line.hear(event(position, OTHER));
  for (let position = 11; position <= 20; position++) line.hear(event(position, CHAT));
  expect(line.goLive()).toBeNull();
  line.keep();
  for (let position = 21; position <= 30; position++) line.hear(event(position, OTHER));
  line.hear(event(31, CHAT));
  expect(line.goLive()).toHaveLength(1);
  expect(told.map(({ cursor }) => cursor)).toEqual([cursorOf(31)]);
});

test("an event that cannot be told is passed over, logged, and holds nobody up", async () => {
  const real = openMemory();
  const read: Store["read"] = {
    ...real.read,
    message: async (jid, id) => {
      if (id === "bad") throw new TypeError("words of the message");
      return real.read.message(jid, id);
    },
  };
  const logged: unknown[] = [];
  const { hub, store } = open({ ...real, read }, (...line) => logged.push(line));
  await kept(store, [registered()]);
  for (const id of ["m1", "bad", "m2"]) await say(store, id);
  const caughtUp = listen(hub, null);
  await until(() => wordsOf(caughtUp).length === 2);
  await kept(real, [{ type: "revision", chat_jid: CHAT, message_id: "bad", content: "x", at: AT }]);
  await say(store, "m3");
  await until(() => wordsOf(caughtUp).length === 3);
  expect(wordsOf(caughtUp)).toEqual(["m1", "m2", "m3"]);
  expect(logged.length).toBeGreaterThanOrEqual(2);
  expect(JSON.stringify(logged)).toContain("events.not_rendered");
  expect(JSON.stringify(logged)).not.toContain("words of the message");
});

test("a bug while the log is read, or in one listener, ends neither the stream nor the server", async () => {
  const real = openMemory();
  let broken = false;
  const read: Store["read"] = {
    ...real.read,
    events: async (query) => {
      if (broken && query.chat_jid === null) {
        broken = false;
        throw new TypeError("a bug");
      }
      return real.read.events(query);
    },
    runningTurns: async () => {
      throw new TypeError("another");
    },
  };
  const logged: string[] = [];
  const { hub, store } = open({ ...real, read }, (_, event) => logged.push(event));
  await kept(store, [registered()]);
  const gone = new AbortController();
  closing.push(() => gone.abort());
  const seen: StreamEvent[] = [];
  const push = (event: StreamEvent) => {
    seen.push(event);
    if (event.type === "message" && seen.length === 2) throw new Error("a listener's bug");
  };
  const fine = { ...real.read, events: read.events };
  const other = open({ ...real, read: fine }, (_, event) => logged.push(event)).hub;
  void other.stream({ after: null, chatJid: CHAT, push, drained: async () => {}, signal: gone.signal });
  await until(() => seen.length === 1);
  await say(store, "m1");
  await until(() => seen.length === 2);
  broken = true;
  await say(store, "m2");
  await until(() => seen.length === 3);
  expect(logged).toContain("events.not_told");
  expect(logged).toContain("events.not_read");
  await expect(
    hub.stream({ after: null, chatJid: CHAT, push, drained: async () => {}, signal: gone.signal }),
  ).rejects.toThrow("another");
});
