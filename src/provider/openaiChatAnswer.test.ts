import { describe, expect, test } from "vitest";
import { chunk, eventStream } from "../testing/chatCompletionsServer.js";
import type { Decoded, ModelDelta, ModelOptions } from "./index.js";
import { model } from "./model.js";
import { openaiChat } from "./openaiChat.js";
import { sseReader } from "./sse.js";

const options: ModelOptions = { api: "openai-chat", id: "gpt", baseUrl: "http://127.0.0.1:9/v1" };

function decode(stream: string, more: Partial<ModelOptions> = {}): Decoded & { deltas: ModelDelta[] } {
  const decoder = openaiChat.decoder(model({ ...options, ...more }));
  const reader = sseReader();
  const events = [...reader.push(new TextEncoder().encode(stream)), ...reader.end()];
  const deltas = events.flatMap(({ data, event }) => decoder.push(data, event));
  return { ...decoder.end(), deltas };
}
const answer = (...chunks: unknown[]): Decoded & { deltas: ModelDelta[] } => decode(eventStream(chunks));
const text = (content: string): Record<string, unknown> => chunk({ content });
const end = chunk({}, "stop");

describe("a streamed answer", () => {
  test("is its text, with usage in disjoint classes and its stop reason", () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 30,
      total_tokens: 130,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
      completion_tokens_details: { reasoning_tokens: 12 },
    };
    const got = answer(chunk({ role: "assistant", content: "" }), text("Hel"), text("lo"), end, {
      choices: [],
      usage,
    });
    expect(got).toMatchObject({
      contents: [{ type: "text", content: "Hello" }],
      stopReason: "stop",
      provider: "openai",
      api: "openai-chat",
      model: "gpt",
      usage: {
        inputTokens: 30,
        outputTokens: 30,
        cacheReadTokens: 60,
        cacheWriteTokens: 10,
        reasoningTokens: 12,
        cost: null,
      },
    });
    expect(got.deltas).toEqual([
      { type: "text", part: 0, delta: "Hel" },
      { type: "text", part: 0, delta: "lo" },
    ]);
    expect(got.error).toBeUndefined();
  });

  test.each([
    ["without [DONE]", eventStream([text("Hi"), end], { done: false })],
    ["with CRLF", eventStream([text("Hi"), end], { newline: "\r\n" })],
    ["with comments", `: OPENROUTER PROCESSING\n\n${eventStream([text("Hi"), end])}`],
    ["without finish_reason, but with [DONE]", eventStream([text("Hi")])],
    [
      "with an empty first chunk, as Azure sends",
      eventStream([{ choices: [], prompt_filter_results: [] }, text("Hi"), end]),
    ],
    ["with no blank line at the end", eventStream([text("Hi"), end], { done: false }).trimEnd()],
    ["with single line breaks between events", eventStream([text("Hi"), end]).replaceAll("\n\n", "\n")],
    [
      "with chunks we know nothing about",
      eventStream([{ ping: 1 }, "5", "null", "keepalive", text("Hi"), { choices: [{}] }, end]),
    ],
    [
      "with null where things could be",
      eventStream([
        chunk({ content: "Hi", tool_calls: null, refusal: null, reasoning: null }),
        { choices: null, usage: null },
        end,
      ]),
    ],
    [
      "with content in parts",
      eventStream([
        chunk({
          content: [
            { type: "text", text: "H" },
            { type: "text", text: "i" },
          ],
        }),
        end,
      ]),
    ],
    [
      "with the message whole in a chunk",
      eventStream([{ choices: [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] }]),
    ],
    ["with garbage after its end", `${eventStream([text("Hi"), end], { done: false })}data: {"choi`],
  ])("%s is read all the same", (_, stream) => {
    const { contents, stopReason, errorKind } = decode(stream);
    expect({ contents, stopReason, errorKind }).toEqual({
      contents: [{ type: "text", content: "Hi" }],
      stopReason: "stop",
      errorKind: undefined,
    });
  });

  test("that never says why it stopped is whole only from a server known for it", () => {
    const silent = eventStream([text("Hi")], { done: false });
    expect(decode(silent)).toMatchObject({
      stopReason: "error",
      errorKind: "cut",
      contents: [{ content: "Hi" }],
    });
    expect(decode(silent, { quirks: { finishReason: "absent" } })).toMatchObject({ stopReason: "stop" });
  });

  test("with an event that cannot be read is not passed off as whole", () => {
    expect(answer(text("Hi "), '{"choices":[{"delta":{"content":"lost', text("there"), end)).toMatchObject({
      stopReason: "error",
      errorKind: "cut",
      contents: [{ content: "Hi there" }],
    });
  });
});

