import { afterEach, expect, it, test } from "vitest";
import { defineTool } from "../agent/index.js";
import type { Replay } from "../message/index.js";
import { model } from "../provider/index.js";
import {
  anthropicStream,
  callBlock,
  messageEnd,
  messageStart,
  startAnthropicServer,
  textBlock,
} from "../testing/anthropicServer.js";
import { startBedrockServer } from "../testing/bedrockServer.js";
import { startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { startGeminiServer } from "../testing/geminiServer.js";
import { ask, held, openHome, useHeldModel } from "../testing/heldHome.js";
import { startOpenaiResponsesServer } from "../testing/openaiResponsesServer.js";
import type { Gateway, GatewayOptions } from "./gateway.js";

useHeldModel();

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const lookups: string[] = [];
const look = defineTool({
  name: "look",
  description: "Look something up.",
  parameters: { type: "object", properties: {} },
  run: async () => {
    lookups.push("looked");
    return "It rains.";
  },
});

const PRICE = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 };

/** `main` speaks Chat Completions; `other` speaks Anthropic's API, and answers what the test says. */
async function open(settings: Record<string, unknown> = {}, options: Partial<GatewayOptions> = {}) {
  const anthropic = await startAnthropicServer();
  closing.push(() => anthropic.close());
  const home = await openHome(settings, {
    resolveModel: (name) => {
      if (name === "nobody/knows") return { ok: false, why: 'there is no provider "nobody"; try demo/demo' };
      return {
        ok: true,
        model: name.endsWith("other")
          ? model({ api: "anthropic", id: "claude-sonnet-4-5", baseUrl: anthropic.baseUrl, price: PRICE })
          : model({ api: "openai-chat", id: "main", baseUrl: held.baseUrl, price: PRICE }),
      };
    },
    tools: [look],
    ...options,
  });
  return { ...home, anthropic };
}

const says = (words: string) =>
  anthropicStream([messageStart(), ...textBlock(0, words), ...messageEnd("end_turn")]);

async function callsOf(gateway: Gateway) {
  return gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
}

async function lastCall(gateway: Gateway): Promise<string> {
  return (await callsOf(gateway)).at(-1)?.id ?? "";
}

async function replayed(gateway: Gateway, id: string, name?: string): Promise<Replay> {
  const result = await gateway.replay(id, name);
  if (!result.ok) throw new Error(result.why);
  return result.replay;
}

/** What a chat holds, for "nothing was added". */
async function traceOf(gateway: Gateway) {
  const rows = await gateway.getMessagesSince("home", 0);
  const { tree, head } = await gateway.tree({
    chat_jid: "home",
    after: null,
    limit: 500,
    thread_id: "",
    newest: false,
  });
  return { rows, tree, head, event: await gateway.read.lastEvent() };
}

test("the same model gets the same bytes again, and the chat is as it was", async () => {
  const { gateway, home } = await open({ system_prompt: 'Be "brief".\nAlways.' });
  await ask(home, "what is the weather?", "It rains.");
  await ask(home, "and tomorrow?", "Sun.");
  const id = await lastCall(gateway);
  const before = await traceOf(gateway);
  const running = replayed(gateway, id);
  (await held.next()).say("Snow.");
  const { original, replay, context, notes } = await running;
  expect(context).toEqual({ exact: true, differences: [] });
  expect(original.answer?.text).toBe("Sun.");
  expect(replay.answer?.text).toBe("Snow.");
  expect(replay.call).toMatchObject({ purpose: "replay", replay_of: id, status: "ok", turn_id: null });
  expect(replay.call.request_sha256).toBe(original.call.request_sha256);
  expect(await gateway.request(replay.call.id)).toEqual(await gateway.request(id));
  expect(await traceOf(gateway)).toEqual(before);
  expect(notes[0]).toContain("Nothing was added to the chat");
  // The next turn goes on from the chat's own last call, not from the replay.
  await ask(home, "thanks");
  expect((await gateway.call(await lastCall(gateway)))?.breaks).toEqual([]);
});

test("an older call is replayed as it was, whatever was said, changed and compacted since", async () => {
  const notices = ["one", "two"].map((text) => [{ id: "news", text }]);
  const { gateway, home } = await open(
    { system_prompt: "First." },
    { notices: async () => notices.shift() ?? [{ id: "news", text: "[Olivia]: later" }] },
  );
  await ask(home, "first");
  const [first] = await callsOf(gateway);
  await ask(home, "second");
  await gateway.changeChat("home", { system_prompt: "Second." });
  await ask(home, "third");
  const running = replayed(gateway, first?.id ?? "");
  const asked = await held.next();
  asked.say("Again.");
  expect((await running).context).toEqual({ exact: true, differences: [] });
  expect(JSON.stringify(asked.messages)).toContain("First.");
  expect(JSON.stringify(asked.messages)).not.toContain("second");
});

test("notices at the tail and system prompts of the newest turn are given again", async () => {
  const { gateway, home } = await open(
    { notices: "tail" },
    { notices: async () => [{ id: "news", text: "[Olivia]: \\[Notice]\nline" }] },
  );
  await ask(home, "hello");
  const running = replayed(gateway, await lastCall(gateway));
  (await held.next()).say("Again.");
  expect((await running).context.exact).toBe(true);
});

