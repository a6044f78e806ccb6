import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import {
  type BedrockServer,
  begins,
  called,
  converseStream,
  ends,
  frame,
  redacted,
  refuse,
  startBedrockServer,
  streaming,
  texts,
  thoughts,
} from "../testing/bedrockServer.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call, encode, isRetryable, send } from "./call.js";
import type { Fetch, Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEYS = {
  accessKeyId: "AKIDCANARY",
  secretAccessKey: "canary/secret+key",
  sessionToken: "canary/session==",
};
const SIGNING = { ...KEYS, region: "us-west-2" };
const ID = "us.anthropic.claude-opus-5-v1:0";
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files.read", description: "", parameters: { type: "object" } }],
};
const ANSWER = [begins, ...texts(0, "Grü", "ße 🎈"), ...ends("end_turn")];

let server: BedrockServer;
let on: Model;
beforeAll(async () => {
  server = await startBedrockServer({ keys: SIGNING });
  on = model({ api: "bedrock", id: ID, baseUrl: server.baseUrl, signing: SIGNING });
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
  expect(JSON.stringify(done.message)).not.toMatch(/canary/i);
  return { events, message: done.message, retryAfterMs: done.retryAfterMs };
}
function ask(script: ServerScript, options: CallOptions = {}): Promise<Heard> {
  server.script = script;
  return listen(call(on, request, options));
}
const textOf = (events: readonly ModelEvent[]): string =>
  events.flatMap((event) => (event.type === "text" ? [event.delta] : [])).join("");

describe("a call", () => {
  test("sends exactly the bytes that were encoded, signed, with no secret anywhere", async () => {
    const encoded = encode(on, request);
    server.script = streaming(ANSWER);
    const now = Date.UTC(2026, 3, 5, 6, 7, 8);
    const { events, message } = await listen(send(on, encoded, { now: () => now, newId: () => "id-1" }));
    const [received] = server.requests;
    expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
    expect(received?.headers["x-amz-date"]).toBe("20260405T060708Z");
    expect(JSON.stringify([encoded, received?.headers])).not.toContain(KEYS.secretAccessKey);
    expect(JSON.stringify(encoded)).not.toMatch(/canary/i);
    expect(textOf(events)).toBe("Grüße 🎈");
    expect(message).toEqual({
      role: "assistant",
      id: "id-1",
      timestamp: now,
      contents: [{ type: "text", content: "Grüße 🎈" }],
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
      stopReason: "stop",
      provider: "bedrock",
      api: "bedrock",
      model: ID,
    });
  });

  test("is signed also when someone else brings it to the network", async () => {
    const urls: string[] = [];
    const fetch: Fetch = (url, init) => {
      urls.push(url);
      return globalThis.fetch(url, init);
    };
    const { message } = await ask(streaming(ANSWER), { fetch });
    expect(message.stopReason).toBe("stop");
    expect(urls).toEqual([`${server.baseUrl}/model/${encodeURIComponent(ID)}/converse-stream`]);
  });

  test("to an ARN, whose slashes are part of its name, is signed as the server computes it", async () => {
    const id = "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-opus-5-v1:0";
    server.script = streaming(ANSWER);
    const { message } = await listen(call({ ...on, id }, request));
    expect(message).toMatchObject({ stopReason: "stop", model: id });
  });

  test("with a key of Bedrock's own is not signed", async () => {
    const keyed = await startBedrockServer({ apiKey: "canary-key" });
    const { signing: _, ...rest } = on;
    const { message } = await listen(
      call({ ...rest, baseUrl: keyed.baseUrl, apiKey: "canary-key" }, request),
    );
    await keyed.close();
    expect(message.stopReason).toBe("stop");
    expect(keyed.requests[0]?.headers["x-amz-date"]).toBeUndefined();
  });

  test("gives tool calls their true names, in their places", async () => {
    const [wireName = ""] = Object.keys(encode(on, request).renamedTools);
    const { events } = await ask(
      streaming([
        begins,
        ...texts(0, "I look."),
        ...called(1, "tooluse_1", wireName, '{"a":', "1}"),
        ...ends("tool_use"),
      ]),
    );
    expect(events.filter((event) => event.type === "tool_call")).toEqual([
      { type: "tool_call", part: 1, id: "tooluse_1", name: "files.read", args: { a: 1 } },
    ]);
  });

  test("hears a model that does not stream when it has tools", async () => {
    const body = JSON.stringify({
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Hm.", signature: "s" } } },
            { reasoningContent: { redactedContent: "YmxvYg==" } },
            { text: "Hi" },
            { toolUse: { toolUseId: "t1", name: "look", input: { a: 1 } } },
          ],
        },
      },
      stopReason: "tool_use",
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
    server.script = { body, headers: { "content-type": "application/json" } };
    const llama = { ...on, id: "us.meta.llama3-3-70b-instruct-v1:0" };
    const { events, message } = await listen(call(llama, request));
    expect(server.requests[0]?.url).toMatch(/\/converse$/);
    expect(textOf(events)).toBe("Hi");
    expect(message).toMatchObject({ stopReason: "tool_use", usage: { inputTokens: 3, outputTokens: 2 } });
    expect(message.contents).toEqual([
      { type: "thinking", content: "Hm.", signature: "s" },
      { type: "thinking", content: "", signature: "YmxvYg==", redacted: true },
      { type: "text", content: "Hi" },
      { type: "tool_call", id: "t1", name: "look", args: { a: 1 } },
    ]);
  });
});

