import fc, { type Scheduler } from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { Fetch, Tool } from "../agent/index.js";
import { model } from "../provider/model.js";
import { openMemory } from "../store/memory.js";
import type { Store } from "../store/store.js";
import type { Clock } from "./clock.js";
import { createGateway, type Gateway } from "./gateway.js";
import { readPrefix } from "./prefix.js";

/**
 * The whole gateway in a world where nothing happens by itself: every read and write of the store, every call of the
 * model and every tool waits until the scheduler lets it go on, in any order it likes, and time passes only when
 * nothing else can happen. A failure prints the seed that repeats it.
 */
const LONG = process.env.LONGHAND_LONG === "1";
const MODES = ["steer", "queue", "collect", "interrupt"] as const;
type Mode = (typeof MODES)[number];

const START = Date.parse("2026-11-15T12:00:00.000Z");
const TOO_LONG_MS = 24 * 3600_000;

class SimulatedClock implements Clock {
  private time = START;
  private ids = 0;
  private readonly timers = new Set<{ due: number; ring: () => void }>();

  readonly now = () => this.time;
  readonly steady = () => this.time;
  readonly newId = () => `id-${String(++this.ids).padStart(9, "0")}`;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = {
        due: this.time + ms,
        ring: () => {
          this.timers.delete(timer);
          signal?.removeEventListener("abort", timer.ring);
          resolve();
        },
      };
      this.timers.add(timer);
      if (signal?.aborted) timer.ring();
      signal?.addEventListener("abort", timer.ring);
    });
  }

  every(ms: number, tick: () => void): () => void {
    const timer = {
      due: this.time + ms,
      ring: () => {
        timer.due = this.time + ms;
        tick();
      },
    };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** On to the next moment at which something is to happen. */
  advance(): void {
    const due = Math.min(...[...this.timers].map((timer) => timer.due));
    this.time = Math.max(this.time, due);
    for (const timer of [...this.timers]) if (timer.due <= this.time) timer.ring();
  }

  get elapsed(): number {
    return this.time - START;
  }
}

/** Each operation of the store begins when it is let go, and is heard of when that is let go. */
function scheduled(store: Store, s: Scheduler): Store {
  const wait = (label: string) => s.schedule(Promise.resolve(), label);
  const wrap =
    <A extends unknown[], R>(label: string, run: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await wait(label);
      const result = await run(...args);
      await wait(`${label} done`);
      return result;
    };
  const read = new Proxy(store.read, {
    get: (reads, name) => wrap(String(name), Reflect.get(reads, name)),
  });
  return {
    ...store,
    read,
    commit: wrap("commit", store.commit),
    claim: wrap("claim", store.claim),
    renew: wrap("renew", store.renew),
    settle: wrap("settle", store.settle),
  };
}

type Body = { messages: { role: string; content: unknown; tool_calls?: unknown }[] };

/** A model that uses tools as often as the last message says (`t2`), and then answers. Watches who asks it at once. */
class SimulatedModel {
  readonly requests = new Map<string, Body["messages"][]>();
  readonly notes: string[] = [];
  readonly overlaps: string[] = [];
  private readonly asking = new Map<string, number>();

  constructor(
    private readonly s: Scheduler,
    private readonly clock: SimulatedClock,
  ) {}

