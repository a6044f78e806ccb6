import { held, openHome, useHeldModel } from "../testing/heldHome.js";
import { describe, expect, it } from "vitest";
import { heldTool } from "../testing/heldTool.js";
import { ASH, OLIVIA, Talk, until } from "../testing/talk.js";
import type { GatewayOptions } from "./gateway.js";

useHeldModel();
const open = (settings: Record<string, unknown> = {}, options: Partial<GatewayOptions> = {}) =>
  openHome(settings, { limits: { leaseMs: 2000, saveEveryMs: 5 }, ...options });

describe("what is said while a turn runs", () => {
  it("a btw while a tool runs is read after the tool's result, in the same turn", async () => {
    const dig = heldTool();
    const { home } = await open({ while_busy: "queue" }, { tools: [dig.tool] });
    const asked = await home.say("dig here");
    (await held.next()).use("dig");
    await dig.started();
    const steered = await home.say("BTW the left corner", ASH);
    dig.end();
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "tool", "user"]);
    expect(second.heard).toEqual(["[Olivia]: dig here", "[Ash]: BTW the left corner"]);
    second.say("A coin, in the left corner.");
    const [answered, joined] = [await home.ended(asked), await home.ended(steered)];
    expect([answered.outcome, joined.outcome]).toEqual(["answered", "steered"]);
    expect(joined.turn_id).toBe(answered.turn_id);
    expect(joined.call_ids).toEqual(answered.call_ids);
    expect(held.calls).toHaveLength(2);
  });

  it("without a prefix it steers by default, and a model call is a boundary too", async () => {
    const { home } = await open();
    const asked = await home.say("one?");
    const first = await held.next();
    const more = await home.say("and two?", ASH);
    first.say("One.");
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "user"]);
    second.say("Two.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.outcome(more)).toBe("steered");
    expect(await home.answers()).toEqual(["One.", "Two."]);
    const turns = new Set((await home.rows("bot")).map((row) => row.turn_id));
    expect(turns.size).toBe(1);
  });

  it("what others say without calling the assistant stands before the message that does", async () => {
    const { gateway } = await open();
    await gateway.registerChat({ jid: "team" });
    const team = new Talk(gateway, "team");
    await team.say("@longhand one?");
    const first = await held.next();
    await team.say("the train is late", ASH);
    await team.say("@longhand and two?");
    await team.say("by an hour", ASH);
    first.say("One.");
    const second = await held.next();
    expect(second.heard).toEqual([
      "[Olivia]: one?",
      "[Ash]: the train is late",
      "[Ash]: by an hour",
      "[Olivia]: and two?",
    ]);
    second.say("Two.");
  });

  it("nothing that is said stands between a tool call and its result, however many tools run", async () => {
    const dig = heldTool();
    const { home, store } = await open({}, { tools: [dig.tool] });
    const asked = await home.say("dig twice");
    const first = await held.next();
    await home.say("before it knew where", ASH);
    first.use("dig", "dig");
    await dig.started(2);
    await home.say("here", ASH);
    await home.say("and there", ASH);
    dig.end();
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "tool", "tool", "user", "user", "user"]);
    second.say("Done.");
    expect(await home.outcome(asked)).toBe("answered");
    const path = await store.read.path("home", (await store.read.head("home", "")) ?? "", 100);
    const tools = ["tool_use", "tool_use", "tool_result", "tool_result"];
    const senders = ["slack:U1", ...tools, "slack:U2", "slack:U2", "slack:U2", "bot"];
    expect(path.map((entry) => entry.message?.sender)).toEqual(senders);
  });

  it("a todo waits its turn and is on the list until then", async () => {
    const { home } = await open();
    const asked = await home.say("one?");
    const first = await held.next();
    const todo = await home.say("todo water the plants", ASH);
    expect(await home.command("todos")).toContain("1. Ash: todo water the plants");
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    const second = await held.next();
    expect(await home.command("todos")).toBe("Nothing is on the list.");
    expect(second.heard.at(-1)).toBe("[Ash]: todo water the plants");
    expect(await home.soFar(todo)).toBe("pending");
    second.say("Watered.");
    const ended = await home.ended(todo);
    expect(ended.outcome).toBe("answered");
    expect(ended.turn_id).not.toBe((await home.ended(asked)).turn_id);
  });

  it("a queued message is invisible to the model until its turn", async () => {
    const { home } = await open({ while_busy: "queue" });
    const asked = await home.say("one?");
    const first = await held.next();
    const queued = await home.say("and two?");
    const third = await home.say("and three?");
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    const second = await held.next();
    expect(second.heard).toEqual(["[Olivia]: one?", "[Olivia]: and two?"]);
    second.say("Two.");
    expect(await home.outcome(queued)).toBe("answered");
    (await held.next()).say("Three.");
    expect(await home.outcome(third)).toBe("answered");
    expect(held.calls).toHaveLength(3);
  });

  it("collected: all that waits becomes one turn, of which the newest message gets the answer", async () => {
    const { home } = await open({ while_busy: "collect" });
    const asked = await home.say("one?");
    const first = await held.next();
    const [two, three] = [await home.say("two?", ASH), await home.say("three?")];
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    const second = await held.next();
    expect(second.heard.slice(-2)).toEqual(["[Ash]: two?", "[Olivia]: three?"]);
    second.say("Two and three.");
    const [collected, answered] = [await home.ended(two), await home.ended(three)];
    expect([collected.outcome, answered.outcome]).toEqual(["collected", "answered"]);
    expect(collected.turn_id).toBe(answered.turn_id);
    expect(collected.turn_id).not.toBeNull();
  });

  it("a steer that found no boundary becomes the next turn", async () => {
    const { home, gateway } = await open();
    const asked = await home.say("one?");
    const first = await held.next();
    first.begin("On");
    // It has joined nothing by the time the turn is stopped: what it wanted is still wanted.
    const steered = await home.say("btw two?", ASH);
    await gateway.stopTurn("home");
    expect(await home.outcome(asked)).toBe("stopped");
    const second = await held.next();
    expect(second.heard.at(-1)).toBe("[Ash]: btw two?");
    second.say("Two.");
    expect(await home.outcome(steered)).toBe("answered");
  });

  it("a message that was deleted while it waited to join is not read, and costs no call", async () => {
    const { home, gateway } = await open();
    const asked = await home.say("one?");
    const first = await held.next();
    const steered = await home.say("never mind", ASH);
    await gateway.revise("home", steered, null);
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.ended(steered)).toMatchObject({
      outcome: "ignored",
      reason: "deleted before it was answered",
    });
    expect(held.calls).toHaveLength(1);
  });

  it("people who keep talking do not keep one turn going for ever", async () => {
    const { home } = await open();
    const ids = [await home.say("question 0")];
    for (let count = 1; count <= 10; count++) {
      const call = await held.next();
      ids.push(await home.say(`question ${count}`));
      call.say(`answer ${count}`);
    }
    (await held.next()).say("the last answer");
    const ended = await Promise.all(ids.map((id) => home.ended(id)));
    expect(new Set(ended.map(({ turn_id }) => turn_id)).size).toBe(2);
    expect(ended.map(({ outcome }) => outcome)).not.toContain("pending");
    expect(held.calls).toHaveLength(11);
  });
});

