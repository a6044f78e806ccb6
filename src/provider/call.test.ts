import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import { type CallOptions, call, encode, send } from "./call.js";
import {
  type ChatCompletionsServer,
  chunk,
  eventStream,
  type ServerScript,
  startChatCompletionsServer,
} from "../testing/chatCompletionsServer.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEY = "sk-canary-0123456789";
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files.read", description: "", parameters: { type: "object" } }],
};
const usage = { prompt_tokens: 9, completion_tokens: 4 };
const ANSWER = eventStream([
  chunk({ role: "assistant", content: "Grü" }),
  chunk({ content: "ße 🎈" }),
  chunk({}, "stop"),
  { choices: [], usage },
]);

const FIRST_EVENT = Buffer.byteLength(ANSWER.slice(0, ANSWER.indexOf("\n\n") + 2));

let server: ChatCompletionsServer;
let on: Model;
beforeAll(async () => {
  server = await startChatCompletionsServer({ systemOnlyFirst: true });
  on = model({ api: "openai-chat", id: "gpt", baseUrl: server.baseUrl, apiKey: KEY });
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
  expect(events.filter((event) => event.type === "done")).toHaveLength(1);
  expect(JSON.stringify(events)).not.toContain(KEY);
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
    await listen(send(on, encoded));
    const [received] = server.requests;
    expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
    expect(
      received?.body.equals(Buffer.concat(encoded.blocks.map((block) => Buffer.from(block.text, "utf8")))),
    ).toBe(true);
    expect(received?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(encoded.body).not.toContain(KEY);
  });

  test("streams, and ends with the whole answer, stamped by the clock that was handed in", async () => {
    const { events, message } = await ask(
      { body: ANSWER, writeSize: 7 },
      { now: () => 1234, newId: () => "id-1" },
    );
    expect(textOf(events)).toBe("Grüße 🎈");
    expect(message).toEqual({
      role: "assistant",
      id: "id-1",
      timestamp: 1234,
      contents: [{ type: "text", content: "Grüße 🎈" }],
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
      stopReason: "stop",
      provider: "openai",
      api: "openai-chat",
      model: "gpt",
    });
  });

  test("without a key sends no authorization", async () => {
    server.script = { body: ANSWER };
    await listen(call({ ...on, apiKey: null }, request));
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  test("gives tool calls their true names and every one an id", async () => {
    const [wireName] = Object.keys(encode(on, request).renamedTools);
    const tool = (index: number, id: string, name = wireName) =>
      chunk({ tool_calls: [{ index, id, function: { name, arguments: "{}" } }] });
    let serial = 0;
    const { events, message } = await ask(
      { body: eventStream([tool(0, ""), tool(1, "x"), tool(2, "y", "other"), chunk({}, "tool_calls")]) },
      { newId: () => `0-${++serial}` },
    );
    const calls = events.filter((event) => event.type === "tool_call");
    expect(calls).toEqual([
      { type: "tool_call", part: 0, id: "call_01", name: "files.read", args: {} },
      { type: "tool_call", part: 1, id: "x", name: "files.read", args: {} },
      { type: "tool_call", part: 2, id: "y", name: "other", args: {} },
    ]);
    expect(message.contents.map((content) => content.type === "tool_call" && content.id)).toEqual([
      "call_01",
      "x",
      "y",
    ]);
  });

  test("hears a server that does not stream, whatever it calls its answer", async () => {
    const body = `\n ${JSON.stringify({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] })}`;
    for (const type of ["application/json", "text/event-stream"]) {
      const { events, message } = await ask({ body, headers: { "content-type": type }, writeSize: 1 });
      expect(textOf(events)).toBe("Hi");
      expect(message.stopReason).toBe("stop");
    }
    expect(
      (await ask({ body: ANSWER, headers: { "content-type": "application/json" } })).message.stopReason,
    ).toBe("stop");
  });
});

describe("a call that fails", () => {
  test.each([
    [401, "invalid_api_key", "auth"],
    [429, "rate_limit_exceeded", "rate_limit"],
    [429, "insufficient_quota", "quota"],
    [400, "context_length_exceeded", "overflow"],
    [404, "model_not_found", "invalid_request"],
    [503, "overloaded", "overloaded"],
  ])(
    "with %i %s ends in an answer of kind %s, without the key the server echoed",
    async (status, code, kind) => {
      const body = JSON.stringify({ error: { message: `Bearer ${KEY} says no. ${"x".repeat(5000)}`, code } });
      const { message } = await ask({ status, body });
      expect(message).toMatchObject({ stopReason: "error", errorKind: kind, contents: [] });
      expect(message.error).toContain("Bearer [key] says no.");
      expect(message.error?.length).toBeLessThanOrEqual(2000);
    },
  );

  test.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "1.5" }, 1500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" }, 10_000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" }, 0],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("tells when to try again: %j", async (headers, expected) => {
    const { retryAfterMs } = await ask({ status: 429, headers, body: "{}" });
    expect(retryAfterMs).toBe(expected);
  });

  test("because nobody listens is a network failure", async () => {
    const gone = await startChatCompletionsServer();
    await gone.close();
    const { message } = await listen(
      call(model({ api: "openai-chat", id: "x", baseUrl: gone.baseUrl, apiKey: KEY }), request),
    );
    expect(message).toMatchObject({ stopReason: "error", errorKind: "network" });
    expect(message.error).toContain("ECONNREFUSED");
  });

  test("because the server is mute, or falls silent, is a timeout that keeps what came", async () => {
    const mute = await ask({ body: "", mute: true }, { timeouts: { firstByteMs: 30 } });
    expect(mute.message).toMatchObject({ stopReason: "error", errorKind: "timeout" });
    const cutAt = FIRST_EVENT;
    const silent = await ask({ body: ANSWER, cutAt, ending: "silence" }, { timeouts: { idleMs: 30 } });
    expect(silent.message).toMatchObject({
      errorKind: "timeout",
      contents: [{ content: "Grü" }],
      error: "the server went silent for 0.03 s",
    });
  });

  test("is not one when only the end of a finished answer is missing", async () => {
    const finished = Buffer.byteLength(ANSWER.slice(0, ANSWER.indexOf("[DONE]")));
    const late = await ask(
      { body: ANSWER, cutAt: finished, ending: "silence" },
      { timeouts: { idleMs: 30 } },
    );
    expect(late.message).toMatchObject({ stopReason: "stop", usage: { inputTokens: 9 } });
    const reset = await ask({ body: ANSWER, cutAt: finished, ending: "reset" });
    expect(reset.message).toMatchObject({ stopReason: "stop" });
    expect([late, reset].map(({ message }) => message.error)).toEqual([undefined, undefined]);
  });

  test("keeps the server's own reason when the connection breaks after it", async () => {
    const body = eventStream([chunk({ content: "Hi" }), { error: { message: "slow down", code: 429 } }], {
      done: false,
    });
    const { message } = await ask({ body, ending: "reset" });
    expect(message).toMatchObject({ errorKind: "rate_limit", contents: [{ content: "Hi" }] });
  });

  test("because it is more than any answer keeps a part that has an end, and runs no tool", async () => {
    const piece = chunk({ content: "x".repeat(64 * 1024) });
    const long = await ask({
      body: eventStream([...Array.from({ length: 80 }, () => piece), chunk({}, "stop")]),
    });
    expect(long.message).toMatchObject({
      stopReason: "error",
      error: "the answer has more than 4194304 characters",
    });
    expect(textOf(long.events).length).toBeLessThan(4.2 * 1024 * 1024);
    expect(JSON.stringify(long.message.contents).length).toBeLessThan(4.1 * 1024 * 1024);
    const tool_calls = Array.from({ length: 1001 }, (_, index) => {
      return { index, id: `c${index}`, type: "function", function: { name: "files_read", arguments: "{}" } };
    });
    const many = await ask({ body: eventStream([chunk({ tool_calls }), chunk({}, "tool_calls")]) });
    expect(many.message).toMatchObject({
      stopReason: "error",
      error: "the answer asks for 1001 tools",
      contents: [],
    });
  });

  test("does not follow the server elsewhere", async () => {
    const { message } = await ask({
      status: 307,
      headers: { location: `${server.baseUrl}/elsewhere` },
      body: "",
    });
    expect(message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("redirects"),
    });
    expect(server.requests).toHaveLength(1);
  });

  test("refused by the strict server shows which rule was broken", async () => {
    const encoded = encode(on, request);
    const { message } = await listen(
      send(on, { ...encoded, body: encoded.body.replace('"user"', '"system"') }),
    );
    expect(message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("a system message that is not the first"),
    });
  });
});