  readonly fetch: Fetch = async (_url, init) => {
    const body = JSON.parse(String(init.body)) as Body;
    const chat = String(body.messages[0]?.content);
    const leave = this.enter(chat);
    init.signal?.addEventListener("abort", leave, { once: true });
    this.requests.set(chat, [...(this.requests.get(chat) ?? []), body.messages]);
    await this.s.schedule(Promise.resolve(), `model ${chat}`);
    const answer = this.answer(body.messages);
    leave();
    return Response.json({
      id: this.clock.newId(),
      object: "chat.completion",
      model: "simulated",
      choices: [{ index: 0, ...answer }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  };

  readonly tools: Tool[] = [
    {
      name: "note",
      description: "Takes a note.",
      parameters: { type: "object", properties: {} },
      repeatable: false,
      run: async (_args, { call_id }) => {
        this.notes.push(call_id);
        await this.s.schedule(Promise.resolve(), "note");
        return "noted";
      },
    },
    {
      name: "look",
      description: "Looks something up.",
      parameters: { type: "object", properties: {} },
      repeatable: true,
      run: async () => {
        await this.s.schedule(Promise.resolve(), "look");
        return "found";
      },
    },
  ];

  private enter(chat: string): () => void {
    const now = (this.asking.get(chat) ?? 0) + 1;
    this.asking.set(chat, now);
    if (now > 1) this.overlaps.push(chat);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.asking.set(chat, (this.asking.get(chat) ?? 0) - 1);
    };
  }

  private answer(messages: Body["messages"]) {
    const last = messages.findLastIndex(({ role }) => role === "user");
    const rounds = messages.slice(last).filter(({ tool_calls }) => tool_calls !== undefined).length;
    const wanted = Number(/ t(\d)/.exec(JSON.stringify(messages[last]?.content))?.[1] ?? 0);
    if (rounds >= wanted)
      return { message: { role: "assistant", content: "so it is" }, finish_reason: "stop" };
    const call = (name: string) => ({
      id: this.clock.newId(),
      type: "function",
      function: { name, arguments: "{}" },
    });
    const message = { role: "assistant", content: null, tool_calls: [call("note"), call("look")] };
    return { message, finish_reason: "tool_calls" };
  }
}

type Said = { chat: number; sender: number; words: string };

const said = (chats: number, senders: number): fc.Arbitrary<Said> =>
  fc.record({
    chat: fc.nat(chats - 1),
    sender: fc.nat(senders - 1),
    words: fc.oneof(
      { weight: 7, arbitrary: fc.constantFrom("@Longhand hello t0", "@Longhand do t1", "@Longhand do t2") },
      { weight: 1, arbitrary: fc.constantFrom("@Longhand btw t0", "@Longhand btw t1") },
      { weight: 1, arbitrary: fc.constantFrom("@Longhand todo t0", "@longhand TODO t1") },
      { weight: 1, arbitrary: fc.constant("just talking") },
      { weight: 1, arbitrary: fc.constantFrom("stop", "@Longhand stop", "todos", "@longhand reset context") },
    ),
  });

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Everybody says what they say, some of it at the same time; until every message has its outcome. */
async function simulate(s: Scheduler, story: readonly Said[], atOnce: number) {
  const clock = new SimulatedClock();
  const store = openMemory();
  const simulated = new SimulatedModel(s, clock);
  const gateway = createGateway({
    store: scheduled(store, s),
    resolveModel: () => ({
      ok: true,
      model: model({ api: "openai-chat", id: "simulated", baseUrl: "http://127.0.0.1:9/v1" }),
    }),
    defaultModel: "simulated",
    tools: simulated.tools,
    fetch: simulated.fetch,
    clock,
    limits: { leaseMs: 3600_000 },
    holder: "simulated",
  });
  const chats = [...new Set(story.map(({ chat }) => chat))];
  await drive(s, clock, prepare(gateway, chats));
  const ids: string[] = [];
  const queue = story.values();
  const speaking = Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const { chat, sender, words } of queue) {
        await s.schedule(Promise.resolve(), "somebody speaks");
        const result = await gateway.submitChat(`chat${chat}`, {
          content: words,
          msg_metadata: {
            source: "http",
            sender_id: `http:${sender}`,
            sender_type: "human",
            sender_display_name: `Sender ${sender}`,
          },
        });
        if (result.status !== "stored") throw new Error(`not stored: ${JSON.stringify(result)}`);
        ids.push(result.answer.message_id);
      }
    }),
  );
  await drive(s, clock, speaking);
  await drive(s, clock, everythingEnded(store, chats));
  const stopping = gateway.stop(0);
  await drive(s, clock, stopping);
  return { store, simulated, chats, ids };
}

async function prepare(gateway: Gateway, chats: readonly number[]): Promise<void> {
  await gateway.start();
  for (const chat of chats) {
    const result = await gateway.registerChat({
      jid: `chat${chat}`,
      system_prompt: `chat${chat}`,
      while_busy: modeOf(chat),
      quiet_ms: chat % 8 >= 4 ? 400 : 0,
    });
    if (result.status !== "ok") throw new Error(JSON.stringify(result));
  }
}

function modeOf(chat: number): Mode {
  return MODES[chat % MODES.length] ?? "steer";
}

