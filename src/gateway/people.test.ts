import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { IngestAnswer, Person } from "../message/index.js";
import { resolveModel } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import type { Store, Work } from "../store/store.js";
import { systemClock } from "./clock.js";
import { createGateway, type Gateway } from "./gateway.js";
import { withPeople } from "./people.js";
import { turnLane } from "./turnLane.js";

let gateway: Gateway;
let store: Store;
let now: number;

/** Messages come in and nothing takes them up: what is looked at here happens before any turn. */
beforeEach(() => {
  now = Date.UTC(2026, 10, 15, 12);
  store = openMemory();
  gateway = createGateway({
    store,
    resolveModel: (name) => resolveModel(name, {}),
    defaultModel: "demo/demo",
    clock: { ...systemClock, now: () => now, steady: () => now },
  });
});

type Said = Record<string, unknown> & { attachments?: unknown };

async function say(
  content: string,
  from: Said = {},
  way: "submit" | "passive" = "submit",
): Promise<IngestAnswer> {
  const { attachments, ...more } = from;
  const msg_metadata = {
    source: "slack",
    sender_id: "slack:U1",
    sender_display_name: "Olivia",
    sender_type: "human",
    ...more,
  };
  const body = { content, msg_metadata, ...(attachments ? { attachments } : {}) };
  const result = await (way === "submit"
    ? gateway.submitChat("team", body)
    : gateway.storePassiveMessage("team", body));
  if (result.status !== "stored") throw new Error(JSON.stringify(result));
  return result.answer;
}
const told = async (...given: Parameters<typeof say>): Promise<string> => {
  const { admission, reason } = await say(...given);
  return `${admission}: ${reason}`;
};
async function register(settings: Record<string, unknown> = {}): Promise<void> {
  const result = await gateway.registerChat({ jid: "team", ...settings });
  if (result.status !== "ok") throw new Error(JSON.stringify(result));
}
async function add(body: Record<string, unknown>): Promise<Person> {
  const result = await gateway.addPerson(body);
  if (result.status !== "ok") throw new Error(JSON.stringify(result));
  return result.person;
}
const work = (thread = ""): Promise<Work[]> => store.read.work("turn", turnLane("team", thread), 100);
const hostRows = async (): Promise<string[]> =>
  (await gateway.getMessagesSince("team", 0))
    .filter((row) => row.sender === "host")
    .map((row) => row.content);
const untaken = async (): Promise<string[]> =>
  (await store.read.untaken("team", "", 100)).map((row) => row.content);
const WHATSAPP = { source: "whatsapp", sender_id: "whatsapp:45" };
const BOT = { sender_id: "slack:B1", sender_display_name: "Build", sender_type: "bot" };

describe("a chat where calls stick", () => {
  beforeEach(() => register({ trigger: "sticky", sticky_s: 60 }));

  it("goes on answering the one who called, for as long as it says", async () => {
    expect(await told("and you?")).toBe("ambient: no trigger");
    expect(await told("@Longhand hi")).toBe("run: name");
    now += 59_000;
    expect(await told("and then?")).toBe("run: sticky");
    expect(await told("me too", { sender_id: "slack:U2" })).toBe("ambient: no trigger");
    now += 2000;
    expect(await told("still there?")).toBe("ambient: no trigger");
  });

  it("goes by when messages came in, not by what they say about the time", async () => {
    const call = { content: "@Longhand hi", timestamp: "2020-01-01T00:00:00Z" };
    const from = {
      source: "slack",
      sender_id: "slack:U1",
      sender_display_name: "Olivia",
      sender_type: "human",
    };
    await gateway.submitChat("team", { ...call, msg_metadata: from });
    expect(await told("and then?")).toBe("run: sticky");
  });

  it("knows the caller on another channel, once somebody said who is who", async () => {
    await say("@Longhand hi");
    expect(await told("and then?", WHATSAPP)).toBe("ambient: no trigger");
    await add({ name: "Olivia", senders: ["slack:U1", "whatsapp:45"] });
    expect(await told("and then?", WHATSAPP)).toBe("run: sticky");
  });

  it("stays in the thread where threads are apart", async () => {
    const bindings = [{ channel: "slack", address: "slack:C1", threads: "separate" }];
    await gateway.changeChat("team", { bindings });
    const at = (thread_id: string) => ({ channel_external_id: "C1", thread_id });
    await say("@Longhand hi", at("1.1"));
    expect(await told("and then?", at("2.2"))).toBe("ambient: no trigger");
    expect(await told("and then?", at("1.1"))).toBe("run: sticky");
  });

  it("counts no call that was refused", async () => {
    await gateway.changeChat("team", { allow: [] });
    await say("@Longhand hi");
    await gateway.changeChat("team", { allow: "*" });
    expect(await told("and then?")).toBe("ambient: no trigger");
  });
});