describe("a call that is stopped", () => {
  test("before it began sends nothing", async () => {
    const { message } = await ask({ body: ANSWER }, { signal: AbortSignal.abort() });
    expect(message).toMatchObject({ stopReason: "aborted", contents: [] });
    expect(message.error).toBeUndefined();
    expect(server.requests).toHaveLength(0);
  });

  test("while the server thinks, or in mid-answer, keeps what came and hangs up", async () => {
    const waiting = new AbortController();
    setTimeout(() => waiting.abort(), 20);
    expect((await ask({ body: "", mute: true }, { signal: waiting.signal })).message.stopReason).toBe(
      "aborted",
    );

    const midway = new AbortController();
    server.script = { body: ANSWER, cutAt: FIRST_EVENT, ending: "silence" };
    const events: ModelEvent[] = [];
    for await (const event of call(on, request, { signal: midway.signal })) {
      events.push(event);
      midway.abort();
    }
    expect(events.at(-1)).toMatchObject({
      type: "done",
      message: { stopReason: "aborted", contents: [{ content: "Grü" }] },
    });
  });

  test("ends also when the network does not listen to signals", async () => {
    const [deaf, stuck] = [new AbortController(), new AbortController()];
    const never = (): Promise<Response> => new Promise(() => setTimeout(() => deaf.abort(), 5));
    expect((await listen(call(on, request, { signal: deaf.signal, fetch: never }))).message.stopReason).toBe(
      "aborted",
    );
    const silent = async (): Promise<Response> =>
      new Response(new ReadableStream({ start: () => void setTimeout(() => stuck.abort(), 5) }));
    expect(
      (await listen(call(on, request, { signal: stuck.signal, fetch: silent }))).message.stopReason,
    ).toBe("aborted");
  });

  test("at its very end runs no tool", async () => {
    const stopping = new AbortController();
    const tool = chunk({
      content: "I look",
      tool_calls: [{ index: 0, id: "a", function: { name: "x", arguments: "{}" } }],
    });
    server.script = { body: eventStream([tool, chunk({}, "tool_calls")]) };
    const events: ModelEvent[] = [];
    for await (const event of call(on, request, { signal: stopping.signal })) {
      events.push(event);
      if (event.type === "text") stopping.abort();
    }
    expect(events.map((event) => event.type)).toEqual(["text", "done"]);
    expect(events.at(-1)).toMatchObject({
      message: { stopReason: "aborted", contents: [{ content: "I look" }] },
    });
  });

  test("by a reader who walks away hangs up at once", async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        controller.enqueue(
          new TextEncoder().encode(`data: ${JSON.stringify(chunk({ content: "on " }))}\n\n`),
        ),
      cancel: () => {
        cancelled = true;
      },
    });
    const fetch = async (): Promise<Response> => new Response(endless);
    for await (const event of call(on, request, { fetch })) if (event.type === "text") break;
    expect(cancelled).toBe(true);
  });
});

