import { expect, test } from "vitest";
import { ask, held, openHome, storeSystemRow, useHeldModel } from "../testing/heldHome.js";
import { smallHome } from "../testing/smallHome.js";
import { SmallModel } from "../testing/smallModel.js";
import { until } from "../testing/talk.js";
import type { Gateway } from "./index.js";

useHeldModel();

const MAIN = { thread_id: "" };

async function treeOf(gateway: Gateway) {
  return gateway.tree({ chat_jid: "home", ...MAIN, after: null, limit: 500 });
}

/** What the assistant would read next, in short. */
async function readNext(gateway: Gateway): Promise<string> {
  const preview = await gateway.context("home", undefined);
  if (!preview?.ok) throw new Error("there is no preview");
  return preview.preview.body;
}

test("a conversation goes on from any message, and the branch that is left stays", async () => {
  const { gateway, home } = await openHome();
  await ask(home, "one");
  const two = await ask(home, "two", "Second.");
  await ask(home, "three", "Third.");
  const { tree, head } = await treeOf(gateway);
  expect(tree.map(({ message }) => message?.content)).toEqual([
    "one",
    "Yes.",
    "two",
    "Second.",
    "three",
    "Third.",
  ]);
  expect(tree.map(({ parent }) => parent)).toEqual([null, ...tree.slice(0, -1).map(({ id }) => id)]);
  expect(head).toBe(tree.at(-1)?.id);

  const second = tree[3]?.message && (await home.rows("bot"))[1]?.id;
  expect(await gateway.fork("home", { from: second ?? "", summarise: false, ...MAIN })).toEqual({
    ok: true,
    head: tree[3]?.id,
  });
  const body = await readNext(gateway);
  expect(body).toContain("Second.");
  expect(body).not.toContain("three");
  await ask(home, "another three", "Other.");
  const grown = await treeOf(gateway);
  expect(grown.tree).toHaveLength(8);
  expect(grown.tree[6]?.parent).toBe(tree[3]?.id);

  expect(await gateway.moveHead("home", { entry_id: head, ...MAIN })).toEqual({ ok: true, head });
  expect(await readNext(gateway)).toContain("Third.");
  expect(await gateway.fork("home", { from: two, summarise: false, ...MAIN })).toMatchObject({ ok: true });
  expect(await readNext(gateway)).not.toContain("Second.");
});

test("what is not there, or is another chat's, is refused, and nothing moves", async () => {
  const { gateway, home } = await openHome();
  await gateway.registerChat({ jid: "other" });
  await ask(home, "one");
  const { tree, head } = await treeOf(gateway);
  const refusals = [
    await gateway.fork("home", { from: "nowhere", summarise: false, ...MAIN }),
    await gateway.fork("home", { from: "nowhere", summarise: true, ...MAIN }),
    await gateway.moveHead("home", { entry_id: "nowhere", ...MAIN }),
    await gateway.moveHead("other", { entry_id: tree[0]?.id ?? "", ...MAIN }),
    await gateway.fork("other", {
      from: tree[0]?.message ? (tree[0]?.id ?? "") : "",
      summarise: false,
      ...MAIN,
    }),
    await gateway.labelEntry("other", { entry_id: tree[0]?.id ?? "", label: "mine" }),
    await gateway.compact("nowhere"),
  ];
  for (const refusal of refusals) expect(refusal).toMatchObject({ ok: false, kind: "unknown" });
  expect((await treeOf(gateway)).head).toBe(head);
  expect(await gateway.read.head("other", "")).toBe(null);
});

test("while the assistant answers nobody moves the conversation from under it", async () => {
  const { gateway, home } = await openHome();
  await ask(home, "one");
  const { tree, head } = await treeOf(gateway);
  const asked = home.say("two");
  const call = await held.next();
  const first = tree[0]?.id ?? "";
  const busy = { ok: false, kind: "busy", why: expect.stringContaining("is answering") };
  expect(await gateway.fork("home", { from: first, summarise: false, ...MAIN })).toEqual(busy);
  expect(await gateway.moveHead("home", { entry_id: first, ...MAIN })).toEqual(busy);
  expect(await gateway.moveHead("home", { entry_id: null, ...MAIN })).toEqual(busy);
  call.say("Two.");
  expect(await home.outcome(await asked)).toBe("answered");
  expect((await treeOf(gateway)).head).not.toBe(head);
  expect(await gateway.moveHead("home", { entry_id: first, ...MAIN })).toEqual({ ok: true, head: first });
});

test("a fresh branch begins with what the operator wrote, and nothing else", async () => {
  const { gateway, home } = await openHome();
  await storeSystemRow(gateway, "Olivia is the captain.");
  await ask(home, "one");
  expect(await gateway.moveHead("home", { entry_id: null, ...MAIN })).toMatchObject({ ok: true });
  const body = await readNext(gateway);
  expect(body).toContain("Olivia is the captain.");
  expect(body).not.toContain("[Olivia]: one");
});

test("an entry that was given a name is found by it, and no model reads the name", async () => {
  const { gateway, home } = await openHome();
  await ask(home, "one");
  const { tree, head } = await treeOf(gateway);
  await gateway.labelEntry("home", { entry_id: tree[0]?.id ?? "", label: "before the mistake" });
  const grown = await treeOf(gateway);
  expect(grown.head).toBe(head);
  expect(grown.tree.at(-1)).toMatchObject({
    kind: "custom",
    parent: tree[0]?.id,
    data: { custom_type: "label", content: "before the mistake" },
  });
  expect(await readNext(gateway)).not.toContain("before the mistake");
});