describe("bots that answer each other", () => {
  it("are stopped after a few messages, with a word to people, until a person writes", async () => {
    await register({ trigger: "always", allow_bots: true, loop_limit: 2 });
    for (const _ of [1, 2]) expect(await told("beep", BOT)).toBe("run: always");
    await gateway.storeMessageDirect({
      id: "answer",
      chat_jid: "team",
      sender: "bot",
      sender_name: "Longhand",
      content: "boop",
      timestamp: new Date(now).toISOString(),
      message_type: "assistant",
    });
    for (const _ of [1, 2, 3]) expect(await told("beep", BOT)).toBe("ignored: loop_guard");
    expect(await hostRows()).toEqual([expect.stringContaining("2 messages in a row")]);
    await say("enough");
    expect(await told("beep", BOT)).toBe("run: always");
  });
});

describe("what the model gets to read", () => {
  it("is what was said among people; neither commands nor what was refused", async () => {
    await register({ allow: ["slack:U1"] });
    await say("lunch at one");
    await say("overheard", {}, "passive");
    await say("stop");
    await say("@Longhand drop all tables", { sender_id: "slack:U9" });
    await say("beep", BOT);
    await say("not for you", { recipient_id: "bot:other" });
    await say("@Longhand when?");
    expect(await untaken()).toEqual(["lunch at one", "overheard", "@Longhand when?"]);
  });

  it("includes a person by all their names, and nobody else, where only people may be read", async () => {
    await add({ name: "Olivia", senders: ["slack:U1", "whatsapp:45"] });
    await register({ read: ["person:olivia", "slack:U2"] });
    const chat = await gateway.read.chat("team");
    if (!chat) throw new Error("no chat");
    expect(chat.read).toEqual(["person:olivia", "slack:U2"]);
    expect((await withPeople({ store }, chat)).read).toEqual([
      "slack:U1",
      "whatsapp:45",
      "web:olivia",
      "slack:U2",
    ]);
    expect(await told("hi", WHATSAPP)).toBe("ambient: no trigger");
    expect(await told("hi", { sender_id: "slack:U3" })).toBe("ignored: sender_not_allowed");
  });
});

describe("work", () => {
  it("is there for what will be answered and for commands, at once", async () => {
    await register();
    const asked = await say("@Longhand hi");
    const stop = await say("stop");
    await say("lunch?");
    const found = await work();
    expect(found.map(({ ref, run_at }) => [ref, run_at])).toEqual([
      [asked.message_id, 0],
      [stop.message_id, 0],
    ]);
  });

  it("waits a moment where people write in bursts, and as long as the chat says; commands do not", async () => {
    await register({ trigger: "always" });
    await say("one", WHATSAPP);
    await say("stop", WHATSAPP);
    await gateway.changeChat("team", { quiet_ms: 0 });
    await say("two", WHATSAPP);
    await gateway.changeChat("team", { quiet_ms: 1500 });
    await say("three");
    expect((await work()).map(({ run_at }) => run_at)).toEqual([now + 400, 0, 0, now + 1500]);
  });
});