/** Resolves when nothing waits any more; asked of the store itself, past the scheduler. */
async function everythingEnded(store: Store, chats: readonly number[]): Promise<void> {
  for (const chat of chats) {
    const query = { chat_jid: `chat${chat}`, outcome: "pending", after_seq: 0, limit: 1 } as const;
    while ((await store.read.inbounds(query)).length > 0 || (await working(store, chat))) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function working(store: Store, chat: number): Promise<boolean> {
  const lane = `turn:${JSON.stringify([`chat${chat}`, ""])}`;
  return (await store.read.work("turn", lane, 1)).length > 0;
}

/** Let things happen until the promise is kept. Time passes when nothing else can. */
async function drive<T>(s: Scheduler, clock: SimulatedClock, until: Promise<T>): Promise<T> {
  let over = false;
  let idle = 0;
  const ended = until.finally(() => {
    over = true;
  });
  ended.catch(() => {});
  while (!over) {
    if (s.count() > 0) {
      await s.waitNext(1);
      idle = 0;
      continue;
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (s.count() > 0 || ++idle < 5) continue;
    if (clock.elapsed > TOO_LONG_MS) throw new Error("stranded: a day passed and nothing happened");
    clock.advance();
    idle = 0;
  }
  return ended;
}

const ENDED_WELL = new Set([
  "answered",
  "collected",
  "steered",
  "superseded",
  "stopped",
  "command",
  "ambient",
]);

/** What must be true of every chat once all is quiet. */
async function check({ store, simulated, chats, ids }: Awaited<ReturnType<typeof simulate>>) {
  expect(simulated.overlaps, "two turns of one chat at once").toEqual([]);
  expect(new Set(simulated.notes).size, "a note taken twice for one call").toBe(simulated.notes.length);
  expect(new Set(ids).size, "every message has its own id").toBe(ids.length);
  let counted = 0;
  for (const chat of chats) {
    const jid = `chat${chat}`;
    const inbounds = await store.read.inbounds({
      chat_jid: jid,
      outcome: null,
      after_seq: 0,
      limit: 1_000_000,
    });
    counted += inbounds.length;
    for (const inbound of inbounds) expect(ENDED_WELL, JSON.stringify(inbound)).toContain(inbound.outcome);
    await checkTurns(store, jid);
    await checkOrder(store, jid);
    checkPrefixes(simulated.requests.get(jid) ?? []);
  }
  expect(counted, "messages lost").toBe(ids.length);
}

/** Turns of a chat follow each other: one ends before the next begins. */
async function checkTurns(store: Store, jid: string): Promise<void> {
  const events = await store.read.events({ after: null, chat_jid: jid, limit: 1_000_000 });
  const turns = events.filter(({ type }) => type === "turn.started" || type === "turn.ended");
  turns.forEach((event, index) => {
    expect(event.type, `${jid}: turn event ${index}`).toBe(index % 2 === 0 ? "turn.started" : "turn.ended");
  });
  expect(turns.length % 2, `${jid}: a turn still runs`).toBe(0);
}

/** Messages without a prefix come on the tree in the order in which they were accepted. */
async function checkOrder(store: Store, jid: string): Promise<void> {
  const entries = await store.read.entries(jid, 1_000_000);
  const seqs: number[] = [];
  const taken = new Set<string>();
  for (const { message_id } of entries) {
    if (message_id === null) continue;
    expect(taken, `${jid}: ${message_id} twice on the tree`).not.toContain(message_id);
    taken.add(message_id);
    const row = await store.read.message(jid, message_id);
    const inbound = await store.read.inbound(jid, message_id);
    if (row && inbound?.admission === "run" && readPrefix(row.content.slice("@longhand".length)) === null)
      seqs.push(row.seq);
  }
  expect(seqs, `${jid}: out of order`).toEqual([...seqs].sort((a, b) => a - b));
}

/** Until the context was reset, each request says what the one before it said, and more. */
function checkPrefixes(requests: readonly Body["messages"][]): void {
  requests.forEach((messages, index) => {
    const before = requests[index - 1];
    if (!before || messages.length < before.length) return;
    const shared = JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before);
    const fresh = messages.filter(({ role }) => role === "assistant").length === 0;
    expect(shared || fresh, "a request does not extend the one before it").toBe(true);
  });
}

describe("a busy server", () => {
  it("keeps order, loses nothing and strands nobody, in whatever order things happen", {
    timeout: 3_600_000,
  }, async () => {
    const runs = LONG ? 5000 : 60;
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(said(4, 5), { minLength: 1, maxLength: 14 }),
        fc.integer({ min: 1, max: 5 }),
        async (s, story, atOnce) => check(await simulate(s, story, atOnce)),
      ),
      { numRuns: runs, ...(process.env.SEED ? { seed: Number(process.env.SEED) } : {}) },
    );
    console.info(`simulation: ${runs} interleavings of up to 14 messages, 0 stranded, 0 lost`);
  });

  it("answers a hundred chats and sixty-four senders, all at once", { timeout: 3_600_000 }, async () => {
    const count = LONG ? 10_000 : 300;
    const chats = LONG ? 100 : 24;
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    console.info(`simulation: ${count} messages of 64 senders in ${chats} chats, SEED=${seed}`);
    const [world] = fc.sample(
      fc.tuple(
        fc.scheduler(),
        fc.array(said(chats, 64), { minLength: count, maxLength: count, size: "max" }),
      ),
      {
        seed,
        numRuns: 1,
      },
    );
    if (!world) throw new Error("nothing was made");
    const [s, story] = world;
    await check(await simulate(s, story, 16));
  });
});