describe("a stream cut at any byte", () => {
  const thinking = [{ type: "reasoning.text", index: 0, text: "Hmm ☃" }];
  const piece = (args: string, id?: string) =>
    chunk({
      tool_calls: [
        { index: 0, ...(id ? { id } : {}), function: { ...(id ? { name: "look" } : {}), arguments: args } },
      ],
    });
  const streams: Record<string, string> = {
    text: ANSWER,
    "text, CRLF, comments": `: wait\r\n\r\n${eventStream([chunk({ content: "é" }), chunk({ content: "🎈!" }, "stop")], { newline: "\r\n" })}`,
    "thinking and tools": eventStream([
      chunk({ reasoning_details: thinking }),
      chunk({ content: "I look" }),
      piece("", "a"),
      piece('{"at":'),
      piece('"☃"}'),
      chunk({}, "tool_calls"),
    ]),
    "an error inside": eventStream(
      [chunk({ content: "Hi" }), { error: { message: "overloaded", code: 503 } }],
      { done: false },
    ),
    "one piece": JSON.stringify({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }], usage }),
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
    const said = partial.contents
      .flatMap((content) => (content.type === "text" ? [content.content] : []))
      .join("");
    expect(textOf(events)).toBe(said);
    if (partial.stopReason === "error") {
      expect(["cut", whole.errorKind]).toContain(partial.errorKind);
      expect(partial.contents.some((content) => content.type === "tool_call")).toBe(false);
    } else expect(partial.contents).toEqual(whole.contents);
  }

  test.each(Object.entries(streams))("leaves valid text, marked: %s", async (_, stream) => {
    const bytes = Buffer.from(stream);
    const cut = (at: number, broken: boolean): Promise<Heard> => {
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let from = 0; from < at; from += 50)
            controller.enqueue(bytes.subarray(from, Math.min(at, from + 50)));
          if (!broken) controller.close();
        },
        pull: (controller) => controller.error(new Error("reset")),
      });
      return listen(
        call(on, request, { fetch: async () => new Response(source), now: () => 1, newId: () => "x" }),
      );
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
    for (let at = 0; at < bytes; at += 13) {
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