describe("a budget", () => {
  const spending = {
    calls: 1,
    unpriced: 0,
    input_tokens: 500,
    output_tokens: 100,
    cache_read_tokens: 300,
    cache_write_tokens: 100,
    usd: 2,
  };
  const spend = (account: string, day = "2026-11-15") =>
    store.commit({ facts: [{ type: "spent", account, day, spending }] });

  it.each([
    ["usd_per_day", 2],
    ["tokens_per_day", 1000],
  ])("of a chat is kept (%s), and the refusal is told", async (limit, most) => {
    await register({ trigger: "always", budget: { [limit]: most } });
    expect(await told("hi")).toBe("run: always");
    await spend("chat:team");
    const refused = await say("hi again");
    expect(refused).toMatchObject({ admission: "ignored", reason: "over_budget" });
    expect(await gateway.outcome("team", refused.message_id)).toMatchObject({
      outcome: "over_budget",
      reason: expect.stringContaining(String(most)),
    });
    expect(await hostRows()).toEqual([expect.stringMatching(/^Not answered: .*budget/)]);
    now += 24 * 3_600_000;
    expect(await told("good morning")).toBe("run: always");
  });

  it("of a person is one for all their names, and nobody else's", async () => {
    await register({ trigger: "always", budget: { usd_per_person_per_day: 2 } });
    await add({ name: "Olivia", senders: ["slack:U1", "whatsapp:45"] });
    await spend("person:olivia");
    expect(await told("hi")).toBe("ignored: over_budget");
    expect(await told("hi", WHATSAPP)).toBe("ignored: over_budget");
    expect(await told("hi", { sender_id: "slack:U2" })).toBe("run: always");
  });

  it("begins anew at midnight where the chat is", async () => {
    await register({ trigger: "always", time_zone: "Pacific/Auckland", budget: { usd_per_day: 2 } });
    await spend("chat:team", "2026-11-15");
    expect(await told("it is the 16th here")).toBe("run: always");
    await spend("chat:team", "2026-11-16");
    expect(await told("hi")).toBe("ignored: over_budget");
  });
});

describe("people", () => {
  it("get a short name of their own, and the sender id of their link", async () => {
    expect(await add({ name: "Zoë Müller" })).toMatchObject({
      id: "zoe-muller",
      senders: ["web:zoe-muller"],
    });
    expect(await add({ name: "Zoë Müller" })).toMatchObject({ id: "zoe-muller-2" });
    expect(await add({ name: "李" })).toMatchObject({ id: "person" });
  });

  it("are refused with a path and a reason when something about them cannot be", async () => {
    expect(
      await gateway.addPerson({ name: "", senders: ["slack:U1", "olivia", "host", "person:max"] }),
    ).toMatchObject({
      status: "invalid",
      errors: [{ path: "name" }, { path: "senders[1]" }, { path: "senders[2]" }, { path: "senders[3]" }],
    });
    expect(await gateway.addPerson({ name: "Olivia", id: "O L" })).toMatchObject({
      errors: [{ path: "id" }],
    });
    expect(await gateway.addPerson({ name: "Olivia", phone: 1 })).toMatchObject({ status: "invalid" });
    await add({ name: "Olivia", senders: ["slack:U1"] });
    expect(await gateway.addPerson({ name: "Max", senders: ["slack:U1"] })).toMatchObject({
      status: "conflict",
    });
    expect(await gateway.addPerson({ name: "Max", senders: ["web:olivia"] })).toMatchObject({
      status: "conflict",
    });
    expect(await gateway.addPerson({ id: "olivia", name: "Other" })).toMatchObject({ status: "conflict" });
    expect((await gateway.read.people()).map(({ name }) => name)).toEqual(["Olivia"]);
  });

  it("can be changed and removed; what they said stays", async () => {
    await register();
    await say("hi");
    await add({ name: "Olivia", senders: ["slack:U1"] });
    await gateway.changePerson("olivia", { senders: ["whatsapp:45"] });
    expect(await gateway.person("olivia")).toMatchObject({ senders: ["whatsapp:45", "web:olivia"] });
    expect(await gateway.changePerson("nobody", { name: "x" })).toEqual({ status: "unknown" });
    expect(await gateway.removePerson("olivia")).toBe(true);
    expect(await gateway.removePerson("olivia")).toBe(false);
    expect(await gateway.read.personOf("whatsapp:45")).toBeNull();
    expect(await gateway.getMessagesSince("team", 0)).toHaveLength(1);
  });
});