describe("reasoning", () => {
  test.each(["reasoning_content", "reasoning", "reasoning_text"])("in %s is thinking", (field) => {
    const got = answer(
      chunk({ [field]: "Hm", content: "" }),
      chunk({ [field]: "m." }),
      chunk({ [field]: "", content: "Yes." }),
      end,
    );
    expect(got.contents).toEqual([
      { type: "thinking", content: "Hmm.", signature: "" },
      { type: "text", content: "Yes." },
    ]);
    expect(got.deltas.map(({ type, part }) => `${type} ${part}`)).toEqual([
      "thinking 0",
      "thinking 0",
      "text 1",
    ]);
  });

  test("said in two fields at once is heard once", () => {
    const got = answer(
      chunk({
        reasoning: "Hm.",
        reasoning_content: "Hm.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm.", index: 0 }],
      }),
      end,
    );
    expect(got.contents).toMatchObject([{ type: "thinking", content: "Hm." }]);
  });

  test("in details is kept for the way back, pieces joined, signature and encrypted parts with it", () => {
    const piece = (detail: Record<string, unknown>) =>
      chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, ...detail }] });
    const blob = (data: string) => chunk({ reasoning_details: [{ type: "reasoning.encrypted", data }] });
    const got = answer(
      piece({ text: "Hm", signature: null }),
      piece({ text: "m." }),
      piece({ signature: "s1" }),
      blob("b1"),
      blob("b2"),
      text("Yes."),
      end,
    );
    expect(got.contents[0]).toEqual({
      type: "thinking",
      content: "Hmm.",
      signature: "s1",
      native: {
        api: "openai-chat",
        data: {
          reasoning_details: [
            { type: "reasoning.text", index: 0, text: "Hmm.", signature: "s1" },
            { type: "reasoning.encrypted", data: "b1" },
            { type: "reasoning.encrypted", data: "b2" },
          ],
        },
      },
    });
    expect(got.contents[1]).toEqual({ type: "text", content: "Yes." });
  });

  test("that is only encrypted is still a part of its own", () => {
    const got = answer(
      chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "b" }] }),
      text("Yes."),
      end,
    );
    expect(got.contents.map((content) => content.type)).toEqual(["thinking", "text"]);
    expect(got.deltas).toEqual([{ type: "text", part: 1, delta: "Yes." }]);
  });

  test("in Mistral's content parts is thinking too", () => {
    const got = answer(
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
      chunk({ content: "Yes." }),
      end,
    );
    expect(got.contents).toMatchObject([
      { type: "thinking", content: "Hm." },
      { type: "text", content: "Yes." },
    ]);
  });
});

describe("why an answer ended", () => {
  test.each([
    ["stop", "stop", undefined],
    ["STOP", "stop", undefined],
    ["length", "length", undefined],
    ["model_length", "length", undefined],
    ["tool_calls", "stop", undefined],
    ["content_filter", "refusal", "refusal"],
    ["error", "error", "unknown"],
    ["insufficient_system_resource", "error", "overloaded"],
    ["constructor", "error", "unknown"],
  ])("%s is %s", (finish, stopReason, errorKind) => {
    const got = answer(text("Hi"), chunk({}, finish));
    expect(got).toMatchObject({ stopReason, contents: [{ content: "Hi" }] });
    expect(got.errorKind).toBe(errorKind);
  });

  test("a reason nobody knows is an error with its name in it", () => {
    expect(answer(chunk({}, "moon_phase")).error).toContain('"moon_phase"');
  });

  test("a refusal is told as one, with its words, though it ends like any answer", () => {
    const got = answer(chunk({ refusal: "I can" }), chunk({ refusal: "not." }), end);
    expect(got).toMatchObject({
      stopReason: "refusal",
      errorKind: "refusal",
      contents: [{ content: "I cannot." }],
    });
  });

  test.each([
    [{ error: { message: "slow down", code: "rate_limit_exceeded" } }, "rate_limit", "slow down"],
    [{ error: { message: "slow down", code: 429 } }, "rate_limit", "slow down"],
    [{ error: "Engine overloaded" }, "overloaded", "Engine overloaded"],
    [{ object: "error", message: "boom", code: 500 }, "overloaded", "boom"],
    [
      { choices: [{ delta: {}, finish_reason: "error", error: { code: 502, message: "upstream died" } }] },
      "overloaded",
      "upstream died",
    ],
    [
      {
        error: { message: "This model's maximum context length is 10 tokens", type: "invalid_request_error" },
      },
      "overflow",
      "maximum",
    ],
  ])("an error inside a stream that began well: %j", (failure, errorKind, words) => {
    const got = answer(text("Hi"), failure, text(" never"));
    expect(got).toMatchObject({ stopReason: "error", errorKind, contents: [{ content: "Hi" }] });
    expect(got.error).toContain(words);
  });

  test("an event named error may be plain words", () => {
    expect(
      decode(`${eventStream([text("Hi")], { done: false })}event: error\ndata: Internal server error\n\n`),
    ).toMatchObject({
      stopReason: "error",
      errorKind: "overloaded",
      error: "Internal server error",
    });
  });

  test("counts that do not fit the window give away a request that was cut silently", () => {
    const counted = (prompt_tokens: number, completion_tokens: number, finish: string): string =>
      eventStream([
        text("Hi"),
        chunk({}, finish),
        { choices: [], usage: { prompt_tokens, completion_tokens } },
      ]);
    expect(decode(counted(1200, 5, "stop"), { window: 1000 })).toMatchObject({
      stopReason: "error",
      errorKind: "overflow",
    });
    expect(decode(counted(999, 0, "length"), { window: 1000 })).toMatchObject({ errorKind: "overflow" });
    expect(decode(counted(900, 5, "stop"), { window: 1000 })).toMatchObject({ stopReason: "stop" });
  });
});

