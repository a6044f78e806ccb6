import { afterEach, expect, it } from "vitest";
import { resolveModel } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import { systemClock } from "./clock.js";
import { createGateway, type Gateway } from "./gateway.js";

const HOUR = 3_600_000;
let gateway: Gateway | null = null;
afterEach(() => gateway?.stop(0));

/** A gateway whose clock stands still until it is moved. */
async function open() {
  let now = Date.UTC(2026, 10, 15, 9);
  const opened = createGateway({
    store: openMemory(),
    resolveModel: (name) => resolveModel(name, { LONGHAND_DEMO_DELAY_MS: "0" }),
    defaultModel: "demo/demo",
    clock: { ...systemClock, now: () => now },
    limits: { leaseMs: 500 },
  });
  gateway = opened;
  await opened.start();
  return {
    opened,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

/** Says something, waits for the answer, and tells how many times of day the model was given by then. */
async function timesTold(opened: Gateway, content: string): Promise<number> {
  const result = await opened.submitChat("home", {
    content,
    msg_metadata: { source: "http", sender_id: "http:ada", sender_display_name: "Ada", sender_type: "human" },
  });
  if (result.status !== "stored") throw new Error(JSON.stringify(result));
  while ((await opened.outcome("home", result.answer.message_id))?.outcome === "pending") {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const calls = await opened.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  const request = await opened.request(calls.at(-1)?.id ?? "");
  return (
    Buffer.from(request instanceof Uint8Array ? request : [])
      .toString()
      .split("[Time: ").length - 1
  );
}

it("tells the model the time when hours have passed since somebody spoke, and not in between", async () => {
  const { opened, pass } = await open();
  expect(await timesTold(opened, "good morning")).toBe(1);
  pass(HOUR / 2);
  expect(await timesTold(opened, "still here")).toBe(1);
  pass(5 * HOUR);
  expect(await timesTold(opened, "good afternoon")).toBe(2);
});

it("looks for who spoke last behind the notes that programs left", async () => {
  const { opened, pass } = await open();
  expect(await timesTold(opened, "good morning")).toBe(1);
  for (let note = 0; note < 5; note++) await opened.postCustom("home", "plan", `note ${note}`);
  pass(HOUR / 2);
  expect(await timesTold(opened, "still here")).toBe(1);
});
