import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import {
  type AnthropicServer,
  anthropicStream,
  block,
  callBlock,
  messageEnd,
  messageStart,
  refuse,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "../testing/anthropicServer.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call, encode, isRetryable, send } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEY = "sk-ant-canary-0123456789";
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files.read", description: "", parameters: { type: "object" } }],
};
const ANSWER = anthropicStream([
  messageStart(),
  { type: "ping" },
  ...textBlock(0, "Grü", "ße 🎈"),
  ...messageEnd("end_turn"),
]);

let server: AnthropicServer;
let on: Model;
beforeAll(async () => {
  server = await startAnthropicServer({ apiKey: KEY });
  on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl, apiKey: KEY });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

type Heard = { events: ModelEvent[]; message: AssistantMessage; retryAfterMs: number | null };

async function listen(stream: AsyncIterable<ModelEvent>): Promise<Heard> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const done = events.at(-1);
  if (done?.type !== "done") throw new Error("the stream did not end with done");
  if (done.message.error) expect(done.message.error).not.toContain(KEY);
  return { events, message: done.message, retryAfterMs: done.retryAfterMs };
}
function ask(script: ServerScript, options: CallOptions = {}): Promise<Heard> {
  server.script = script;
  return listen(call(on, request, options));
}
const textOf = (events: readonly ModelEvent[]): string =>
  events.flatMap((event) => (event.type === "text" ? [event.delta] : [])).join("");

describe("a call", () => {
  test("sends exactly the bytes that were encoded, the key in a header and nowhere else", async () => {
    const encoded = encode(on, request);
    server.script = { body: ANSWER };
    const { events, message } = await listen(send(on, encoded, { now: () => 1234, newId: () => "id-1" }));
    const [received] = server.requests;
    expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
    expect(received?.headers["x-api-key"]).toBe(KEY);
    expect(encoded.body).not.toContain(KEY);
    expect(textOf(events)).toBe("Grüße 🎈");
    expect(message).toEqual({
      role: "assistant",
      id: "id-1",
      timestamp: 1234,
      contents: [{ type: "text", content: "Grüße 🎈" }],
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
      stopReason: "stop",
      provider: "anthropic",
      api: "anthropic",
      model: "claude-opus-5",
    });
  });

  test("gives tool calls their true names, in their places", async () => {
    const [wireName = ""] = Object.keys(encode(on, request).renamedTools);
    const { events } = await ask({
      body: anthropicStream([
        messageStart(),
        ...textBlock(0, "I look."),
        ...callBlock(1, "toolu_1", wireName, '{"a":', "1}"),
        ...messageEnd("tool_use"),
      ]),
    });
    expect(events.filter((event) => event.type === "tool_call")).toEqual([
      { type: "tool_call", part: 1, id: "toolu_1", name: "files.read", args: { a: 1 } },
    ]);
  });

  test("hears a server that does not stream", async () => {
    const body = JSON.stringify({
      type: "message",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        { type: "text", text: "Hi" },
      ],
      stop_reason: "end_turn",
      usage: { input_tokens: 3, output_tokens: 2 },
    });
    const { events, message } = await ask({ body, headers: { "content-type": "application/json" } });
    expect(textOf(events)).toBe("Hi");
    expect(message).toMatchObject({ stopReason: "stop", usage: { inputTokens: 3, outputTokens: 2 } });
    expect(message.contents[0]).toEqual({ type: "thinking", content: "Hm.", signature: "s" });
  });
});