describe("usage", () => {
  const used = (usage: Record<string, unknown>) => answer(text("x"), end, { choices: [], usage }).usage;
  const [prompt_tokens, completion_tokens] = [100, 20];

  test("that no call can have is kept within what can be added up", () => {
    const most = 1_000_000_000;
    const { inputTokens, outputTokens } = used({ prompt_tokens: 1e300, completion_tokens: 1e19 });
    expect([inputTokens, outputTokens]).toEqual([most, most]);
    expect(used({ prompt_tokens: -5, completion_tokens: "NaN" })).toMatchObject({
      inputTokens: 0,
      outputTokens: 0,
    });
  });

  test.each([
    [
      "more cached than prompt",
      { prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens: 500 } },
      [0, 20, 100, 0],
    ],
    ["DeepSeek's cache", { prompt_tokens, completion_tokens, prompt_cache_hit_tokens: 40 }, [60, 20, 40, 0]],
    ["Mistral's cache", { prompt_tokens, completion_tokens, num_cached_tokens: 40 }, [60, 20, 40, 0]],
    [
      "reasoning beside the completion",
      {
        prompt_tokens,
        completion_tokens,
        total_tokens: 150,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      [100, 50, 0, 0],
    ],
    ["counts left out", { prompt_tokens }, [100, 0, 0, 0]],
    ["counts that are none", { prompt_tokens: -1, completion_tokens: "many" }, [0, 0, 0, 0]],
  ])("%s", (_, usage, [input, output, read, write]) => {
    expect(used(usage)).toMatchObject({
      inputTokens: input,
      outputTokens: output,
      cacheReadTokens: read,
      cacheWriteTokens: write,
    });
  });

  test("on every chunk, or inside the choice, counts once", () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    expect(
      answer(
        { ...text("a"), usage: { prompt_tokens: 10, completion_tokens: 1 } },
        { ...end, usage },
        { choices: [], usage: null },
      ).usage,
    ).toMatchObject({ inputTokens: 10, outputTokens: 5 });
    expect(answer(text("a"), { choices: [{ delta: {}, finish_reason: "stop", usage }] }).usage).toMatchObject(
      { inputTokens: 10, outputTokens: 5 },
    );
  });
});

describe("an answer in one piece", () => {
  const on = model(options);

  test("is read like a stream", () => {
    const message = {
      role: "assistant",
      content: "Hi",
      reasoning_content: "Hm.",
      tool_calls: [{ id: "a", function: { name: "look", arguments: "{}" } }],
    };
    const body = JSON.stringify({
      choices: [{ message, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
    expect(openaiChat.decodeWhole(on, 200, body)).toMatchObject({
      stopReason: "tool_use",
      contents: [
        { type: "thinking", content: "Hm." },
        { type: "text", content: "Hi" },
        { type: "tool_call", id: "a" },
      ],
      usage: { inputTokens: 3, outputTokens: 2 },
    });
  });

  test.each([
    ["half a body", '{"choices":[{"message":{"content":"Hi', "cut"],
    ["nothing", "", "cut"],
    ["a page", "<html><style>p{}</style><p>It works!</p></html>", "unknown"],
    ["an error", '{"error":{"message":"no credit","code":"insufficient_quota"}}', "quota"],
    ["something else", '{"hello":"world"}', "unknown"],
  ])("that is %s fails", (_, body, errorKind) => {
    expect(openaiChat.decodeWhole(on, 200, body)).toMatchObject({
      stopReason: "error",
      errorKind,
      contents: [],
    });
  });
});