describe("stop", () => {
  it("as a whole message ends the answer; what was said stays and is marked", async () => {
    const { home } = await open();
    const asked = await home.say("tell me a story");
    const call = await held.next();
    call.begin("Once upon a time");
    await until(async () => (await home.rows()).length > 0);
    const stopped = await home.say("@Longhand STOP", ASH);
    expect(await home.outcome(stopped)).toBe("command");
    expect(await home.outcome(asked)).toBe("stopped");
    await until(() => call.gone);
    expect(await home.news()).toEqual(["Stopped."]);
    const next = home.say("and then?");
    const second = await held.next();
    expect(second.heard).toEqual(["[Olivia]: tell me a story", "[Olivia]: and then?"]);
    second.say("The end.");
    await home.outcome(await next);
    const cut = (await home.rows("bot")).filter((row) => row.metadata.cut === true);
    for (const row of cut) expect("Once upon a time".startsWith(row.content)).toBe(true);
  });

  it("keeps the words people saw, and the model reads them as cut", async () => {
    const { home, store } = await open();
    const asked = await home.say("tell me a story");
    (await held.next()).begin("Once upon a time");
    await until(async () => {
      const [call] = await store.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 1 });
      return call && (await store.read.partial(call.id)).length > 0;
    });
    await home.say("stop");
    expect(await home.outcome(asked)).toBe("stopped");
    const [row] = await home.rows("bot");
    expect(row).toMatchObject({ content: "Once upon a time", metadata: { cut: true } });
    const next = await home.say("and then?");
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(second.messages)).toContain("Once upon a time");
    second.say("The end.");
    expect(await home.outcome(next)).toBe("answered");
  });

  it("is a word like any other in a longer message", async () => {
    const { home } = await open({ while_busy: "queue" });
    const asked = await home.say("one?");
    const first = await held.next();
    const more = await home.say("stop at the shop");
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    (await held.next()).say("I will.");
    expect(await home.outcome(more)).toBe("answered");
  });

  it("lets what waits behind it go on", async () => {
    const { home } = await open({ while_busy: "queue" });
    const asked = await home.say("one?");
    await held.next();
    const queued = await home.say("two?");
    await home.say("stop");
    expect(await home.outcome(asked)).toBe("stopped");
    (await held.next()).say("Two.");
    expect(await home.outcome(queued)).toBe("answered");
  });

  it("reaches a tool that runs: it is told to stop, and the model hears that it was", async () => {
    const dig = heldTool();
    const { home } = await open({}, { tools: [dig.tool] });
    const asked = await home.say("dig");
    (await held.next()).use("dig");
    await dig.started();
    await home.say("stop");
    expect(await home.outcome(asked)).toBe("stopped");
    const next = await home.say("what happened?");
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "tool", "user"]);
    expect(JSON.stringify(second.messages)).toContain("may or may not have taken effect");
    second.say("I was stopped.");
    expect(await home.outcome(next)).toBe("answered");
  });

  it("says so when nothing runs", async () => {
    const { home } = await open();
    expect(await home.command("stop")).toBe("Nothing is running.");
  });
});

it("two people of one chat are answered one at a time; two chats at the same time", async () => {
  const { home, gateway } = await open({ while_busy: "queue" });
  await gateway.registerChat({ jid: "other", trigger: "always" });
  const other = new Talk(gateway, "other");
  const ids = [await home.say("one?", OLIVIA), await home.say("two?", ASH)];
  const elsewhere = await other.say("three?");
  const calls = [await held.next(), await held.next()];
  expect(calls.map((call) => call.heard.at(-1)).sort()).toEqual(["[Olivia]: one?", "[Olivia]: three?"]);
  for (const call of calls) call.say("Yes.");
  (await held.next()).say("Yes.");
  for (const id of ids) expect(await home.outcome(id)).toBe("answered");
  expect(await other.outcome(elsewhere)).toBe("answered");
});
