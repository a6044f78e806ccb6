import type { LanguageModelV2, LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import {
  AssistantMessage,
  ImageContent,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import { type AiSdkModelOptions, aiSdkModel } from "./aiSdkModel.js";
import { call, encode } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

type Handed = { options: LanguageModelV3CallOptions | null; cancelled: boolean };

/** A language model that plays a list of parts. What it was called with is in `handed`. */
function playing(
  parts: readonly unknown[],
  { version = "v3" as "v2" | "v3", provider = "p", hangs = false, ...options }: Playing = {},
): { on: Model; handed: Handed } {
  const handed: Handed = { options: null, cancelled: false };
  const languageModel = {
    specificationVersion: version,
    provider,
    modelId: "m",
    supportedUrls: { "image/*": [/^https:\/\/ok\./] },
    async doStream(given: { prompt: unknown[] }) {
      handed.options = given as LanguageModelV3CallOptions;
      const stream = new ReadableStream<unknown>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          if (!hangs) controller.close();
        },
        cancel() {
          handed.cancelled = true;
        },
      });
      return { stream };
    },
  };
  return { on: aiSdkModel(languageModel, options), handed };
}
type Playing = AiSdkModelOptions & { version?: "v2" | "v3"; provider?: string; hangs?: boolean };

async function ask(
  on: Model,
  request: ModelRequest = HELLO,
  signal?: AbortSignal,
): Promise<AssistantMessage> {
  for await (const event of call(on, request, signal ? { signal } : {}))
    if (event.type === "done") return event.message;
  throw new Error("no answer");
}

const HELLO: ModelRequest = { messages: [UserMessage.text("hi")] };
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const says = (text: string, id = "0") => [
  { type: "text-start", id },
  { type: "text-delta", id, delta: text },
  { type: "text-end", id },
];
const finish = (unified = "stop", raw?: string) => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
});
const own = {
  usage: Usage.none(),
  stopReason: "tool_use",
  provider: "p",
  api: "ai-sdk",
  model: "m",
} as const;

test("both published interfaces are taken as they are", () => {
  const both = (one: LanguageModelV2 | LanguageModelV3): Model => aiSdkModel(one);
  expect(both).toBeTypeOf("function");
  const fourth = { specificationVersion: "v4", provider: "p", modelId: "m" };
  expect(() => Reflect.apply(aiSdkModel, null, [fourth])).toThrow('must be "v2" or "v3"');
});