describe("a call that fails", () => {
  test.each([
    [403, "AccessDeniedException", `User ${KEYS.accessKeyId} is not authorized`, "auth"],
    [403, "UnrecognizedClientException", "The security token included in the request is invalid.", "auth"],
    [403, "ExpiredTokenException", `The token ${KEYS.sessionToken} is expired`, "auth"],
    [400, "IncompleteSignatureException", "Authorization header requires …", "auth"],
    [400, "ValidationException", "Input is too long for requested model.", "overflow"],
    [
      400,
      "ValidationException",
      "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
      "overflow",
    ],
    [400, "ValidationException", "prompt is too long: 210000 tokens > 200000 maximum", "overflow"],
    [400, "ValidationException", "The provided model identifier is invalid.", "invalid_request"],
    [400, "ServiceQuotaExceededException", "Your request exceeds the service quota", "quota"],
    [404, "ResourceNotFoundException", "Model not found", "invalid_request"],
    [408, "ModelTimeoutException", "The request took too long to process.", "timeout"],
    [
      424,
      "ModelErrorException",
      "The request failed due to an error while processing the model.",
      "overloaded",
    ],
    [429, "ThrottlingException", "Too many tokens, please wait before trying again.", "rate_limit"],
    [429, "ThrottlingException", "Too many tokens per day, please wait before trying again.", "quota"],
    [429, "ModelNotReadyException", "Model is not ready for inference.", "overloaded"],
    [500, "InternalServerException", "The system encountered an unexpected error", "overloaded"],
    [503, "ServiceUnavailableException", "Bedrock is unable to process your request.", "overloaded"],
  ])("with %i %s %s is of kind %s", async (status, type, text, kind) => {
    const { message } = await ask(refuse(status, type, text));
    expect(message).toMatchObject({ stopReason: "error", errorKind: kind, contents: [] });
    const shown = text.replace(KEYS.accessKeyId, "[key]").replace(KEYS.sessionToken, "[key]");
    expect(message.error).toBe(`HTTP ${status}: ${type}: ${shown}`);
    const waits = ["rate_limit", "overloaded", "timeout"].includes(kind);
    expect(message.errorKind && isRetryable(message.errorKind)).toBe(waits);
  });

  test("with an error in the words of a gateway before Bedrock is read, too", async () => {
    const { message } = await ask({ status: 403, body: '{"Message":"User is not authorized"}' });
    expect(message).toMatchObject({ errorKind: "auth", error: "HTTP 403: User is not authorized" });
    const coral = '{"__type":"com.amazon.coral.service#ThrottlingException","message":"Rate exceeded"}';
    expect((await ask({ status: 400, body: coral })).message).toMatchObject({ errorKind: "rate_limit" });
    expect((await ask({ status: 502, body: "<h1>Bad gateway</h1>" })).message).toMatchObject({
      errorKind: "overloaded",
    });
  });

  test("because of too many requests says when to try again", async () => {
    const { retryAfterMs } = await ask(
      refuse(429, "ThrottlingException", "Slow down", { "retry-after": "7" }),
    );
    expect(retryAfterMs).toBe(7000);
  });

  test("because a key is wrong, or the request too long, is told by the server itself", async () => {
    const wrong = { ...SIGNING, secretAccessKey: "another-secret" };
    expect((await listen(call({ ...on, signing: wrong }, request))).message).toMatchObject({
      errorKind: "auth",
      error: expect.stringContaining("InvalidSignatureException"),
    });
    const small = await startBedrockServer({ window: 100 });
    const long = { ...request, messages: [UserMessage.text("x".repeat(1000))] };
    const over = await listen(call({ ...on, baseUrl: small.baseUrl }, long));
    await small.close();
    expect(over.message).toMatchObject({ errorKind: "overflow" });
  });

  test.each([
    ["throttlingException", "Too many tokens, please wait before trying again.", "rate_limit"],
    ["internalServerException", "The system encountered an unexpected error", "overloaded"],
    ["serviceUnavailableException", "Try again", "overloaded"],
    ["modelStreamErrorException", "The model broke off", "overloaded"],
    ["modelTimeoutException", "Too slow", "timeout"],
    ["validationException", "Input is too long for requested model.", "overflow"],
    ["validationException", "Bad words", "invalid_request"],
  ])("in mid-stream with %s %s keeps what came, and is of kind %s", async (event, message, kind) => {
    const script = streaming([begins, ...texts(0, "Hi"), { event, says: { message } }]);
    for (const ending of ["end", "reset"] as const) {
      const heard = await ask({ ...script, ending });
      expect(heard.message).toMatchObject({ errorKind: kind, contents: [{ content: "Hi" }] });
      expect(heard.message.error).toBe(`${event}: ${message}`);
    }
  });

  test("in mid-stream with an error that is no exception of the API is told as it is", async () => {
    const error = frame(
      { "message-type": "error", "error-code": "InternalFailure", "error-message": "Broken" },
      "",
    );
    const body = Buffer.concat([converseStream([begins, ...texts(0, "Hi")]), error]);
    const { message } = await ask({ ...streaming([]), body });
    expect(message).toMatchObject({ errorKind: "overloaded", error: "InternalFailure: Broken" });
  });

  test("because the server falls silent is a timeout", async () => {
    const cutAt = converseStream(ANSWER.slice(0, 2)).length;
    const { message } = await ask(
      { ...streaming(ANSWER), cutAt, ending: "silence" },
      { timeouts: { idleMs: 30 } },
    );
    expect(message).toMatchObject({ errorKind: "timeout", contents: [{ content: "Grü" }] });
  });

  test("refused by the strict server shows which rule was broken", async () => {
    const encoded = encode(on, request);
    const body = encoded.body.replace('"role":"user"', '"role":"assistant"');
    const { message } = await listen(send(on, { ...encoded, body }));
    expect(message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("must start with a user message"),
    });
  });
});