test("another model with another API gets the same conversation, in its own spelling, and its tools are not run", async () => {
  const { gateway, home, anthropic } = await open();
  const id = await home.say("what is the weather?");
  (await held.next()).use("look");
  (await held.next()).say("It rains.");
  expect(await home.outcome(id)).toBe("answered");
  const [first, second] = await callsOf(gateway);
  lookups.length = 0;
  anthropic.upcoming.push(
    {
      body: anthropicStream([
        messageStart(),
        ...callBlock(0, "toolu_1", "look", "{}"),
        ...messageEnd("tool_use"),
      ]),
    },
    { body: says("Rain, I read.") },
  );
  const asked = await replayed(gateway, first?.id ?? "", "other");
  expect(asked.original.answer?.tool_calls).toEqual([{ name: "look", args: {} }]);
  expect(asked.replay.answer?.tool_calls).toEqual([{ name: "look", args: {} }]);
  expect(asked.notes.join(" ")).toContain("(look). They were not run");
  expect(lookups).toEqual([]);
  const answered = await replayed(gateway, second?.id ?? "", "other");
  expect(answered.context.exact).toBe(true);
  expect(answered.replay.answer?.text).toBe("Rain, I read.");
  expect(answered.replay.call).toMatchObject({ api: "anthropic", model: "claude-sonnet-4-5" });
  expect(answered.replay.call.cost?.total).toBeGreaterThan(0);
  expect(answered.replay.call.duration_ms).not.toBeNull();
});

test("what was deleted since is not sent again, and the replay says so", async () => {
  const { gateway, home } = await open();
  const secret = await ask(home, "my code is 4711");
  await ask(home, "well?");
  const id = await lastCall(gateway);
  await gateway.revise("home", secret, null);
  const running = replayed(gateway, id);
  const asked = await held.next();
  asked.say("No.");
  const { context } = await running;
  expect(JSON.stringify(asked.messages)).not.toContain("4711");
  expect(context.exact).toBe(false);
  expect(context.differences.join(" ")).toContain(`message ${secret} (deleted)`);
});

test("a budget has a say in replays too", async () => {
  const { gateway, home } = await open({ budget: { usd_per_day: 0.009 } });
  await ask(home, "hello");
  const id = await lastCall(gateway);
  await gateway.changeChat("home", { budget: { usd_per_day: 0.000001 } });
  expect(await gateway.replay(id)).toMatchObject({ ok: false, kind: "refused" });
  expect(await callsOf(gateway)).toHaveLength(1);
});

it.each([
  ["a call nobody made", "nothing", undefined, { kind: "unknown" }],
  [
    "a model nobody knows",
    null,
    "nobody/knows",
    { kind: "model", why: 'there is no provider "nobody"; try demo/demo' },
  ],
])("%s cannot be replayed", async (_name, call, name, expected) => {
  const { gateway, home } = await open();
  await ask(home, "hello");
  expect(await gateway.replay(call ?? (await lastCall(gateway)), name)).toMatchObject({
    ok: false,
    ...expected,
  });
});

test("what somebody who is erased said is not replayed", async () => {
  const { gateway, home } = await open();
  const id = await ask(home, "hello");
  const call = await lastCall(gateway);
  const row = await gateway.read.message("home", id);
  await gateway.eraseSender(row?.sender ?? "");
  expect(await gateway.replay(call)).toMatchObject({ ok: false, kind: "gone" });
});

test("somebody who is erased while a replay runs is not brought back by its end", async () => {
  const { gateway, home } = await open();
  const id = await ask(home, "hello");
  const row = await gateway.read.message("home", id);
  const running = gateway.replay(await lastCall(gateway));
  const asked = await held.next();
  await gateway.eraseSender(row?.sender ?? "");
  asked.say("Again.");
  await running;
  const replay = (await callsOf(gateway)).find(({ purpose }) => purpose === "replay");
  expect(replay).toMatchObject({ redacted: true, request_sha256: "", status: "ok" });
});

it.each([
  ["anthropic", startAnthropicServer, "claude-opus-5"],
  ["openai-responses", startOpenaiResponsesServer, "gpt-5.4"],
  ["gemini", startGeminiServer, "gemini-3-pro"],
  ["openai-chat", startChatCompletionsServer, "gpt-4.1-mini"],
  ["bedrock", startBedrockServer, "anthropic.claude-opus-5"],
] as const)(
  "a call that was spelled for %s is given again byte for byte, its notices wherever they stood",
  async (api, start, id) => {
    const server = await start();
    closing.push(() => server.close());
    for (const notices of ["system", "tail"]) {
      const { gateway, home } = await openHome(
        { notices, system_prompt: 'Say "so".\n\n[Notice]\nno news' },
        {
          resolveModel: () => ({ ok: true, model: model({ api, id, baseUrl: server.baseUrl }) }),
          tools: [look],
          notices: [{ name: "git", notices: async () => "[Ash]: 3 files \u2028 changed" }],
          retrieve: async () => [{ id: "doc", text: "quoted" }],
        },
      );
      for (const words of ["one", "two"]) expect(await home.outcome(await home.say(words))).toBe("answered");
      const { original, replay, context } = await replayed(gateway, (await callsOf(gateway))[0]?.id ?? "");
      expect(context).toEqual({ exact: true, differences: [] });
      expect(replay.call).toMatchObject({ status: "ok", request_sha256: original.call.request_sha256 });
    }
  },
);