describe("what is sent", () => {
  const request: ModelRequest = {
    system: "Be kind.",
    messages: [
      UserMessage.of([
        TextContent.of("look"),
        ImageContent.of(PNG, "https://ok.org/a.png", "https://no.org/b.png"),
      ]),
      AssistantMessage.of(
        [
          {
            ...ThinkingContent.of("hm"),
            native: { api: "ai-sdk", data: { providerMetadata: { p: { sig: "s" } } } },
          },
          ToolCallContent.of("call_1", "look", { at: 1 }),
          ToolCallContent.of("call_2", "9.look"),
        ],
        own,
      ),
      ToolMessage.fromResults([
        ToolResultContent.error("call_1", "nothing there"),
        ToolResultContent.of("call_2", "", { images: [PNG] }),
      ]),
      SystemMessage.text("Now be brief."),
    ],
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
    temperature: 1,
    maxTokens: 50,
  };
  const expected = {
    maxOutputTokens: 50,
    temperature: 1,
    providerOptions: { p: { user: "u" } },
    tools: [{ type: "function", name: "look", description: "Looks.", inputSchema: { type: "object" } }],
    prompt: [
      { role: "system", content: "Be kind." },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
          { type: "file", mediaType: "image/*", data: new URL("https://ok.org/a.png") },
          { type: "text", text: "[An image was here: given as an address, which this model cannot take.]" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: { p: { sig: "s" } } },
          { type: "tool-call", toolCallId: "call_1", toolName: "look", input: { at: 1 } },
          {
            type: "tool-call",
            toolCallId: "call_2",
            toolName: expect.stringMatching(/^tool_9_look_/),
            input: {},
          },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call_1",
            toolName: "look",
            output: { type: "error-text", value: "Error: nothing there" },
          },
          {
            type: "tool-result",
            toolCallId: "call_2",
            toolName: expect.stringMatching(/^tool_9_look_/),
            output: { type: "text", value: "(see what is attached)" },
          },
        ],
      },
      {
        role: "user",
        content: [
          { type: "text", text: expect.stringContaining("call call_2]") },
          { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
        ],
      },
      { role: "user", content: [{ type: "text", text: expect.stringContaining("Now be brief.") }] },
    ],
  } satisfies LanguageModelV3CallOptions;

  test("is what the types of the interface say, and the very bytes of the request, parsed", async () => {
    const { on, handed } = playing([...says("ok"), finish()], { providerOptions: { p: { user: "u" } } });
    await ask(on, request);
    const { abortSignal, ...options } = handed.options ?? { prompt: [] };
    expect(abortSignal).toBeInstanceOf(AbortSignal);
    expect(options).toEqual(expected);
    const { body, blocks, url } = encode(on, request);
    expect(url).toBe("ai-sdk:");
    expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(options)));
    expect(blocks.filter(({ kind }) => kind === "message").map(({ sources }) => sources.length)).toEqual([
      1, 1, 1, 1, 1, 1,
    ]);
  });

  test.each([
    ["v2", "media"],
    ["v3", "image-data"],
  ] as const)("images stay inside a result where the provider can spell that (%s)", (version, type) => {
    const { on } = playing([], { version, provider: "anthropic.messages" });
    const { prompt } = JSON.parse(encode(on, request).body);
    expect(prompt[3].content[1].output).toEqual({
      type: "content",
      value: [
        { type: "text", text: "(see what is attached)" },
        { type, data: "iVBORw0KGgo=", mediaType: "image/png" },
      ],
    });
    expect(prompt).toHaveLength(5);
  });

  test("thinking of another model is only a text", () => {
    const { on } = playing([], { id: "another" });
    const { prompt } = JSON.parse(encode(on, request).body);
    expect(prompt[2].content[0]).toEqual({ type: "text", text: "hm" });
  });
});

