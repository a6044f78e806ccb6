import { expect, test } from "vitest";
import { encode, model } from "../provider/index.js";
import type { LLMMessage } from "../message/index.js";
import { held, openHome, useHeldModel } from "../testing/heldHome.js";
import { encodeMemory } from "../agent/index.js";
import { memoryOf } from "./encodeMemories.js";
import { blocksOf } from "./receipts.js";

useHeldModel();

test("what a receipt holds is what was sent, turn after turn, also after words were taken back", async () => {
  held.answerAll((call) => call.say("Fine."));
  const { gateway, home } = await openHome({});
  const first = await home.say("the password is canary");
  expect(await home.outcome(first)).toBe("answered");
  expect(await home.outcome(await home.say("and now?"))).toBe("answered");
  await gateway.revise("home", first, null);
  expect(await home.outcome(await home.say("and later?"))).toBe("answered");
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  expect(calls.length).toBe(3);
  for (const [at, call] of calls.entries()) {
    const stored = await gateway.read.request(call.id);
    const bytes = stored?.blocks.map((block) => Buffer.from(block.bytes ?? []).toString()).join("");
    expect(JSON.parse(bytes ?? "{}").messages).toEqual(held.calls[at]?.messages);
  }
  expect(JSON.stringify(held.calls[1]?.messages)).toContain("canary");
  expect(JSON.stringify(held.calls[2]?.messages)).not.toContain("canary");
});

const ON = model({ api: "openai-chat", id: "m", baseUrl: "http://127.0.0.1:1/v1" });
const said = (id: string): LLMMessage => ({
  role: "user",
  id,
  timestamp: 0,
  contents: [{ type: "text", content: `[Ann]: ${id}` }],
});

test("a block that stands in the next request again is hashed once, and under another chat's key anew", async () => {
  const keys = new Map(["a", "b"].map((jid) => [jid, new TextEncoder().encode(`the key of ${jid}`)]));
  const hall = { store: { read: { blockKey: async (jid: string) => keys.get(jid) ?? null } } };
  const memory = encodeMemory();
  const before = await blocksOf(hall, "a", encode(ON, { messages: [said("1")] }, memory));
  const after = await blocksOf(hall, "a", encode(ON, { messages: [said("1"), said("2")] }, memory));
  const elsewhere = await blocksOf(hall, "b", encode(ON, { messages: [said("1")] }, memory));
  const of = (blocks: typeof before) => blocks.filter((block) => block.kind === "message");
  expect(of(after)[0]).toBe(of(before)[0]);
  expect(of(after)).toHaveLength(2);
  expect(of(elsewhere)[0]?.id).not.toBe(of(before)[0]?.id);
  expect(of(elsewhere)[0]?.bytes).toEqual(of(before)[0]?.bytes);
});

test("only the threads that spoke last are remembered, and none that is very long", () => {
  const hall = {};
  const first = memoryOf(hall, "chat0", "");
  for (let at = 1; at < 16; at++) memoryOf(hall, `chat${at}`, "");
  expect(memoryOf(hall, "chat0", "")).toBe(first);
  for (let at = 16; at < 40; at++) memoryOf(hall, `chat${at}`, "");
  expect(memoryOf(hall, "chat0", "")).not.toBe(first);
  const long = memoryOf(hall, "long", "");
  encode(ON, { messages: [said("x".repeat(3_000_000))] }, long);
  memoryOf(hall, "other", "");
  expect(memoryOf(hall, "long", "")).not.toBe(long);
});
