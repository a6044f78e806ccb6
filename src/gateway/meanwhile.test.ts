import { held, openHome, useHeldModel } from "../testing/heldHome.js";
import { describe, expect, it } from "vitest";
import { heldTool } from "../testing/heldTool.js";
import { ASH } from "../testing/talk.js";
import type { GatewayOptions } from "./gateway.js";

useHeldModel();
const open = (settings: Record<string, unknown>, options: Partial<GatewayOptions> = {}) =>
  openHome(settings, { holder: "the same", limits: {}, ...options });

describe("what changes while a message waits", () => {
  it("somebody who may not run the assistant any more is neither answered nor read later", async () => {
    const { gateway, home } = await open({ while_busy: "queue" });
    const first = await home.say("one?");
    const call = await held.next();
    const refused = await home.say("my secret plan", ASH);
    await gateway.changeChat("home", { allow: ["slack:U1"] });
    call.say("One.");
    expect(await home.outcome(first)).toBe("answered");
    expect(await home.ended(refused)).toMatchObject({ outcome: "ignored", reason: "sender_not_allowed" });
    await home.say("two?");
    const next = await held.next();
    expect(JSON.stringify(next.messages)).not.toContain("secret plan");
    next.say("Two.");
  });

  it("somebody who is not to be read any more is not read in the rest of the turn either", async () => {
    const tool = heldTool();
    const { gateway, home } = await open({ trigger: "mention" }, { tools: [tool.tool] });
    await home.say("words of Ash", ASH);
    await home.say("@Longhand look around");
    const call = await held.next();
    expect(JSON.stringify(call.messages)).toContain("words of Ash");
    call.use("dig");
    await tool.started();
    await gateway.changeChat("home", { read: ["slack:U1"] });
    tool.end();
    const next = await held.next();
    expect(JSON.stringify(next.messages)).not.toContain("words of Ash");
    next.say("Done.");
  });

  it("who was answered is not answered again when the message that joined is deleted during a crash", async () => {
    const { gateway, home, store } = await open({});
    const first = await home.say("one?");
    const call = await held.next();
    const joined = await home.say("and two?");
    call.say("One.");
    await held.next();
    await gateway.stop(0);
    await gateway.revise("home", joined, null);
    const { home: again } = await open({}, { store });
    (await held.next()).say("Never mind.");
    expect(await again.outcome(first)).toBe("answered");
    expect(await again.ended(joined)).toMatchObject({ outcome: "ignored" });
    expect((await again.answers()).filter((words) => words === "One.")).toHaveLength(1);
  });

  it("who was answered stays so when the turn fails after a crash", async () => {
    const { gateway, home, store } = await open({});
    const first = await home.say("one?");
    const call = await held.next();
    const joined = await home.say("and two?");
    call.say("One.");
    await held.next();
    await gateway.stop(0);
    const { home: again } = await open({}, { store });
    (await held.next()).fail(400);
    expect(await again.outcome(joined)).toBe("failed");
    expect(await again.outcome(first)).toBe("answered");
  });
});

it("who is waited for to go on is answered before somebody who came later and is not waited for", async () => {
  const { home } = await open({ while_busy: "queue" });
  const slow = await home.say("first thing", { source: "whatsapp", sender_id: "whatsapp:1" });
  const quick = await home.say("second thing");
  const call = await held.next();
  expect(call.heard).toEqual(["[Olivia]: first thing"]);
  call.say("First.");
  const next = await held.next();
  expect(next.heard.at(-1)).toContain("second thing");
  next.say("Second.");
  expect([await home.outcome(slow), await home.outcome(quick)]).toEqual(["answered", "answered"]);
});

it("people are told once that a budget is spent; every message says so in its outcome", async () => {
  const { home } = await open({ budget: { tokens_per_day: 1 } });
  for (const words of ["one?", "two?", "three?"]) {
    expect(await home.outcome(await home.say(words))).toBe("over_budget");
  }
  expect(await home.news()).toHaveLength(1);
});

it("bots that all speak at once are held to the limit too", async () => {
  const { home } = await open({ allow_bots: true, loop_limit: 2, while_busy: "queue" });
  const bot = { sender_id: "slack:B1", sender_display_name: "Robot", sender_type: "bot" };
  const said = await Promise.all(["a", "b", "c", "d", "e"].map((words) => home.say(words, bot)));
  held.answerAll((call) => call.say("Hm."));
  const outcomes = await Promise.all(said.map((id) => home.outcome(id)));
  expect(outcomes.sort()).toEqual(["answered", "answered", "ignored", "ignored", "ignored"]);
});

it("a message whose id looks like an order to the server is a message, and stops nobody", async () => {
  const { gateway, home, store } = await open({ while_busy: "queue" });
  const first = await home.say("one?");
  const call = await held.next();
  const [turn] = await store.read.runningTurns("home");
  const message_id = `end_turn:${turn?.id}`;
  const msg_metadata = { source: "slack", sender_type: "human", ...ASH };
  expect(await gateway.submitChat("home", { content: "two?", message_id, msg_metadata })).toMatchObject({
    status: "stored",
  });
  call.say("One.");
  expect(await home.outcome(first)).toBe("answered");
  (await held.next()).say("Two.");
  expect(await home.outcome(message_id)).toBe("answered");
});
