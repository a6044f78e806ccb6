import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AssistantMessage, UserMessage } from "../message/index.js";
import { type Api, type CallOptions, call, type ModelEvent, model } from "../provider/index.js";
import {
  type Behaviour,
  type ModelServer,
  type ServerLimits,
  startAnthropicServer,
  startBedrockServer,
  startChatCompletionsServer,
  startGeminiServer,
  startOpenaiResponsesServer,
} from "./index.js";

const SERVERS: readonly [Api, string, (limits?: ServerLimits) => Promise<ModelServer>][] = [
  ["anthropic", "claude-sonnet-5", startAnthropicServer],
  ["openai-chat", "gpt-4.1", startChatCompletionsServer],
  ["openai-responses", "gpt-4.1", startOpenaiResponsesServer],
  ["gemini", "gemini-2.5-flash", startGeminiServer],
  ["bedrock", "anthropic.claude-opus-5", startBedrockServer],
];
const TEXT = "Grüße aus dem Testlabor 🎈";
const TOOLS = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];

describe.each(SERVERS)("a strict %s server", (api, id, start) => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    server.requests.length = 0;
  });

  type Heard = { events: ModelEvent[]; message: AssistantMessage; retryAfterMs: number | null };
  async function ask(baseUrl = server.baseUrl, options: CallOptions = {}, apiKey = "k"): Promise<Heard> {
    const on = model({ api, id, baseUrl, apiKey });
    const events: ModelEvent[] = [];
    const request = { messages: [UserMessage.text("hi")], tools: TOOLS, maxTokens: 100 };
    for await (const event of call(on, request, options)) events.push(event);
    const done = events.pop();
    if (done?.type !== "done") throw new Error("no answer");
    return { events, message: done.message, retryAfterMs: done.retryAfterMs };
  }

  test("says hello to whoever keeps its rules, and keeps every byte", async () => {
    const { message } = await ask();
    expect(AssistantMessage.textContent(message)).toBe("Hello");
    expect(message).toMatchObject({ stopReason: "stop" });
    expect(message.usage.outputTokens).toBeGreaterThan(0);
    expect(server.requests).toHaveLength(1);
    expect(JSON.parse(String(server.requests[0]?.body))).toBeTypeOf("object");
  });

  test("streams", async () => {
    server.next({ do: "say", text: TEXT });
    const { events, message } = await ask();
    expect(AssistantMessage.textContent(message)).toBe(TEXT);
    expect(message.stopReason).toBe("stop");
    expect(events.length).toBeGreaterThan(2);
  });

  test("calls a tool", async () => {
    server.next({ do: "call", name: "look", args: { at: "☃" }, id: "call_7" });
    const { message } = await ask();
    expect(message.stopReason).toBe("tool_use");
    expect(AssistantMessage.toolCalls(message)).toMatchObject([
      { id: "call_7", name: "look", args: { at: "☃" } },
    ]);
  });

  test("stalls, before its first byte or after some words", async () => {
    server.next({ do: "stall" }, { do: "stall", text: TEXT });
    const timeouts = { firstByteMs: 300, idleMs: 300 };
    const silent = await ask(server.baseUrl, { timeouts });
    expect(silent.message).toMatchObject({ stopReason: "error", errorKind: "timeout", contents: [] });
    const halfway = await ask(server.baseUrl, { timeouts });
    expect(halfway.message).toMatchObject({ stopReason: "error", errorKind: "timeout" });
    expect(AssistantMessage.textContent(halfway.message)).toBe(TEXT);
  });

  test.each<[Behaviour, string, string, number | null]>([
    [{ do: "cut", text: TEXT }, "cut", TEXT, null],
    [{ do: "rate-limit", retryAfterS: 7 }, "rate_limit", "", 7000],
    [{ do: "overflow" }, "overflow", "", null],
    [{ do: "overload" }, "overloaded", "", null],
    [{ do: "send", script: { status: 418, body: "a teapot" } }, "invalid_request", "", null],
  ])("on demand: %j", async (behaviour, errorKind, text, wait) => {
    server.next(behaviour);
    const { message, retryAfterMs } = await ask();
    expect(message).toMatchObject({ stopReason: "error", errorKind });
    expect(AssistantMessage.textContent(message)).toBe(text);
    expect(retryAfterMs).toBe(wait);
    if (behaviour.do === "cut") expect(message.error).toContain("the connection broke off");
    expect((await ask()).message.stopReason).toBe("stop");
  });

  test("refuses what its vendor would, in JSON, and keeps what was asked of it for a request that is sound", async () => {
    server.next({ do: "say", text: TEXT });
    await ask();
    const url = `${server.origin}${server.requests[0]?.url}`;
    server.next({ do: "say", text: TEXT });
    const refused = await fetch(url, {
      method: "POST",
      body: '{"messages":[]}',
      headers: { "anthropic-version": "2023-06-01" },
    });
    expect(refused.status).toBe(400);
    // AWS tells the message alone; what kind of error it is stands in a header.
    const told: { message?: string; error?: { message: string } } = await refused.json();
    expect(told.error?.message ?? told.message).toMatch(/\w/);
    const nowhere = await fetch(`${server.origin}/elsewhere`, { method: "POST", body: "{}" });
    expect(nowhere.status).toBe(404);
    expect(AssistantMessage.textContent((await ask()).message)).toBe(TEXT);
  });

  test("tells which models it has, where the API tells that, and keeps no trace of it", async () => {
    const listing = await start({ models: ["one-model"] });
    try {
      const versioned = listing.baseUrl === listing.origin ? `${listing.origin}/v1` : listing.baseUrl;
      const [told, silent] = [await fetch(`${versioned}/models`), await fetch(`${server.origin}/v1/models`)];
      expect(silent.status).toBe(404);
      if (api === "bedrock") expect(told.status).toBe(404);
      else expect(JSON.stringify(await told.json())).toContain("one-model");
      expect(listing.requests).toEqual([]);
    } finally {
      await listing.close();
    }
  });

  test("takes one key, and no more than its window", async () => {
    const strict = await start({ apiKey: "right", window: 10_000 });
    const small = await start({ window: 10 });
    try {
      expect((await ask(strict.baseUrl, {}, "wrong")).message.errorKind).toBe("auth");
      expect((await ask(strict.baseUrl, {}, "right")).message.stopReason).toBe("stop");
      expect((await ask(small.baseUrl)).message.errorKind).toBe("overflow");
    } finally {
      await strict.close();
      await small.close();
    }
  });
});
