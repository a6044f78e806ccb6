import { gateways, held, openHome, useHeldModel } from "../testing/heldHome.js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { openSqlite } from "../store/sqlite.js";
import { ASH, Talk, until } from "../testing/talk.js";
import { systemClock } from "./clock.js";
import type { GatewayOptions } from "./gateway.js";

useHeldModel();
const open = openHome;

describe("what waited too long", () => {
  it("is not answered late: it expired, and the next message is answered", async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + ahead };
    const { home } = await open({ while_busy: "queue", expire_after_s: 60 }, { clock });
    const asked = await home.say("one?");
    const call = await held.next();
    const late = await home.say("two?");
    ahead = 61_000;
    const fresh = await home.say("three?");
    call.say("One.");
    expect(await home.ended(asked)).toMatchObject({
      outcome: "expired",
      reason: "the answer came too late to be sent",
    });
    expect(await home.ended(late)).toMatchObject({
      outcome: "expired",
      reason: "it waited longer than 60 seconds",
    });
    const next = await held.next();
    expect(next.heard.at(-1)).toBe("[Olivia]: three?");
    next.say("Three.");
    expect(await home.outcome(fresh)).toBe("answered");
  });

  it("also when the server was down in the middle of its answer", async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + ahead };
    const store = openMemory();
    const options = { clock, store, holder: "h" };
    const { home, gateway } = await open({ expire_after_s: 60 }, options);
    const asked = await home.say("one?");
    await held.next();
    await gateway.stop(0);
    ahead = 3_600_000;
    const { home: later } = await open({}, options);
    expect(await later.outcome(asked)).toBe("expired");
    expect(held.calls).toHaveLength(1);
    expect(await store.read.runningTurn("home", "")).toBeNull();
  });
});

describe("what is not answered after all", () => {
  it("because it was deleted while it waited", async () => {
    const { home, gateway } = await open({ while_busy: "queue" });
    const asked = await home.say("one?");
    const call = await held.next();
    const deleted = await home.say("two?");
    await gateway.revise("home", deleted, null);
    call.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.ended(deleted)).toMatchObject({
      outcome: "ignored",
      reason: "deleted before it was answered",
    });
    expect(held.calls).toHaveLength(1);
  });

  it("because its sender may not speak here any more; who waited with them is answered", async () => {
    const { home, gateway } = await open({ while_busy: "collect" });
    const asked = await home.say("one?");
    const call = await held.next();
    const [refused, kept] = [await home.say("two?", ASH), await home.say("three?")];
    await gateway.changeChat("home", { allow: ["slack:U1"], read: ["slack:U1"] });
    call.say("One.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await home.ended(refused)).toMatchObject({ outcome: "ignored", reason: "sender_not_allowed" });
    const next = await held.next();
    expect(next.heard).toEqual(["[Olivia]: one?", "[Olivia]: three?"]);
    next.say("Three.");
    expect(await home.outcome(kept)).toBe("answered");
  });

  it("because its chat was removed", async () => {
    const { gateway } = await open();
    await gateway.registerChat({ jid: "brief", trigger: "always", while_busy: "queue" });
    const brief = new Talk(gateway, "brief");
    const asked = await brief.say("one?");
    const call = await held.next();
    const ids = [await brief.say("two?"), await brief.say("reset context")];
    await gateway.removeChat("brief");
    call.say("One.");
    for (const id of ids) {
      expect(await brief.ended(id)).toMatchObject({ outcome: "ignored", reason: "the chat was removed" });
    }
    expect(["answered", "ignored"]).toContain(await brief.outcome(asked));
  });
});