describe("a call that fails", () => {
  test.each([
    [401, "authentication_error", `invalid x-api-key ${KEY}`, "auth", false],
    [403, "permission_error", "Your key may not use this", "auth", false],
    [
      400,
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API.",
      "quota",
      false,
    ],
    [400, "invalid_request_error", "You have reached your specified API usage limits.", "quota", false],
    [402, "billing_error", "Payment required", "quota", false],
    [404, "not_found_error", "model: claude-x", "invalid_request", false],
    [400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "overflow", false],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      "overflow",
      false,
    ],
    [413, "request_too_large", "Request exceeds the maximum size", "overflow", false],
    [429, "rate_limit_error", "This request would exceed your rate limit", "rate_limit", true],
    [500, "api_error", "Internal server error", "overloaded", true],
    [504, "timeout_error", "Request timed out", "overloaded", true],
    [529, "overloaded_error", "Overloaded", "overloaded", true],
  ])("with %i %s %s is of kind %s", async (status, type, text, kind, again) => {
    const { message } = await ask(refuse(status, type, text));
    expect(message).toMatchObject({ stopReason: "error", errorKind: kind, contents: [] });
    expect(message.error).toContain(text.replace(KEY, "[key]"));
    expect(message.errorKind && isRetryable(message.errorKind)).toBe(again);
  });

  test("because of too many requests says when to try again", async () => {
    const { retryAfterMs } = await ask(refuse(429, "rate_limit_error", "Slow down", { "retry-after": "7" }));
    expect(retryAfterMs).toBe(7000);
  });

  test("because the key is wrong, or the request too long, is told by the server itself", async () => {
    const wrong = await listen(call({ ...on, apiKey: "sk-wrong" }, request));
    expect(wrong.message).toMatchObject({ errorKind: "auth" });
    const small = await startAnthropicServer({ window: 100 });
    const long = { ...request, messages: [UserMessage.text("x".repeat(1000))] };
    const over = await listen(call({ ...on, baseUrl: small.baseUrl }, long));
    await small.close();
    expect(over.message).toMatchObject({ errorKind: "overflow" });
  });

  test.each([
    ["overloaded_error", "Overloaded", "overloaded"],
    ["rate_limit_error", "Slow down", "rate_limit"],
    ["api_error", "Internal server error", "overloaded"],
    ["timeout_error", "Request timed out", "timeout"],
    ["invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", "overflow"],
  ])("in mid-stream with %s keeps what came, and is of its kind", async (type, message, kind) => {
    const body = anthropicStream([
      messageStart(),
      ...textBlock(0, "Hi"),
      { type: "error", error: { type, message } },
    ]);
    for (const ending of ["end", "reset"] as const) {
      const heard = await ask({ body, ending });
      expect(heard.message).toMatchObject({ errorKind: kind, contents: [{ content: "Hi" }] });
    }
  });

  test("because the server falls silent is a timeout", async () => {
    const cutAt = Buffer.byteLength(ANSWER.slice(0, ANSWER.indexOf("ße")));
    const { message } = await ask({ body: ANSWER, cutAt, ending: "silence" }, { timeouts: { idleMs: 30 } });
    expect(message).toMatchObject({ errorKind: "timeout", contents: [{ content: "Grü" }] });
  });

  test("refused by the strict server shows which rule was broken", async () => {
    const encoded = encode(on, request);
    const body = encoded.body.replace('"role":"user"', '"role":"assistant"');
    const { message } = await listen(send(on, { ...encoded, body }));
    expect(message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("first message must use the user role"),
    });
  });
});

describe("a stream cut at any byte", () => {
  const streams: Record<string, string> = {
    text: ANSWER,
    "CRLF and comments": `: wait\r\n\r\n${anthropicStream([messageStart(), ...textBlock(0, "é🎈!"), ...messageEnd("end_turn")], "\r\n")}`,
    "thinking and tools": anthropicStream([
      messageStart(),
      ...thinkingBlock(0, "Hmm ☃"),
      ...block(1, { type: "redacted_thinking", data: "blob" }),
      ...textBlock(2, "I look"),
      ...callBlock(3, "toolu_a", "look", '{"at":', '"☃"}'),
      ...callBlock(4, "toolu_b", "look"),
      ...messageEnd("tool_use"),
    ]),
    "an error inside": anthropicStream([
      messageStart(),
      ...textBlock(0, "Hi"),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]),
    "one piece": JSON.stringify({
      type: "message",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
    }),
  };

  /** What may be left: a beginning of the whole answer, and either all of it or a failure that says so. */
  function checkPartial(
    partial: AssistantMessage,
    events: readonly ModelEvent[],
    whole: AssistantMessage,
  ): void {
    partial.contents.forEach((content, at) => {
      const full = whole.contents[at];
      expect(full?.type).toBe(content.type);
      if (content.type !== "tool_call" && full && full.type !== "tool_call")
        expect(full.content.startsWith(content.content)).toBe(true);
    });
    const said = partial.contents.flatMap((content) => (content.type === "text" ? [content.content] : []));
    expect(textOf(events)).toBe(said.join(""));
    if (partial.stopReason === "error") {
      expect(["cut", whole.errorKind]).toContain(partial.errorKind);
      expect(partial.contents.some((content) => content.type === "tool_call")).toBe(false);
    } else expect(partial.contents).toEqual(whole.contents);
  }

  test.each(Object.entries(streams))("leaves valid text, marked: %s", async (_, stream) => {
    const bytes = Buffer.from(stream);
    const encoded = encode(on, request);
    const cut = (at: number, broken: boolean): Promise<Heard> => {
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let from = 0; from < at; from += 700)
            controller.enqueue(bytes.subarray(from, Math.min(at, from + 700)));
          if (!broken) controller.close();
        },
        pull: (controller) => controller.error(new Error("reset")),
      });
      const fetch = async (): Promise<Response> => new Response(source);
      return listen(send(on, encoded, { fetch, now: () => 1, newId: () => "x" }));
    };
    const whole = (await cut(bytes.length, false)).message;
    let partials = 0;
    for (let at = 0; at < bytes.length; at++) {
      const { message, events } = await cut(at, at % 2 === 1);
      checkPartial(message, events, whole);
      if (message.stopReason === "error") partials++;
    }
    expect(partials).toBeGreaterThan(bytes.length / 4);
  });

  test("over a real connection, then answers whole when asked again", async () => {
    const bytes = Buffer.byteLength(ANSWER);
    for (let at = 0; at < bytes; at += 29) {
      const { message, events } = await ask({
        body: ANSWER,
        cutAt: at,
        ending: at % 2 === 0 ? "reset" : "end",
      });
      const whole = (await ask({ body: ANSWER })).message;
      checkPartial(message, events, whole);
      expect(whole).toMatchObject({ stopReason: "stop", contents: [{ content: "Grüße 🎈" }] });
    }
  });
});