test("asked for, a compaction is made at once, and undone by moving the head back", async () => {
  const small = new SmallModel(100_000);
  const { gateway, talk, store } = await smallHome(small);
  await talk(10);
  const before = await readNext(gateway);
  const made = await gateway.compact("home");
  if (!made.ok) throw new Error(made.why);
  expect(made.entry).toMatchObject({ kind: "compaction", data: { summary: "Summary 1. They talked." } });
  const after = await readNext(gateway);
  expect(after).toContain("Summary 1. They talked.");
  expect(after.length).toBeLessThan(before.length / 2);
  expect(await gateway.moveHead("home", { entry_id: made.entry.parent, ...MAIN })).toMatchObject({
    ok: true,
  });
  expect(await readNext(gateway)).toBe(before);
  await talk(1);
  const undone = await gateway.read.lastCall("home", "");
  // Nothing was sent in between: for the model nothing changed.
  expect((await gateway.call(undone ?? ""))?.breaks).toEqual([]);
  expect(await store.read.work("turn", 'turn:["home",""]', 9)).toEqual([]);
  expect(small.broken).toEqual([]);
  const calls = await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
  expect(calls.find(({ purpose }) => purpose === "compaction")?.status).toBe("ok");
});

test("a compaction that is asked for while the assistant answers waits for its end", async () => {
  const { gateway, home } = await openHome();
  for (const words of ["one", "two", "three"]) await ask(home, `${words} ${"lorem ".repeat(50)}`);
  const asked = home.say("four");
  const turn = await held.next();
  const compacting = gateway.compact("home");
  const more = await home.say("five");
  turn.say("Four.");
  // What was said meanwhile joins the turn; the compaction does not cut in.
  const joined = await held.next();
  expect(joined.heard.at(-1)).toBe("[Olivia]: five");
  joined.say("Five.");
  const summary = await held.next();
  expect(await home.outcome(await asked)).toBe("answered");
  expect(JSON.stringify(summary.messages)).toContain("You write summaries");
  summary.say("All was said.");
  expect(await compacting).toMatchObject({ ok: true, entry: { data: { summary: "All was said." } } });
  expect(await home.outcome(more)).toBe("steered");
});

test("what cannot be summarised is refused in words, and people are told", async () => {
  const small = new SmallModel(100_000);
  const { gateway, talk, home } = await smallHome(small);
  expect(await gateway.compact("home")).toMatchObject({
    ok: false,
    kind: "refused",
    why: /nothing has been said/,
  });
  await talk(6);
  small.summaryWay = "cut";
  const { head } = await treeOf(gateway);
  expect(await gateway.compact("home")).toMatchObject({ ok: false, kind: "refused", why: /ran out of room/ });
  expect((await treeOf(gateway)).head).toBe(head);
  expect((await home.news()).at(-1)).toContain("was not summarised");
});

test("a fork can begin with a summary of the branch that is left", async () => {
  const small = new SmallModel(100_000);
  const { gateway, talk } = await smallHome(small);
  await talk(4);
  const { tree, head } = await treeOf(gateway);
  const from = tree[1]?.id ?? "";
  const forked = await gateway.fork("home", { from, summarise: true, ...MAIN });
  expect(forked.ok).toBe(true);
  const grown = await treeOf(gateway);
  expect(grown.tree.at(-1)).toMatchObject({ kind: "branch_summary", parent: from, data: { left: head } });
  expect(grown.head).toBe(grown.tree.at(-1)?.id);
  const told = JSON.stringify(small.summaries[0]?.messages);
  expect(told).toContain("[Olivia]: 3: lorem");
  expect(told).not.toContain("[Olivia]: 0: lorem");
  const body = await readNext(gateway);
  expect(body).toContain("The conversation branched here");
  expect(body).toContain("Summary 1. They talked.");
  expect(body).not.toContain("[Olivia]: 3: lorem");
  await talk(1);
  expect(small.broken).toEqual([]);
  const last = (await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 })).at(
    -1,
  );
  expect((await gateway.call(last?.id ?? ""))?.breaks[0]?.reason).toContain("forked");
});

test("where everything stands survives a restart", async () => {
  const small = new SmallModel(100_000);
  const { gateway, talk, store } = await smallHome(small);
  await talk(4);
  const { tree } = await treeOf(gateway);
  await gateway.moveHead("home", { entry_id: tree[3]?.id ?? "", ...MAIN });
  await gateway.stop();
  const again = await smallHome(small, { store });
  expect((await treeOf(again.gateway)).head).toBe(tree[3]?.id);
  await again.talk(1);
  await until(async () => (await treeOf(again.gateway)).tree.length === 10);
  expect((await treeOf(again.gateway)).tree[8]?.parent).toBe(tree[3]?.id);
});

test("a wish behind more than a thousand messages is told to wait, not refused", async () => {
  const { gateway, home } = await openHome({ while_busy: "queue" });
  await home.say("work");
  await held.next();
  await Promise.all(Array.from({ length: 1001 }, (_, index) => home.say(`${index} more`)));
  expect(await gateway.compact("home", "", 50)).toMatchObject({ ok: false, kind: "waiting" });
});
