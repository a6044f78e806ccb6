import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import {
  geminiChunk as chunk,
  geminiError,
  geminiStream,
  startGeminiServer,
} from "../testing/geminiServer.js";
import type { ScriptedServer, ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call, encode, send } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEY = "AIza-canary-0123456789";
const MOST_BYTES = 5000;
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [
    { name: "files/read", description: "", parameters: { type: "object" } },
    { name: "9lives", description: "Counts.", parameters: { type: "object" } },
  ],
};
const usage = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 };
const ANSWER = geminiStream([
  chunk([{ text: "Hm ☃", thought: true }]),
  chunk([{ text: "Grü" }]),
  chunk([{ text: "ße 🎈" }]),
  chunk([{ text: "", thoughtSignature: "c2lnMQ==" }], "STOP", usage),
]);

let server: ScriptedServer;
let on: Model;
beforeAll(async () => {
  server = await startGeminiServer({ third: true, apiKey: KEY, window: MOST_BYTES / 4 });
  on = model({ api: "gemini", id: "gemini-3-flash", baseUrl: server.origin, apiKey: KEY });
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
    const { message } = await listen(send(on, encoded));
    expect(message.stopReason).toBe("stop");
    const [received] = server.requests;
    expect(received?.url).toBe("/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse");
    expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
    expect(received?.headers["x-goog-api-key"]).toBe(KEY);
    expect(encoded.body + encoded.url).not.toContain(KEY);
  });

  test("without a key sends none", () => {
    expect(encode({ ...on, apiKey: null }, request).headers).not.toHaveProperty("x-goog-api-key");
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
      contents: [
        { type: "thinking", content: "Hm ☃", signature: "" },
        {
          type: "text",
          content: "Grüße 🎈",
          native: { api: "gemini", data: { pieces: [{ length: 8 }, { length: 0, signature: "c2lnMQ==" }] } },
        },
      ],
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
      stopReason: "stop",
      provider: "google",
      api: "gemini",
      model: "gemini-3-flash",
    });
  });

  test("gives tool calls their true names and every one an id", async () => {
    const names = Object.entries(encode(on, request).renamedTools);
    expect(names.map(([, name]) => name)).toEqual(["files/read", "9lives"]);
    for (const [wireName] of names) expect(wireName).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
    const parts = names.map(([name]) => ({ functionCall: { name, args: {} } }));
    let serial = 0;
    const { message } = await ask(
      { body: geminiStream([chunk(parts, "STOP")]) },
      { newId: () => `0-${++serial}` },
    );
    expect(message.contents).toEqual([
      { type: "tool_call", id: "call_01", name: "files/read", args: {} },
      { type: "tool_call", id: "call_02", name: "9lives", args: {} },
    ]);
    expect(message.stopReason).toBe("tool_use");
  });

  test("hears a server that ignores how it was asked and sends a list", async () => {
    const body = JSON.stringify([chunk([{ text: "Hi" }]), chunk([{ text: "!" }], "STOP")], null, 1);
    const { events, message } = await ask({ body, headers: { "content-type": "application/json" } });
    expect(textOf(events)).toBe("Hi!");
    expect(message.stopReason).toBe("stop");
  });
});

const DETAILS = "type.googleapis.com/google.rpc.";
const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
const waits = (retryDelay: string) => ({ "@type": `${DETAILS}RetryInfo`, retryDelay });
const violates = (quotaId: string) => ({ "@type": `${DETAILS}QuotaFailure`, violations: [{ quotaId }] });

