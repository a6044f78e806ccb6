import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import {
  type ChatCompletionsServer,
  chunk,
  eventStream,
  startChatCompletionsServer,
} from "../testing/chatCompletionsServer.js";
import { histories } from "../testing/histories.js";
import { aiSdkModel } from "./aiSdkModel.js";
import { call } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

vi.setConfig({ testTimeout: 600_000 });

/** A provider of the AI SDK as it is published, and our own codec, before the same strict server. */
let server: ChatCompletionsServer;
let theirs: Model;
let ours: Model;
beforeAll(async () => {
  server = await startChatCompletionsServer({ systemOnlyFirst: true });
  const provider = createOpenAICompatible({
    name: "local",
    baseURL: server.baseUrl,
    apiKey: "key",
    includeUsage: true,
  });
  theirs = aiSdkModel(provider("m"));
  ours = model({ api: "openai-chat", id: "m", baseUrl: server.baseUrl, apiKey: "key" });
});
afterAll(() => server.close());
beforeEach(() => {
  server.script = { body: eventStream([chunk({ content: "Hello" }), chunk({}, "stop")]) };
});

async function ask(
  on: Model,
  request: ModelRequest,
): Promise<{ events: ModelEvent[]; message: AssistantMessage }> {
  const events: ModelEvent[] = [];
  for await (const event of call(on, request)) events.push(event);
  const last = events.pop();
  if (last?.type !== "done") throw new Error("no answer");
  return { events, message: last.message };
}

const HELLO: ModelRequest = { messages: [UserMessage.text("hi")] };
const usage = {
  prompt_tokens: 90,
  completion_tokens: 40,
  total_tokens: 130,
  prompt_tokens_details: { cached_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 10 },
};
const counted = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage };
const look = (index: number, id: string, args: string) =>
  chunk({ tool_calls: [{ index, id, type: "function", function: { name: "look", arguments: args } }] });

const STREAMS: Record<string, unknown[]> = {
  text: [chunk({ content: "Grü" }), chunk({ content: "ße 🎈\n" }), chunk({}, "stop"), counted],
  "half a character at a time": [
    chunk({ content: "\ud83c" }),
    chunk({ content: "\udf88" }),
    chunk({}, "stop"),
  ],
  "cut by length": [chunk({ content: "Once upon" }), chunk({}, "length"), counted],
  filtered: [chunk({ content: "I" }), chunk({}, "content_filter"), counted],
  "thinking, then text": [
    chunk({ reasoning_content: "hm, " }),
    chunk({ reasoning_content: "yes" }),
    chunk({ content: "Yes." }),
    chunk({}, "stop"),
    counted,
  ],
  "parallel tools": [
    look(0, "call_a", ""),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"at":"☃"}' } }] }),
    look(1, "call_b", "{}"),
    chunk({}, "tool_calls"),
    counted,
  ],
  "text and a tool": [
    chunk({ content: "I look." }),
    look(0, "call_a", '{"n":1}'),
    chunk({}, "tool_calls"),
    counted,
  ],
};

describe("an answer read through a provider of the AI SDK is the one our own codec reads", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, chunks) => {
    server.script = { body: eventStream(chunks), writeSize: 301 };
    const [through, direct] = [await ask(theirs, HELLO), await ask(ours, HELLO)];
    const { contents, stopReason, errorKind } = direct.message;
    expect(through.message).toMatchObject({ contents, stopReason, provider: "local.chat", api: "ai-sdk" });
    expect(through.message.errorKind).toBe(errorKind);
    // That nothing was told, our codec tells by leaving it out, and the provider by a nought.
    const told = ({ reasoningTokens = 0, ...rest }: AssistantMessage["usage"]) => ({
      ...rest,
      reasoningTokens,
    });
    expect(told(through.message.usage)).toEqual(told(direct.message.usage));
    expect(through.events).toEqual(direct.events);
  });
});

describe("a failure through a provider of the AI SDK has the kind our own codec gives it", () => {
  const refusal = (status: number, code: string, message: string, headers = {}) => ({
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ error: { message, type: "x", code } }),
  });
  test.each([
    ["rate_limit", refusal(429, "rate_limit_exceeded", "slow down", { "retry-after": "7" })],
    ["quota", refusal(429, "insufficient_quota", "You exceeded your current quota")],
    ["auth", refusal(401, "invalid_api_key", "Incorrect API key")],
    ["overflow", refusal(400, "context_length_exceeded", "This model's maximum context length is 8 tokens")],
    ["invalid_request", refusal(400, "bad", "no")],
    ["overloaded", refusal(503, "x", "The engine is currently overloaded")],
    ["cut", { body: eventStream([chunk({ content: "Onc" })], { done: false }) }],
    ["cut", { body: eventStream([chunk({ content: "Onc" })]), cutAt: 120, ending: "reset" as const }],
    ["overloaded", { body: eventStream([{ error: { message: "overloaded", code: "server_error" } }]) }],
  ])("%s", async (kind, script) => {
    server.script = script;
    const [through, direct] = [await ask(theirs, HELLO), await ask(ours, HELLO)];
    expect(through.message).toMatchObject({ stopReason: "error", errorKind: kind });
    expect(direct.message).toMatchObject({ stopReason: "error", errorKind: kind });
    expect(through.message.contents).toEqual(direct.message.contents);
  });

  test("and says when to try again", async () => {
    server.script = refusal(429, "rate_limit_exceeded", "slow down", { "retry-after": "7" });
    for await (const event of call(theirs, HELLO)) expect(event).toMatchObject({ retryAfterMs: 7000 });
  });

  test("network, where nobody listens", async () => {
    const nobody = createOpenAICompatible({ name: "local", baseURL: "http://127.0.0.1:9/v1" });
    const { message } = await ask(aiSdkModel(nobody("m")), HELLO);
    expect(message).toMatchObject({ stopReason: "error", errorKind: "network" });
  });
});

test("no history is refused by a strict server behind a provider of the AI SDK", async () => {
  const { request } = histories({
    providers: ["local.chat", "anthropic"],
    apis: ["ai-sdk", "anthropic"],
    models: ["m", "x"],
    natives: [{ api: "ai-sdk", data: { providerMetadata: { local: { thoughtSignature: "s" } } } }],
  });
  const before = server.requests.length;
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const { message } = await ask(theirs, given);
      expect(message).toMatchObject({ stopReason: "stop", contents: [{ type: "text", content: "Hello" }] });
    }),
    { numRuns: process.env.LONGHAND_LONG ? 10_000 : 150 },
  );
  expect(server.requests.length - before).toBeGreaterThanOrEqual(150);
});