describe("when the model fails", () => {
  it("it is asked again, and then the fallback; the answer is the fallback's", async () => {
    const { home } = await open({ fallback_model: "spare" }, { limits: { attempts: 2 } });
    const asked = await home.say("hello?");
    (await held.next()).fail(503, { "retry-after": "0" });
    (await held.next()).fail(503, { "retry-after": "0" });
    (await held.next()).say("Hello.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(held.calls.map((call) => call.model)).toEqual(["main", "main", "spare"]);
    expect(await home.news()).toEqual([]);
    expect(await home.answers()).toEqual(["Hello."]);
  });

  it("for a refused key the fallback is asked at once", async () => {
    const { home } = await open({ fallback_model: "spare" });
    const asked = await home.say("hello?");
    (await held.next()).fail(401);
    (await held.next()).say("Hello.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(held.calls.map((call) => call.model)).toEqual(["main", "spare"]);
  });

  it("and there is no other, people are told in a sentence, and the next message is answered", async () => {
    const { home } = await open();
    const asked = await home.say("hello?");
    (await held.next()).fail(401);
    expect(await home.ended(asked)).toMatchObject({ outcome: "failed", reason: "HTTP 401: status 401" });
    expect(await home.news()).toEqual(["The assistant could not answer: HTTP 401: status 401"]);
    const next = home.say("and now?");
    const call = await held.next();
    expect(JSON.stringify(call.messages)).not.toContain("401");
    call.say("Yes.");
    expect(await home.outcome(await next)).toBe("answered");
  });
});

describe("a message that was answered", () => {
  it("stays answered when the one that joined it fails, or is stopped", async () => {
    const { home } = await open();
    const ends = {
      failed: async () => (await held.next()).fail(401),
      stopped: async () => {
        await held.next();
        await home.command("stop");
      },
    };
    for (const [outcome, end] of Object.entries(ends)) {
      const asked = await home.say("one?");
      const call = await held.next();
      const joined = await home.say("two?", ASH);
      call.say("One.");
      await end();
      expect(await home.outcome(joined)).toBe(outcome);
      expect(await home.ended(asked)).toMatchObject({ outcome: "answered", reason: "always" });
    }
  });
});

describe("when something goes wrong on our side", () => {
  /** Waits of seconds are over in a moment. */
  const startedAt = systemClock.steady();
  const hasty = {
    clock: { ...systemClock, steady: () => startedAt + (systemClock.steady() - startedAt) * 50 },
    limits: { leaseMs: 600_000 },
  };

  /** The first turns end in an error. */
  const failing = (until: number) => {
    let failures = 0;
    const resolveModel: GatewayOptions["resolveModel"] = (id) => {
      if (failures++ < until) throw new Error("a bug");
      return { ok: true, model: model({ api: "openai-chat", id, baseUrl: held.baseUrl }) };
    };
    return { resolveModel, failures: () => failures };
  };

  it("it is tried again, and answered", async () => {
    const { resolveModel, failures } = failing(2);
    const { home } = await open({}, { resolveModel, ...hasty });
    const asked = await home.say("hello?");
    (await held.next()).say("Hello.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(failures()).toBe(3);
  });

  it("each time, people are told without a stack trace, and the next message is answered", async () => {
    const { resolveModel } = failing(3);
    const { home } = await open({}, { resolveModel, ...hasty });
    const asked = await home.say("hello?");
    expect(await home.ended(asked)).toMatchObject({ outcome: "failed", reason: "a bug" });
    expect(await home.news()).toEqual(["The assistant could not answer: something went wrong on our side."]);
    const next = await home.say("and now?");
    (await held.next()).say("Yes.");
    expect(await home.outcome(next)).toBe("answered");
  });

  it("in the middle of a turn, what waits behind it is not blamed: neither a message nor a command", async () => {
    const store = openMemory();
    const { commit } = store;
    let broken = true;
    // Answers of the first turn cannot be written, as if a bug made them so.
    const breaking = {
      ...store,
      commit: async (batch: Parameters<typeof commit>[0]) => {
        if (broken && batch.facts.some((fact) => fact.type === "call_started")) throw new Error("a bug");
        return commit(batch);
      },
    };
    const { home } = await open({ while_busy: "queue" }, { store: breaking, ...hasty });
    const asked = await home.say("one?");
    await until(async () => (await store.read.runningTurn("home", "")) !== null);
    const [reset, next] = [await home.say("reset context"), await home.say("two?")];
    expect(await home.outcome(asked)).toBe("failed");
    broken = false;
    expect(await home.outcome(reset)).toBe("command");
    (await held.next()).say("Two.");
    expect(await home.outcome(next)).toBe("answered");
  });

  it("so badly that the server goes down each time, the message is set aside and the next is answered", async () => {
    const store = openMemory();
    const { home } = await open({ while_busy: "queue" }, { store });
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop(0)));
    const [fatal, next] = [await home.say("the end of the world"), await home.say("still there?")];
    for (let crash = 0; crash < 5; crash++) {
      const claims = await store.claim({
        kind: "turn",
        holder: "dying",
        now: systemClock.steady(),
        leaseMs: 1,
        limit: 1,
      });
      expect(claims).toHaveLength(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const { home: again } = await open({}, { store });
    expect(await again.ended(fatal)).toMatchObject({ outcome: "failed" });
    expect((await again.ended(fatal)).reason).toContain("went down 5 times");
    expect(await again.news()).toEqual(["The assistant could not answer: something went wrong on our side."]);
    (await held.next()).say("Yes.");
    expect(await again.outcome(next)).toBe("answered");
  });
});

describe("two servers on one store", () => {
  it("stop a turn that runs in the other", async () => {
    const store = openMemory();
    const { home, gateway: first } = await open({}, { store, holder: "one" });
    const asked = await home.say("one?");
    const call = await held.next();
    const { gateway: second } = await open({}, { store, holder: "two" });
    expect(await second.stopTurn("home")).toBe(true);
    expect(await home.outcome(asked)).toBe("stopped");
    await until(() => call.gone);
    expect(await first.stopTurn("home")).toBe(false);
  });

  it("run one turn at a time in a chat, wherever it is said; what is said at the other joins it", async () => {
    const store = openMemory();
    const { home } = await open({}, { store, holder: "one" });
    const { home: there } = await open({}, { store, holder: "two" });
    const asked = await home.say("one?");
    const call = await held.next();
    const joined = await there.say("btw two?", ASH);
    const stopped = there.command("todos");
    expect(await stopped).toBe("Nothing is on the list.");
    call.say("One.");
    (await held.next()).say("Two.");
    expect(await home.outcome(asked)).toBe("answered");
    expect(await there.outcome(joined)).toBe("steered");
  });

  it("know each other's settings at once", async () => {
    const store = openMemory();
    const { gateway: one, home: here } = await open({}, { store, holder: "one" });
    const { home: there } = await open({}, { store, holder: "two" });
    const before = await there.say("hello?", ASH);
    (await held.next()).say("Hello.");
    expect(await here.outcome(before)).toBe("answered");
    await one.changeChat("home", { trigger: "mention" });
    expect(await there.outcome(await there.say("and now?", ASH))).toBe("ambient");
  });
});

describe("on SQLite", () => {
  it("steers, queues, stops, resets and runs out of money as in memory", async () => {
    const folder = mkdtempSync(join(tmpdir(), "longhand-routing-"));
    const store = await openSqlite({ path: join(folder, "longhand.db") });
    const { home, gateway } = await open({}, { store });
    const asked = await home.say("one?");
    const first = await held.next();
    const [steered, todo, reset] = [
      await home.say("btw two?", ASH),
      await home.say("todo three"),
      await home.say("reset context"),
    ];
    expect(await home.command("todos")).toContain("todo three");
    first.say("One.");
    (await held.next()).say("Two.");
    const [answered, joined] = [await home.ended(asked), await home.ended(steered)];
    expect([answered.outcome, joined.outcome]).toEqual(["answered", "steered"]);
    expect(joined.turn_id).toBe(answered.turn_id);
    const third = await held.next();
    third.begin("Thr");
    await gateway.stopTurn("home");
    expect(await home.outcome(todo)).toBe("stopped");
    expect(await home.outcome(reset)).toBe("command");
    const fresh = await home.say("four?");
    const call = await held.next();
    expect(call.heard).toEqual(["[Olivia]: four?"]);
    call.say("Four.");
    expect(await home.outcome(fresh)).toBe("answered");
    await gateway.changeChat("home", { budget: { tokens_per_day: 10 } });
    expect(await home.outcome(await home.say("five?"))).toBe("over_budget");
    await Promise.all(gateways.splice(0).map((one) => one.stop(0)));
    await store.close();
    rmSync(folder, { recursive: true });
  });
});