describe("a call that fails", () => {
  test("for a wrong key is a matter of the key", async () => {
    const wrong = { ...on, apiKey: "AIza-wrong" };
    expect((await listen(call(wrong, request))).message).toMatchObject({
      stopReason: "error",
      errorKind: "auth",
      error: "HTTP 400: API key not valid. Please pass a valid API key.",
    });
  });

  test("because it is too long overflows", async () => {
    const long = { messages: [UserMessage.text("x".repeat(MOST_BYTES))] };
    expect((await listen(call(on, long))).message).toMatchObject({ errorKind: "overflow" });
  });

  test("for a broken rule shows which", async () => {
    const encoded = encode(on, request);
    const body = encoded.body.replace('"role":"user"', '"role":"assistant"');
    expect((await listen(send(on, { ...encoded, body }))).message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("Please use a valid role: user, model."),
    });
  });

  test.each([
    [
      "a limit per minute",
      [violates("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), waits("34.07s")],
      "rate_limit",
      34_070,
    ],
    ["a wait", [waits("7s")], "rate_limit", 7000],
    [
      "a limit per day",
      [violates("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), waits("34s")],
      "quota",
      34_000,
    ],
    ["no word more", [], "quota", null],
  ])("for a limit, with %s", async (_, details, kind, retryAfterMs) => {
    const heard = await ask({ status: 429, body: geminiError(429, "RESOURCE_EXHAUSTED", QUOTA, details) });
    expect(heard.message).toMatchObject({ stopReason: "error", errorKind: kind });
    expect(heard.message).not.toHaveProperty("retryAfterMs");
    expect(heard.retryAfterMs).toBe(retryAfterMs);
  });

  test("waits as a header says before what the answer says", async () => {
    const body = geminiError(429, "RESOURCE_EXHAUSTED", "slow down", [waits("7s")]);
    expect((await ask({ status: 429, headers: { "retry-after": "2" }, body })).retryAfterMs).toBe(2000);
  });

  test("in the middle of a stream waits as that says", async () => {
    const error = JSON.parse(geminiError(429, "RESOURCE_EXHAUSTED", "Resource exhausted.", [waits("3s")]));
    const heard = await ask({ body: geminiStream([chunk([{ text: "Hi" }]), error]) });
    expect(heard).toMatchObject({
      retryAfterMs: 3000,
      message: { errorKind: "rate_limit", contents: [{ content: "Hi" }] },
    });
  });

  test.each([
    [400, "FAILED_PRECONDITION", "User location is not supported for the API use.", "invalid_request"],
    [401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", "auth"],
    [403, "PERMISSION_DENIED", "Your project has been denied access.", "auth"],
    [404, "NOT_FOUND", "models/x is not found for API version v1beta", "invalid_request"],
    [429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", "rate_limit"],
    [429, "RESOURCE_EXHAUSTED", `${QUOTA} * Quota exceeded for metric: x, limit: 0`, "quota"],
    [500, "INTERNAL", "An internal error has occurred.", "overloaded"],
    [503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "overloaded"],
    [504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", "overloaded"],
  ])("with %i %s: %s", async (status, word, words, kind) => {
    const { message } = await ask({ status, body: geminiError(status, word, `${words} ${KEY}`) });
    expect(message).toMatchObject({ stopReason: "error", errorKind: kind, contents: [] });
    expect(message.error).toContain(words);
  });

  test("because the server is mute, or falls silent, is a timeout that keeps what came", async () => {
    const mute = await ask({ body: "", mute: true }, { timeouts: { firstByteMs: 30 } });
    expect(mute.message).toMatchObject({ errorKind: "timeout" });
    const cutAt = Buffer.byteLength(ANSWER.slice(0, ANSWER.indexOf("ße")));
    const silent = await ask({ body: ANSWER, cutAt, ending: "silence" }, { timeouts: { idleMs: 30 } });
    expect(silent.message).toMatchObject({
      errorKind: "timeout",
      contents: [{ content: "Hm ☃" }, { content: "Grü" }],
    });
  });
});

describe("a stream cut at any byte", () => {
  const looks = (at: string, more = {}) => ({
    functionCall: { id: at, name: "look", args: { at } },
    ...more,
  });
  const streams: Record<string, string> = {
    text: ANSWER,
    "text, LF": geminiStream([chunk([{ text: "é" }]), chunk([{ text: "🎈!" }], "STOP", usage)], "\n"),
    "thinking and tools": geminiStream([
      chunk([{ text: "Hm", thought: true, thoughtSignature: "c2lnMQ==" }]),
      chunk([{ text: "I look" }]),
      chunk([looks("☃", { thoughtSignature: "c2lnMg==" }), looks("b")]),
      chunk([{ text: "" }], "STOP", usage),
    ]),
    "a tool in pieces": geminiStream([
      chunk([{ functionCall: { id: "f", name: "look", willContinue: true } }]),
      chunk([
        { functionCall: { partialArgs: [{ jsonPath: "$.at", stringValue: "☃" }], willContinue: true } },
      ]),
      chunk([{ functionCall: {} }], "STOP"),
    ]),
    "an error inside": geminiStream([
      chunk([{ text: "Hi" }]),
      { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
    ]),
    "one piece": JSON.stringify([chunk([{ text: "Hi" }]), chunk([{ text: "!" }], "STOP", usage)]),
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
          for (let from = 0; from < at; from += 150)
            controller.enqueue(bytes.subarray(from, Math.min(at, from + 150)));
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
    // Nothing but the closing line ends may be missing from an answer that counts as whole.
    expect(partials).toBeGreaterThanOrEqual(bytes.length - 4);
  });

  test("over a real connection, then answers whole when asked again", async () => {
    const bytes = Buffer.byteLength(ANSWER);
    for (let at = 0; at < bytes; at += 37) {
      const { message, events } = await ask({
        body: ANSWER,
        cutAt: at,
        ending: at % 2 === 0 ? "reset" : "end",
      });
      const whole = (await ask({ body: ANSWER })).message;
      checkPartial(message, events, whole);
      expect(whole).toMatchObject({ stopReason: "stop", contents: [{}, { content: "Grüße 🎈" }] });
    }
  });
});