describe("why an answer stopped", () => {
  test.each([
    ["end_turn", "stop", undefined],
    ["stop_sequence", "stop", undefined],
    ["max_tokens", "length", undefined],
    ["guardrail_intervened", "refusal", "refusal"],
    ["content_filtered", "refusal", "refusal"],
    ["malformed_model_output", "error", "unknown"],
    ["malformed_tool_use", "error", "unknown"],
    ["model_context_window_exceeded", "error", "overflow"],
    ["bored", "error", "unknown"],
  ])("%s is %s", async (reason, stopReason, kind) => {
    const { message } = await ask(streaming([begins, ...texts(0, "Hi"), ...ends(reason)]));
    expect(message).toMatchObject({ stopReason, contents: [{ content: "Hi" }] });
    expect(message.errorKind).toBe(kind);
    if (stopReason === "error") expect(message.error).toContain(reason);
  });
});

describe("a stream that is damaged", () => {
  const STREAMS = {
    text: ANSWER,
    "thinking and tools": [
      begins,
      ...thoughts(0, "Hmm ☃"),
      ...redacted(1, "blob"),
      ...texts(2, "I look"),
      ...called(3, "tooluse_a", "look", '{"at":', '"☃"}'),
      ...called(4, "tooluse_b", "look"),
      ...ends("tool_use"),
    ],
    "an error inside": [
      begins,
      ...texts(0, "Hi"),
      { event: "throttlingException", says: { message: "Slow down" } },
    ],
  };

  /** What may be left: a beginning of the whole answer, and either all of it or a failure that says so. */
  function checkPartial({ message, events }: Heard, whole: AssistantMessage): void {
    message.contents.forEach((content, at) => {
      const full = whole.contents[at];
      expect(full?.type).toBe(content.type);
      if (content.type !== "tool_call" && full && full.type !== "tool_call")
        expect(full.content.startsWith(content.content)).toBe(true);
    });
    const said = message.contents.flatMap((content) => (content.type === "text" ? [content.content] : []));
    expect(textOf(events)).toBe(said.join(""));
    if (message.stopReason === "error") {
      expect(["cut", whole.errorKind]).toContain(message.errorKind);
      expect(message.contents.some((content) => content.type === "tool_call")).toBe(false);
    } else expect(message.contents).toEqual(whole.contents);
  }

  const unsigned = model({ api: "bedrock", id: ID });
  const encoded = encode(unsigned, request);

  /** The bytes as they come out of a network: in pieces, and perhaps with an end that is none. */
  function hear(bytes: Uint8Array, size: number, broken: boolean): Promise<Heard> {
    const source = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let from = 0; from < bytes.length; from += size)
          controller.enqueue(bytes.subarray(from, Math.min(bytes.length, from + size)));
        if (!broken) controller.close();
      },
      pull: (controller) => controller.error(new Error("reset")),
    });
    const fetch = async (): Promise<Response> => new Response(source);
    return listen(send(unsigned, encoded, { fetch, now: () => 1, newId: () => "x" }));
  }

  test("over a real connection is answered whole when asked again", async () => {
    const bytes = converseStream(ANSWER).length;
    const whole = (await ask(streaming(ANSWER))).message;
    for (let at = 0; at < bytes; at += 61) {
      const ending = at % 2 === 0 ? "reset" : "end";
      checkPartial(await ask({ ...streaming(ANSWER), cutAt: at, ending }), whole);
      expect((await ask(streaming(ANSWER))).message.contents).toEqual(whole.contents);
    }
  });

  test.each(Object.entries(STREAMS))(
    "by a cut at any byte leaves valid text, marked: %s",
    async (_, events) => {
      const bytes = converseStream(events);
      const whole = (await hear(bytes, 700, false)).message;
      let partials = 0;
      for (let at = 0; at < bytes.length; at++) {
        const heard = await hear(bytes.subarray(0, at), 1 + (at % 97), at % 2 === 1);
        checkPartial(heard, whole);
        if (heard.message.stopReason === "error") partials++;
      }
      expect(partials).toBeGreaterThan(bytes.length / 3);
    },
  );

  test("by one wrong byte anywhere shows no wrong word", async () => {
    const bytes = converseStream(STREAMS["thinking and tools"]);
    const whole = (await hear(bytes, 700, false)).message;
    let cuts = 0;
    for (let at = 0; at < bytes.length; at += 5) {
      const wrong = Uint8Array.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (at % 8));
      const heard = await hear(wrong, 500, false);
      checkPartial(heard, whole);
      if (heard.message.errorKind === "cut") cuts++;
    }
    expect(cuts).toBeGreaterThan(bytes.length / 10);
  });

  test("by events nobody knows, blocks that reuse a number, and words after the end, is still read", async () => {
    const { message } = await ask(
      streaming([
        { event: "news", says: {} },
        begins,
        {
          event: "contentBlockDelta",
          says: { contentBlockIndex: 0, delta: { reasoningContent: { text: "Hm." } } },
        },
        ...texts(0, "Yes", "."),
        { event: "contentBlockDelta", says: { contentBlockIndex: 1, delta: { toolUse: { input: "{}" } } } },
        { event: "contentBlockDelta", says: { contentBlockIndex: 2, delta: { citation: {} } } },
        ...ends("end_turn"),
        ...texts(3, "Late."),
      ]),
    );
    expect(message.contents).toEqual([
      { type: "thinking", content: "Hm.", signature: "" },
      { type: "text", content: "Yes." },
    ]);
  });
});
