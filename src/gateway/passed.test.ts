import { expect, it } from "vitest";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { startHeldModel } from "../testing/heldModel.js";
import { Talk } from "../testing/talk.js";
import { createGateway } from "./gateway.js";
import { passedIn } from "./passed.js";
import { turnLane } from "./turnLane.js";

it("what waits for a turn of its own is looked at once for a stop, and forgotten when it is answered", async () => {
  const held = await startHeldModel();
  const store = openMemory();
  const gateway = createGateway({
    store,
    resolveModel: (id) => ({ ok: true, model: model({ api: "openai-chat", id, baseUrl: held.baseUrl }) }),
    defaultModel: "main",
  });
  await gateway.start();
  const home = new Talk(gateway, "home");
  const passed = () => passedIn({ store }, turnLane("home", "")).size;
  const first = await home.say("first");
  const call = await held.next();
  const waiting = [await home.say("todo one"), await home.say("todo two"), await home.say("todo three")];
  await home.command("todos");
  expect(passed()).toBe(3);
  call.say("Done.");
  expect(await home.outcome(first)).toBe("answered");
  const second = await held.next();
  await home.say("stop");
  expect(await home.outcome(waiting[0] ?? "")).toBe("stopped");
  held.answerAll((next) => next.say("Done."));
  second.say("Done.");
  for (const id of waiting.slice(1)) expect(await home.outcome(id)).toBe("answered");
  await gateway.stop(0);
  expect(passed()).toBe(0);
  await held.close();
});
