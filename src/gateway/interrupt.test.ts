import { held, openHome, useHeldModel } from "../testing/heldHome.js";
import { describe, expect, it } from "vitest";
import { heldTool } from "../testing/heldTool.js";
import { ASH, Talk, until } from "../testing/talk.js";
import type { GatewayOptions } from "./gateway.js";

useHeldModel();
const open = (settings: Record<string, unknown> = {}, options: Partial<GatewayOptions> = {}) =>
  openHome(settings, { limits: { leaseMs: 2000, saveEveryMs: 5 }, ...options });

describe("a message that may cut the turn short", () => {
  const interrupting = { while_busy: "interrupt" };

  it("does so for whoever started the turn; the new turn sees both", async () => {
    const { home } = await open(interrupting);
    const asked = await home.say("the weather in Rome?");
    const first = await held.next();
    const newer = await home.say("no, in Oslo");
    await until(() => first.gone);
    const second = await held.next();
    expect(second.heard).toEqual(["[Olivia]: the weather in Rome?", "[Olivia]: no, in Oslo"]);
    second.say("Snow.");
    expect(await home.outcome(newer)).toBe("answered");
    const old = await home.ended(asked);
    expect(old.outcome).toBe("superseded");
    expect(old.turn_id).not.toBe((await home.ended(newer)).turn_id);
    expect(await home.answers()).toEqual(["Snow."]);
  });

  it("does so from another sender id of the same person", async () => {
    const { home, gateway } = await open(interrupting);
    await gateway.addPerson({ name: "Olivia", senders: ["slack:U1", "whatsapp:49"] });
    const asked = await home.say("the weather in Rome?");
    await held.next();
    await home.say("no, in Oslo", { sender_id: "whatsapp:49" });
    (await held.next()).say("Snow.");
    expect(await home.outcome(asked)).toBe("superseded");
  });

  it("does so for the owner of the account, not for anybody else: they wait", async () => {
    const { home } = await open(interrupting);
    const asked = await home.say("the weather in Rome?");
    const first = await held.next();
    const other = await home.say("and in Oslo?", ASH);
    expect(await home.command("todos")).toBe("Nothing is on the list.");
    expect(first.gone).toBe(false);
    const owner = await home.say("never mind Rome", { sender_id: "slack:U9", is_from_me: true });
    await until(() => first.gone);
    expect(await home.outcome(asked)).toBe("superseded");
    const second = await held.next();
    expect(second.heard).toHaveLength(3);
    second.say("Snow.");
    expect(await home.outcome(other)).toBe("collected");
    expect(await home.outcome(owner)).toBe("answered");
  });

  it("waits for a tool that must not be repeated", async () => {
    const dig = heldTool();
    const { home } = await open(interrupting, { tools: [dig.tool] });
    const asked = await home.say("dig");
    (await held.next()).use("dig");
    await dig.started();
    const newer = await home.say("stop digging, please");
    expect(await home.command("todos")).toBe("Nothing is on the list.");
    expect(await home.soFar(asked)).toBe("pending");
    dig.end();
    const second = await held.next();
    expect(second.roles).toEqual(["user", "assistant", "tool", "user"]);
    expect(JSON.stringify(second.messages)).toContain("found a coin");
    second.say("I have stopped.");
    expect(await home.outcome(asked)).toBe("superseded");
    expect(await home.outcome(newer)).toBe("answered");
    expect(dig.runs).toHaveLength(1);
  });

  it("does not wait for a tool that may be repeated", async () => {
    const dig = heldTool({ repeatable: true });
    const { home } = await open(interrupting, { tools: [dig.tool] });
    const asked = await home.say("dig");
    (await held.next()).use("dig");
    await dig.started();
    await home.say("stop digging, please");
    expect(await home.outcome(asked)).toBe("superseded");
    (await held.next()).say("I have stopped.");
  });

  it("after two in a row it waits, and what waits is answered together", async () => {
    const { home } = await open(interrupting);
    const ids = [await home.say("one")];
    await held.next();
    for (const words of ["two", "three"]) {
      ids.push(await home.say(words));
      await held.next();
    }
    const third = held.calls.at(-1);
    ids.push(await home.say("four"), await home.say("five"));
    expect(await home.command("todos")).toBe("Nothing is on the list.");
    expect(third?.gone).toBe(false);
    third?.say("Three.");
    (await held.next()).say("Four and five.");
    const outcomes = await Promise.all(ids.map((id) => home.outcome(id)));
    expect(outcomes).toEqual(["superseded", "superseded", "answered", "collected", "answered"]);
  });

  it("also when the turns that were cut short had not asked the model yet", async () => {
    const { home, gateway } = await open(interrupting, { limits: { calls: 1 } });
    await gateway.registerChat({ jid: "other", trigger: "always" });
    await new Talk(gateway, "other").say("this takes the only place");
    const busy = await held.next();
    const ids: string[] = [];
    const turns = new Set<string>();
    for (const words of ["one", "two", "three"]) {
      ids.push(await home.say(words));
      await until(async () => {
        const turn = await gateway.read.runningTurn("home", "");
        return turn && !turns.has(turn.id) && turns.add(turn.id);
      });
    }
    ids.push(await home.say("four"));
    await home.command("todos");
    busy.say("Now.");
    const third = await held.next();
    expect(third.heard).toHaveLength(3);
    third.say("Three.");
    (await held.next()).say("Four.");
    const outcomes = await Promise.all(ids.map((id) => home.outcome(id)));
    expect(outcomes).toEqual(["superseded", "superseded", "answered", "answered"]);
  });

  it("not when it stands behind a reset: that ends the conversation the turn is about", async () => {
    const { home } = await open(interrupting);
    const asked = await home.say("one?");
    const first = await held.next();
    const reset = await home.say("reset context");
    const later = await home.say("two?");
    await home.command("todos");
    expect(first.gone).toBe(false);
    first.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.outcome(reset)).toBe("command");
    const second = await held.next();
    expect(second.heard).toEqual(["[Olivia]: two?"]);
    second.say("Two.");
    expect(await home.outcome(later)).toBe("answered");
  });
});

describe("a burst", () => {
  it("within the quiet period becomes one turn", async () => {
    const { home } = await open({ quiet_ms: 150 });
    const ids = [await home.say("hi"), await home.say("are you there"), await home.say("?")];
    const call = await held.next();
    expect(call.heard).toEqual(["[Olivia]: hi", "[Olivia]: are you there", "[Olivia]: ?"]);
    call.say("Yes.");
    const ended = await Promise.all(ids.map((id) => home.ended(id)));
    expect(ended.map(({ outcome }) => outcome)).toEqual(["collected", "collected", "answered"]);
    expect(new Set(ended.map(({ turn_id }) => turn_id)).size).toBe(1);
    expect(held.calls).toHaveLength(1);
  });

  it("is the rule on WhatsApp without anybody asking for it", async () => {
    const { home } = await open();
    const ids = [
      await home.say("hi", { source: "whatsapp" }),
      await home.say("you there", { source: "whatsapp" }),
    ];
    (await held.next()).say("Yes.");
    expect(await Promise.all(ids.map((id) => home.outcome(id)))).toEqual(["collected", "answered"]);
  });

  it("ends where somebody starts afresh: what was said before the reset is answered before it", async () => {
    const { home } = await open({ quiet_ms: 300 });
    const asked = await home.say("one?");
    const reset = await home.say("reset context");
    const call = await held.next();
    expect(call.heard).toEqual(["[Olivia]: one?"]);
    expect(await home.soFar(reset)).toBe("pending");
    call.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.outcome(reset)).toBe("command");
  });
});