describe("what comes back", () => {
  test("text, thinking and calls in their order, with what the provider left on them", async () => {
    const { on } = playing([
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "r", timestamp: new Date(0) },
      { type: "reasoning-start", id: "1" },
      { type: "reasoning-delta", id: "1", delta: "hm" },
      { type: "reasoning-delta", id: "1", delta: "", providerMetadata: { p: { signature: "s" } } },
      { type: "reasoning-end", id: "1" },
      { type: "reasoning-start", id: "2", providerMetadata: { p: { redactedData: "blob" } } },
      { type: "reasoning-end", id: "2" },
      { type: "text-start", id: "1" },
      { type: "text-end", id: "1" },
      ...says("Grüße 🎈"),
      { type: "raw", rawValue: { big: 1n } },
      { type: "source", sourceType: "url", id: "s", url: "https://e.org" },
      { type: "some-new-part" },
      ...says("more"),
      { type: "file", mediaType: "image/png", data: PNG },
      { type: "tool-input-start", id: "c1", toolName: "look" },
      { type: "tool-input-delta", id: "c1", delta: '{"at":1}' },
      { type: "tool-input-end", id: "c1" },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "look",
        input: '{"at":1}',
        providerMetadata: { p: { x: 1 } },
      },
      { type: "tool-call", toolCallId: "w", toolName: "web_search", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "w", toolName: "web_search", result: {} },
      { type: "tool-input-start", id: "c2", toolName: "clock" },
      { type: "tool-input-end", id: "c2" },
      { type: "tool-input-start", id: "c3", toolName: "never said to its end" },
      finish("tool-calls"),
    ]);
    const left = (providerMetadata: unknown) => ({ native: { api: "ai-sdk", data: { providerMetadata } } });
    expect(await ask(on)).toMatchObject({
      stopReason: "tool_use",
      contents: [
        { type: "thinking", content: "hm", signature: "", ...left({ p: { signature: "s" } }) },
        { type: "thinking", content: "", signature: "", ...left({ p: { redactedData: "blob" } }) },
        { type: "text", content: "Grüße 🎈" },
        { type: "text", content: "more" },
        { type: "text", content: "[The model made something that cannot be shown here: image/png.]" },
        { type: "tool_call", id: "c1", name: "look", args: { at: 1 }, ...left({ p: { x: 1 } }) },
        { type: "tool_call", id: "c2", name: "clock", args: {} },
      ],
    });
  });

  test("what it left goes back to it, and to no other", async () => {
    const thought = {
      type: "reasoning-delta",
      id: "1",
      delta: "hm",
      providerMetadata: { p: { signature: "s" } },
    };
    const { on, handed } = playing([thought, ...says("yes"), finish()]);
    const messages = [UserMessage.text("hi"), await ask(on), UserMessage.text("and?")];
    await ask(on, { messages });
    expect(handed.options?.prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: { p: { signature: "s" } } },
        { type: "text", text: "yes" },
      ],
    });
    const elsewhere = [model({ api: "demo", id: "demo" }), playing([], { provider: "q" }).on];
    for (const other of elsewhere) expect(encode(other, { messages }).body).not.toContain("signature");
  });

  test("arguments that are no JSON do not run", async () => {
    const { on } = playing([
      { type: "tool-call", toolCallId: "c", toolName: "f", input: '{"a' },
      finish("tool-calls"),
    ]);
    const [content] = (await ask(on)).contents;
    expect(content).toMatchObject({ args: {}, native: { data: { unparsed: true, rawArguments: '{"a' } } });
  });

  test.each([
    ["stop", undefined, "stop", undefined],
    ["length", "max_tokens", "length", undefined],
    ["length", "model_context_window_exceeded", "error", "overflow"],
    ["content-filter", undefined, "refusal", "refusal"],
    ["tool-calls", undefined, "stop", undefined],
    ["error", undefined, "error", "unknown"],
    ["other", undefined, "error", "cut"],
    ["other", "insufficient_system_resource", "error", "overloaded"],
    ["other", "weary", "error", "unknown"],
    ["astonished", undefined, "error", "unknown"],
  ])("the third version's reason %s (%s) is %s", async (unified, raw, stopReason, errorKind) => {
    const message = await ask(playing([...says("Once"), finish(unified, raw)]).on);
    expect(message).toMatchObject({ stopReason, contents: [{ content: "Once" }] });
    expect(message.errorKind).toBe(errorKind);
    if (errorKind === "unknown") expect(message.error).toContain(raw ?? unified);
  });

  test.each([
    ["stop", "stop", undefined],
    ["content-filter", "refusal", "refusal"],
    ["other", "error", "unknown"],
    ["unknown", "error", "cut"],
  ])("the second version's reason %s is %s", async (finishReason, stopReason, errorKind) => {
    const { on } = playing([...says("Once"), { type: "finish", finishReason, usage: {} }], { version: "v2" });
    const message = await ask(on);
    expect(message.stopReason).toBe(stopReason);
    expect(message.errorKind).toBe(errorKind);
  });

  test("an answer without its end is cut, and none of its calls is run", async () => {
    const { on } = playing([
      ...says("Once"),
      { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" },
    ]);
    expect(await ask(on)).toMatchObject({
      stopReason: "error",
      errorKind: "cut",
      contents: [{ content: "Once" }],
    });
  });
});

describe("usage is counted in classes that do not overlap", () => {
  const nested = {
    inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
    outputTokens: { total: 40, text: 28, reasoning: 12 },
  };
  const { noCache: _, ...unsorted } = nested.inputTokens;
  const flat = {
    inputTokens: 90,
    outputTokens: 40,
    totalTokens: 130,
    reasoningTokens: 12,
    cachedInputTokens: 60,
  };
  const written = { anthropic: { cacheCreationInputTokens: 10 } };
  test.each([
    ["v3", "p", nested, {}, [30, 60, 10, 40, 12]],
    ["v3", "p", { ...nested, inputTokens: unsorted }, {}, [30, 60, 10, 40, 12]],
    [
      "v3",
      "p",
      { ...nested, inputTokens: { total: 50, noCache: -10, cacheRead: 60 } },
      {},
      [0, 50, 0, 40, 12],
    ],
    ["v3", "p", { inputTokens: {}, outputTokens: { text: 3, reasoning: 4 } }, {}, [0, 0, 0, 7, 4]],
    ["v2", "openai.chat", flat, {}, [30, 60, 0, 40, 12]],
    ["v2", "anthropic.messages", flat, written, [90, 60, 10, 40, 12]],
    ["v2", "amazon-bedrock", flat, { bedrock: { usage: { cacheWriteInputTokens: 5 } } }, [90, 60, 5, 40, 12]],
    ["v2", "p", { ...flat, inputTokens: 20 }, {}, [20, 60, 0, 40, 12]],
    ["v2", "p", { inputTokens: undefined }, {}, [0, 0, 0, 0, undefined]],
  ] as const)("%s of %s", async (version, provider, usage, providerMetadata, counts) => {
    const end = { type: "finish", finishReason: version === "v2" ? "stop" : { unified: "stop" }, usage };
    const { on } = playing([...says("x"), { ...end, providerMetadata }], { version, provider });
    const found = (await ask(on)).usage;
    expect([
      found.inputTokens,
      found.cacheReadTokens,
      found.cacheWriteTokens,
      found.outputTokens,
      found.reasoningTokens,
    ]).toEqual(counts);
  });

  test("more of them than the window holds is an overflow nobody told", async () => {
    const { on } = playing([...says("x"), { ...finish(), usage: nested }], { window: 80 });
    expect(await ask(on)).toMatchObject({ stopReason: "error", errorKind: "overflow" });
  });
});