describe("a person who was removed", () => {
  it("is in no chat's list any more, and a list that is empty then lets nobody in", async () => {
    await add({ name: "Olivia", senders: ["slack:U1"] });
    await add({ name: "Ben" });
    await register({
      trigger: "always",
      allow: ["person:olivia"],
      shell_allow: ["person:olivia", "person:ben"],
    });
    await gateway.registerChat({ jid: "open", read: ["slack:U9", "person:olivia"] });
    expect(await told("hi")).toBe("run: always");
    expect(await gateway.removePerson("olivia")).toBe(true);
    const team = await gateway.read.chat("team");
    expect([team?.allow, team?.read, team?.shell_allow]).toEqual([[], "*", ["person:ben"]]);
    expect((await gateway.read.chat("open"))?.read).toEqual(["slack:U9"]);
    expect(await told("hi")).toBe("ignored: sender_not_allowed");
    expect(await told("hi", { sender_id: "slack:U9" })).toBe("ignored: sender_not_allowed");
  });

  it("leaves neither rights nor spending to somebody of the same name", async () => {
    await add({ name: "Olivia" });
    await register({ allow: ["person:olivia", "web:olivia"] });
    await gateway.removePerson("olivia");
    expect(await gateway.addPerson({ id: "olivia", name: "Olivia" })).toMatchObject({
      status: "conflict",
      why: expect.stringContaining("not given again"),
    });
    const other = await add({ name: "Olivia", senders: ["slack:U2"] });
    expect(other).toMatchObject({ id: "olivia-2", senders: ["slack:U2", "web:olivia-2"] });
    expect(await told("@Longhand hi", { sender_id: "slack:U2" })).toBe("ignored: sender_not_allowed");
  });

  it("cannot be named by a chat that was being changed when they were removed", async () => {
    await add({ name: "Olivia" });
    await register({ allow: [] });
    let isFirst = true;
    const overtaken: Store = {
      ...store,
      commit: async (batch) => {
        const wasFirst = isFirst;
        isFirst = false;
        if (wasFirst) await gateway.removePerson("olivia");
        return store.commit(batch);
      },
    };
    const other = createGateway({
      store: overtaken,
      resolveModel: (name) => resolveModel(name, {}),
      defaultModel: "demo/demo",
    });
    const changed = await other.changeChat("team", { allow: ["person:olivia"] });
    expect(changed).toMatchObject({ status: "invalid", errors: [{ path: "allow[0]" }] });
    expect((await gateway.read.chat("team"))?.allow).toEqual([]);
  });

  it("is not named by a chat that was changed in the same moment", async () => {
    for (let round = 0; round < 20; round++) {
      const { id } = await add({ name: "Olivia" });
      const jid = `chat${round}`;
      await gateway.registerChat({ jid, allow: [] });
      const allow = { allow: [`person:${id}`] };
      await Promise.all([
        gateway.changeChat(jid, allow),
        gateway.removePerson(id),
        gateway.changeChat(jid, allow),
      ]);
      expect((await gateway.read.chat(jid))?.allow).toEqual([]);
    }
  });
});

describe("changes at the same time", () => {
  it("to different settings of a chat are all kept", async () => {
    await register();
    await Promise.all(
      [{ name: "Team" }, { quiet_ms: 5 }, { sticky_s: 7 }, { assistant_name: "Ada" }].map((patch) =>
        gateway.changeChat("team", patch),
      ),
    );
    expect(await gateway.read.chat("team")).toMatchObject({
      name: "Team",
      quiet_ms: 5,
      sticky_s: 7,
      assistant_name: "Ada",
    });
  });

  it("to a person are all kept, and one id is given to one of those who ask for it", async () => {
    const asked = await Promise.all(["A", "B"].map((name) => gateway.addPerson({ id: "olivia", name })));
    expect(asked.map(({ status }) => status).sort()).toEqual(["conflict", "ok"]);
    const named = await Promise.all([add({ name: "Ben" }), add({ name: "Ben" }), add({ name: "Ben" })]);
    expect(named.map(({ id }) => id).sort()).toEqual(["ben", "ben-2", "ben-3"]);
    await Promise.all([
      gateway.changePerson("ben", { name: "Benjamin" }),
      gateway.changePerson("ben", { senders: ["slack:U7"] }),
    ]);
    expect(await gateway.person("ben")).toMatchObject({ name: "Benjamin", senders: ["slack:U7", "web:ben"] });
  });
});

