import { expect, test } from "vitest";
import type { CallDiff } from "../message/index.js";
import { model } from "../provider/index.js";
import { ask, held, openHome, useHeldModel } from "../testing/heldHome.js";
import type { Gateway, GatewayOptions } from "./gateway.js";

useHeldModel();

const PRICE = { input: 1000, output: 0, cacheRead: 100, cacheWrite: 1000 };

const open = (settings: Record<string, unknown> = {}, options: Partial<GatewayOptions> = {}) =>
  openHome(settings, {
    resolveModel: (id) => ({
      ok: true,
      model: model({ api: "openai-chat", id, baseUrl: held.baseUrl, price: PRICE }),
    }),
    ...options,
  });

async function lastTwo(gateway: Gateway): Promise<[string, string]> {
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  return [calls.at(-2)?.id ?? "", calls.at(-1)?.id ?? ""];
}

async function diffOf(gateway: Gateway, [a, b]: [string, string]): Promise<CallDiff> {
  const result = await gateway.diff(a, b);
  if (!result.ok) throw new Error(result.why);
  return result.diff;
}

test("a call that goes on from another differs by what was said since, and loses nothing", async () => {
  const { gateway, home } = await open();
  await ask(home, "first");
  const second = await ask(home, "second");
  const diff = await diffOf(gateway, await lastTwo(gateway));
  expect(diff.extends).toBe(true);
  expect(diff.breaks).toEqual([]);
  expect(diff.changes.map(({ change }) => change)).toEqual(["added", "added"]);
  expect(diff.changes.at(-1)?.after).toMatchObject({
    kind: "message",
    sources: [{ type: "message", id: second }],
  });
  expect(diff.changes.at(-1)?.after?.text).toContain("second");
  expect(diff.cache.estimated).toMatchObject({ lost_tokens: 0, lost_usd: 0, by: "usage" });
});

test("a changed prompt is the first break: with both texts, why, and what was sent again for it", async () => {
  const { gateway, home } = await open({ system_prompt: "Be brief." });
  await ask(home, "first");
  await gateway.changeChat("home", { system_prompt: "Be kind." });
  const id = await home.say("second");
  (await held.next()).say("Yes.", { input: 100, output: 5 });
  expect(await home.outcome(id)).toBe("answered");
  const [a, b] = await lastTwo(gateway);
  const diff = await diffOf(gateway, [a, b]);
  expect(diff.extends).toBe(false);
  expect(diff.first).toMatchObject({ a: { text: "Be brief." }, b: { text: "Be kind.", kind: "system" } });
  expect(diff.changes[0]).toMatchObject({ change: "changed", before: { text: "Be brief." } });
  expect(diff.breaks).toEqual(diff.declared);
  expect(diff.breaks[0]).toMatchObject({ block: diff.first.b?.index });
  expect(diff.breaks[0]?.reason).toContain("the system prompt changed");
  const { bytes_per_token, lost_tokens, lost_usd, by } = diff.cache.estimated;
  expect(by).toBe("usage");
  expect(bytes_per_token).toBeCloseTo(diff.b.request_size / 100, 1);
  // The tools and the first message were sent before, and had to be sent again.
  const again =
    (await gateway.call(a))?.blocks.filter(({ kind }) => kind === "message" || kind === "tools") ?? [];
  const bytes = again.reduce((sum, { size }) => sum + size, 0);
  expect(lost_tokens).toBeGreaterThan(0);
  expect(lost_tokens).toBeLessThanOrEqual(Math.round((bytes / diff.b.request_size) * 100));
  expect(lost_usd).toBeCloseTo((lost_tokens * 900) / 1_000_000, 9);
  expect(diff.cache.says.join(" ")).toContain("sent again behind the difference");
  expect(diff.cache.says.join(" ")).toContain("reports 0 tokens read from its cache");
});

test("what is erased is compared without its words", async () => {
  const { gateway, home } = await open();
  const id = await ask(home, "my secret");
  await ask(home, "second");
  const calls = await lastTwo(gateway);
  const row = await gateway.read.message("home", id);
  await gateway.eraseSender(row?.sender ?? "");
  const diff = await diffOf(gateway, calls);
  expect(diff.extends).toBe(true);
  expect(JSON.stringify(diff)).not.toContain("secret");
});

test("an answer stays short, however much was said", async () => {
  const { gateway, home } = await open();
  await ask(home, "first");
  await ask(home, "long ".repeat(10_000));
  const { changes } = await diffOf(gateway, await lastTwo(gateway));
  const long = changes.at(-1)?.after;
  expect(long).toMatchObject({ cut: true });
  expect(long?.text?.length).toBe(16_000);
  expect(long?.size).toBeGreaterThan(50_000);
});

test("the same words in two chats are the same, though their blocks have different ids", async () => {
  const { gateway, home } = await open({ system_prompt: "Be brief.", name: "Home" });
  await ask(home, "hello");
  const [, a] = await lastTwo(gateway);
  await gateway.registerChat({ jid: "other", trigger: "always", system_prompt: "Be brief." });
  const metadata = { source: "web", sender_id: "web:x", sender_display_name: "X", sender_type: "human" };
  await gateway.submitChat("other", { content: "bye", msg_metadata: metadata });
  (await held.next()).say("Yes.");
  let calls = await gateway.read.calls({ chat_jid: "other", turn_id: null, after: null, limit: 5 });
  while (calls[0]?.status !== "ok") {
    await new Promise((resolve) => setTimeout(resolve, 5));
    calls = await gateway.read.calls({ chat_jid: "other", turn_id: null, after: null, limit: 5 });
  }
  const diff = await diffOf(gateway, [a, calls[0]?.id ?? ""]);
  expect(diff.same.blocks).toBeGreaterThan(0);
  expect(diff.changes.every(({ before, after }) => (after ?? before)?.kind === "message")).toBe(true);
});

test("a call that is not there is said by its name", async () => {
  const { gateway, home } = await open();
  await ask(home, "hello");
  const [, id] = await lastTwo(gateway);
  expect(await gateway.diff(id, "nothing")).toEqual({
    ok: false,
    kind: "unknown",
    why: "there is no call nothing",
  });
  expect((await diffOf(gateway, [id, id])).changes).toEqual([]);
});