describe("what goes wrong", () => {
  class NamedError extends Error {
    constructor(name: string, message: string, more: object = {}) {
      super(message);
      Object.assign(this, { name, ...more });
    }
  }
  function throwing(error: unknown): Model {
    const doStream = () => Promise.reject(error);
    return aiSdkModel({ specificationVersion: "v3", provider: "p", modelId: "m", doStream });
  }

  test.each([
    ["auth", new NamedError("AI_LoadAPIKeyError", "the key is missing")],
    ["invalid_request", new NamedError("AI_UnsupportedFunctionalityError", "audio not supported")],
    ["network", new NamedError("AI_APICallError", "Cannot connect", { isRetryable: true })],
    ["timeout", new NamedError("AI_APICallError", "late", { cause: { cause: { code: "ETIMEDOUT" } } })],
    ["unknown", new TypeError("x is not a function")],
    ["rate_limit", new NamedError("AI_APICallError", "slow", { statusCode: 429, isRetryable: true })],
    ["unknown", "a word"],
    ["overloaded", { type: "overloaded_error", message: "Overloaded" }],
  ])("%s, thrown or told", async (errorKind, error) => {
    expect(await ask(throwing(error))).toMatchObject({ stopReason: "error", errorKind, contents: [] });
    const told = await ask(playing([...says("Once"), { type: "error", error }, finish("error")]).on);
    expect(told).toMatchObject({ stopReason: "error", errorKind, contents: [{ content: "Once" }] });
  });

  test("when to try again is told", async () => {
    const error = new NamedError("AI_APICallError", "slow", {
      statusCode: 429,
      responseHeaders: { "retry-after": "3", authorization: "secret" },
    });
    const events: ModelEvent[] = [];
    for await (const event of call(throwing(error), HELLO)) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: "done", retryAfterMs: 3000 });
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  test("a stream that breaks is cut, with what had come", async () => {
    let pulls = 0;
    const stream = new ReadableStream<unknown>({
      pull(controller) {
        const part = says("Once")[pulls++];
        if (part) controller.enqueue(part);
        else controller.error(new TypeError("terminated"));
      },
    });
    const doStream = async () => ({ stream });
    const on = aiSdkModel({ specificationVersion: "v3", provider: "p", modelId: "m", doStream });
    expect(await ask(on)).toMatchObject({ errorKind: "cut", contents: [{ content: "Once" }] });
  });

  test("a model without its language model says what to do", async () => {
    const { aiSdk: _, ...on } = playing([]).on;
    const message = await ask(on);
    expect(message).toMatchObject({ errorKind: "invalid_request" });
    expect(message.error).toContain("aiSdkModel(languageModel)");
  });

  test("a stop reaches the language model, and keeps what had come", async () => {
    const { on, handed } = playing(says("Once"), { hangs: true });
    const stop = new AbortController();
    let message: AssistantMessage | undefined;
    for await (const event of call(on, HELLO, { signal: stop.signal })) {
      if (event.type === "text") stop.abort();
      if (event.type === "done") message = event.message;
    }
    expect(message).toMatchObject({ stopReason: "aborted", contents: [{ content: "Once" }] });
    expect(handed.cancelled).toBe(true);
    expect(handed.options?.abortSignal?.aborted).toBe(true);
  });
});