describe("settings that cannot be right", () => {
  it.each([
    [{ trigger: { pattern: "(" } }, "trigger.pattern", "RE2"],
    [{ trigger: { pattern: "(?=x)" } }, "trigger.pattern", "look-around"],
    [{ trigger: { pattern: "((a{10}){10}){10}" } }, "trigger.pattern", "1000"],
    [{ allow: ["olivia"] }, "allow[0]", "sender id"],
    [{ read: ["person:Olivia"] }, "read[0]", "person:olivia"],
    [{ allow: ["slack:U1", "person:nobody"] }, "allow[1]", "no person"],
    [{ shell_allow: ["person:nobody"] }, "shell_allow[0]", "no person"],
    [{ quiet_ms: -1 }, "quiet_ms", ""],
    [{ loop_limit: 0 }, "loop_limit", ""],
    [{ sticky_s: 1.5 }, "sticky_s", ""],
    [{ while_busy: "panic" }, "while_busy", "steer"],
    [{ time_zone: "Mars" }, "time_zone", "time zone"],
    [{ budget: { usd_per_day: -1 } }, "budget.usd_per_day", ""],
    [{ colour: "red" }, "colour", ""],
  ])("are refused by name: %j", async (settings, path, words) => {
    await register();
    for (const result of [
      await gateway.registerChat({ jid: "other", ...settings }),
      await gateway.changeChat("team", settings),
    ]) {
      expect(result).toMatchObject({
        status: "invalid",
        errors: [{ path, reason: expect.stringContaining(words) }],
      });
    }
  });
});

it("takes in whatever people, bots and programs say under whatever settings, with a reason for each", async () => {
  await register();
  await add({ name: "Olivia", senders: ["slack:U1", "whatsapp:45"] });
  const lists = fc.constantFrom("*", [], ["person:olivia"], ["slack:U1", "slack:B1"]);
  const settings = fc.record({
    trigger: fc.constantFrom("always", "mention", "sticky", { pattern: "^(hey|ho)+$" }),
    allow: lists,
    read: lists,
    allow_bots: fc.boolean(),
    loop_limit: fc.integer({ min: 1, max: 2 }),
    sticky_s: fc.integer({ min: 0, max: 100 }),
    quiet_ms: fc.constantFrom(null, 0, 50),
    budget: fc.constantFrom({}, { usd_per_day: 0 }, { usd_per_person_per_day: 0 }, { tokens_per_day: 9 }),
    bindings: fc.constantFrom([], [{ channel: "slack", address: "slack:C1", threads: "separate" }]),
  });
  const from = fc.record(
    {
      sender_id: fc.constantFrom("slack:U1", "slack:B1", "whatsapp:45", "tui-user"),
      sender_type: fc.constantFrom("human", "bot"),
      thread_id: fc.constantFrom("1", "2", null),
      channel_external_id: fc.constantFrom("C1", "", null),
      reply_to: fc.constantFrom("x", "", null),
      recipient_id: fc.constantFrom("bot:longhand", "bot:other", null),
      passive: fc.constantFrom(true, false, null),
    },
    { requiredKeys: ["sender_id"] },
  );
  const words = fc.constantFrom(
    "@Longhand hi",
    "stop",
    "!ls",
    "hey",
    "\u0000x",
    "\u202e",
    "model",
    " ",
    "🤖",
  );
  await fc.assert(
    fc.asyncProperty(settings, fc.array(fc.tuple(words, from), { maxLength: 4 }), async (given, messages) => {
      expect(await gateway.changeChat("team", given)).toMatchObject({ status: "ok" });
      for (const [content, metadata] of messages) {
        now += 20_000;
        const msg_metadata = { source: "slack", sender_display_name: "X", sender_type: "human", ...metadata };
        const result = await gateway.submitChat("team", { content, msg_metadata });
        if (content.includes("\u0000")) expect(result.status).toBe("invalid");
        else
          expect(result).toMatchObject({ status: "stored", answer: { reason: expect.stringMatching(/./) } });
      }
    }),
    { numRuns: process.env.LONGHAND_LONG ? 2000 : 100 },
  );
});
