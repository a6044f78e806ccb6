import { describe, expect, test } from "vitest";
import { UserMessage } from "../message/index.js";
import { geminiChunk as chunk, geminiError } from "../testing/geminiServer.js";
import { encode } from "./call.js";
import type { Decoded, ModelDelta } from "./codec.js";
import { geminiDecoder, geminiWhole } from "./geminiAnswer.js";
import { model } from "./model.js";

const on = model({ api: "gemini", id: "gemini-3-flash", apiKey: "k" });

function read(chunks: readonly unknown[], window: number | null = null): Decoded & { deltas: ModelDelta[] } {
  const decoder = geminiDecoder({ ...on, window });
  const deltas = chunks.flatMap((one) => decoder.push(typeof one === "string" ? one : JSON.stringify(one)));
  return { ...decoder.end(), deltas };
}

/** What the next request holds of an answer. */
function replayed(decoded: Decoded, to = on): unknown[] {
  const { contents, usage, stopReason, provider, api, model: id } = decoded;
  const answer = { contents, usage, stopReason, provider, api, model: id };
  const { body } = encode(to, {
    messages: [UserMessage.text("hi"), { role: "assistant", id: "a", timestamp: 0, ...answer }],
  });
  return JSON.parse(body).contents[1].parts;
}

const native = (data: unknown) => ({ native: { api: "gemini", data } });

describe("what a signature stands on", () => {
  test("is given back exactly as it came, while people read one text", () => {
    const parts = [
      { text: "Hm.", thought: true },
      { text: "", thoughtSignature: "YQ==" },
      { text: "One " },
      { text: "two", thoughtSignature: "Yg==" },
      { text: " three", thoughtSignature: "Yw==" },
      { text: "", thoughtSignature: "ZA==" },
      { functionCall: { id: "f1", name: "look", args: { at: 1 } }, thoughtSignature: "ZQ==" },
      { functionCall: { id: "f2", name: "look", args: {} } },
      { text: "", thoughtSignature: "Zg==" },
    ];
    const answer = read([...parts.map((part) => chunk([part])), chunk([], "STOP")]);
    expect(answer.contents.map((one) => (one.type === "tool_call" ? one.id : one.content))).toEqual([
      "Hm.",
      "One two three",
      "f1",
      "f2",
    ]);
    expect(replayed(answer).slice(0, parts.length)).toEqual(parts);
  });

  test("on a thought is its own, and split where it has several", () => {
    const once = read([chunk([{ text: "Hm", thought: true, thoughtSignature: "YQ==" }], "STOP")]);
    expect(once.contents).toEqual([{ type: "thinking", content: "Hm", signature: "YQ==" }]);
    const parts = [
      { text: "a", thought: true, thoughtSignature: "YQ==" },
      { text: "b", thought: true, thoughtSignature: "Yg==" },
    ];
    const twice = read([chunk(parts, "STOP")]);
    expect(twice.contents).toMatchObject([{ type: "thinking", content: "ab" }]);
    expect(replayed(twice)).toEqual(parts);
  });

  test("goes to no other model, which reads the thoughts as text", () => {
    const answer = read([
      chunk([{ text: "Hm.", thought: true, thoughtSignature: "YQ==" }]),
      chunk([{ functionCall: { name: "look" }, thoughtSignature: "Yg==" }], "STOP"),
    ]);
    const calls = answer.contents.map((one) => (one.type === "tool_call" ? { ...one, id: "x" } : one));
    const other = model({ api: "gemini", id: "gemini-2.5-pro", apiKey: "k" });
    expect(replayed({ ...answer, contents: calls }, other)).toEqual([
      { text: "Hm." },
      { functionCall: { id: "x", name: "look", args: {} } },
    ]);
    const newer = model({ api: "gemini", id: "gemini-4", apiKey: "k" });
    expect(replayed({ ...answer, contents: calls }, newer)).toMatchObject([
      { text: "Hm." },
      { thoughtSignature: "skip_thought_signature_validator" },
    ]);
  });

  test("that nobody can read as bytes is dropped", () => {
    const answer = read([chunk([{ text: "a", thoughtSignature: "not base64!" }], "STOP")]);
    expect(answer.contents).toEqual([{ type: "text", content: "a" }]);
  });
});

describe("tool calls", () => {
  const looks = (more: Record<string, unknown>) => chunk([{ functionCall: more }]);
  const argsOf = (...chunks: unknown[]) => {
    const [content] = read([...chunks, chunk([], "STOP")]).contents;
    return content?.type === "tool_call" ? content : null;
  };

  test("without arguments or id have none", () => {
    expect(argsOf(looks({ name: "look" }))).toEqual({ type: "tool_call", id: "", name: "look", args: {} });
    expect(argsOf(looks({ name: "look", args: null }))?.args).toEqual({});
    expect(argsOf(looks({ name: "look", args: '{"at":1}' }))?.args).toEqual({ at: 1 });
  });

  test("whose arguments stream in pieces are put together", () => {
    const piece = (jsonPath: string, value: Record<string, unknown>) => ({ jsonPath, ...value });
    const found = argsOf(
      looks({ name: "look", id: "f1", willContinue: true }),
      looks({
        willContinue: true,
        partialArgs: [piece("$.where.city", { stringValue: "Ber", willContinue: true })],
      }),
      looks({
        willContinue: true,
        partialArgs: [
          piece("$.where.city", { stringValue: "lin" }),
          piece("$.list[0]", { numberValue: 1 }),
          piece("$.list[1].on", { boolValue: true }),
          piece("$['odd key']", { nullValue: "NULL_VALUE" }),
          piece("$.__proto__.x", { stringValue: "y" }),
        ],
      }),
      looks({}),
    );
    expect(JSON.stringify(found?.args)).toBe(
      '{"where":{"city":"Berlin"},"list":[1,{"on":true}],"odd key":null,"__proto__":{"x":"y"}}',
    );
    expect(found).toMatchObject({ id: "f1", name: "look" });
    expect(Object.prototype).not.toHaveProperty("x");
    expect(found).not.toHaveProperty("native");
  });

  test.each([
    ["no end", [{ willContinue: true, partialArgs: [{ jsonPath: "$.rm", stringValue: "/" }] }]],
    ["no path", [{ partialArgs: [{ stringValue: "/" }] }]],
    ["a place far away", [{ partialArgs: [{ jsonPath: "$.a[99999999]", stringValue: "/" }] }]],
    ["a path that is none", [{ partialArgs: [{ jsonPath: "$..a", stringValue: "/" }] }]],
  ])("whose arguments came with %s are not run", (_, more) => {
    const found = argsOf(...more.map((one) => looks({ name: "look", ...one })));
    expect(found).toMatchObject({ args: {}, native: { data: { unparsed: true } } });
  });

  test("of an argument in thousands of pieces cost no more than their length", () => {
    const pieces = Array.from({ length: 5000 }, () =>
      looks({ willContinue: true, partialArgs: [{ jsonPath: "$.t", stringValue: "x", willContinue: true }] }),
    );
    const found = argsOf(looks({ name: "w", willContinue: true }), ...pieces, looks({}));
    expect(found?.args).toEqual({ t: "x".repeat(5000) });
  });

  test("of an answer that did not end well are no part of it; one cut by length keeps them for the record", () => {
    const call = chunk([{ functionCall: { name: "look", args: {} } }]);
    expect(read([call]).contents).toEqual([]);
    expect(read([call, chunk([], "MALFORMED_FUNCTION_CALL")]).contents).toEqual([]);
    expect(read([call, chunk([], "MAX_TOKENS")])).toMatchObject({
      stopReason: "length",
      contents: [{ name: "look" }],
    });
  });
});

describe("an answer ends", () => {
  test.each([
    ["STOP", "stop", undefined],
    ["MAX_TOKENS", "length", undefined],
    ["SAFETY", "refusal", "refusal"],
    ["RECITATION", "refusal", "refusal"],
    ["BLOCKLIST", "refusal", "refusal"],
    ["PROHIBITED_CONTENT", "refusal", "refusal"],
    ["SPII", "refusal", "refusal"],
    ["IMAGE_SAFETY", "refusal", "refusal"],
    ["MODEL_ARMOR", "refusal", "refusal"],
    ["MALFORMED_FUNCTION_CALL", "error", "cut"],
    ["UNEXPECTED_TOOL_CALL", "error", "cut"],
    ["NO_IMAGE", "error", "unknown"],
    ["OTHER", "error", "unknown"],
    ["A_REASON_OF_TOMORROW", "error", "unknown"],
  ])("by %s as %s", (reason, stopReason, errorKind) => {
    const answer = read([chunk([{ text: "Hi" }], reason)]);
    expect(answer).toMatchObject({ stopReason, contents: [{ type: "text", content: "Hi" }] });
    expect(answer.errorKind).toBe(errorKind);
    if (errorKind) expect(answer.error).toContain(reason);
  });

  test("cut when nobody says why, or when its last event is half", () => {
    expect(read([chunk([{ text: "Hi" }])])).toMatchObject({ stopReason: "error", errorKind: "cut" });
    expect(read([chunk([{ text: "Hi" }]), '{"candidates":[{"con'])).toMatchObject({
      errorKind: "cut",
      contents: [{ content: "Hi" }],
    });
    expect(read([])).toMatchObject({ errorKind: "cut", contents: [] });
    // A piece in the middle is missing, whatever comes after it.
    expect(read([chunk([{ text: "Hi" }]), '{"candidates":[{"con', chunk([], "STOP")])).toMatchObject({
      errorKind: "cut",
    });
  });

  test("before it began when the request is blocked, with the reason", () => {
    expect(read([{ promptFeedback: { blockReason: "JAILBREAK", blockReasonMessage: "no" } }])).toMatchObject({
      stopReason: "refusal",
      errorKind: "refusal",
      error: expect.stringContaining("JAILBREAK (no)"),
    });
  });

  test("with the server's own words when it fails in the middle", () => {
    const error = geminiError(503, "UNAVAILABLE", "The model is overloaded. Please try again later.");
    expect(read([chunk([{ text: "Hi" }]), error, chunk([{ text: " there" }], "STOP")])).toMatchObject({
      errorKind: "overloaded",
      error: expect.stringContaining("The model is overloaded"),
      contents: [{ content: "Hi" }],
    });
  });

  test("as overflow when its counts cannot be", () => {
    expect(read([chunk([{ text: "Hi" }], "STOP", { promptTokenCount: 101 })], 100)).toMatchObject({
      errorKind: "overflow",
    });
  });
});

describe("what nobody expects", () => {
  test("is skipped: events, fields, parts, further candidates", () => {
    const answer = read([
      "",
      "[DONE]",
      "null",
      { later: true },
      { candidates: null },
      { candidates: [null] },
      { candidates: [{ content: { parts: null } }] },
      { candidates: [{ content: { parts: [null, 7, { executableCode: {} }, { text: 7 }] } }] },
      { candidates: [{ content: { parts: [{ text: "Hi" }] } }, { content: { parts: [{ text: "no" }] } }] },
      { response: chunk([{ text: "!" }], "STOP") },
    ]);
    expect(answer).toMatchObject({ stopReason: "stop", contents: [{ type: "text", content: "Hi!" }] });
  });

  test("is said where it is no text: a picture the model drew", () => {
    const answer = read([chunk([{ inlineData: { mimeType: "image/png", data: "AAAA" } }], "STOP")]);
    expect(answer.contents).toMatchObject([{ type: "text", content: expect.stringContaining("image/png") }]);
  });

  test("keeps every delta at the index of its content", () => {
    const { deltas, contents } = read([
      chunk([{ text: "a", thought: true }]),
      chunk([{ text: "b" }]),
      chunk([{ functionCall: { name: "look" } }]),
      chunk([{ text: "c" }], "STOP"),
    ]);
    expect(deltas.map((one) => one.part)).toEqual([0, 1, 3]);
    expect(contents.map((one) => one.type)).toEqual(["thinking", "text", "tool_call", "text"]);
  });
});

describe("usage", () => {
  const usage = (counts: Record<string, unknown>) => read([chunk([{ text: "Hi" }], "STOP", counts)]).usage;

  test.each([
    [
      { promptTokenCount: 90, cachedContentTokenCount: 50, candidatesTokenCount: 7, thoughtsTokenCount: 3 },
      [40, 50, 10, 3],
    ],
    [{ promptTokenCount: 90 }, [90, 0, 0, undefined]],
    [{ promptTokenCount: 9, cachedContentTokenCount: 50 }, [0, 9, 0, undefined]],
    [
      { promptTokenCount: 9, candidatesTokenCount: 7, thoughtsTokenCount: 3, totalTokenCount: 16 },
      [9, 0, 7, 3],
    ],
    [
      { promptTokenCount: 9, candidatesTokenCount: 7, thoughtsTokenCount: 3, totalTokenCount: 19 },
      [9, 0, 10, 3],
    ],
    [{ promptTokenCount: "9", candidatesTokenCount: -1, thoughtsTokenCount: null }, [9, 0, 0, undefined]],
    [{ promptTokenCount: 9, toolUsePromptTokenCount: 100, totalTokenCount: 109 }, [9, 0, 0, undefined]],
  ])("%j is %j", (counts, [input, cached, output, reasoning]) => {
    const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens, cacheWriteTokens } = usage(counts);
    expect([inputTokens, cacheReadTokens, outputTokens, reasoningTokens]).toEqual([
      input,
      cached,
      output,
      reasoning,
    ]);
    expect(cacheWriteTokens).toBe(0);
  });

  test("is the last that was told, and what only an earlier chunk told", () => {
    const { usage: told } = read([
      chunk([{ text: "Hi" }], undefined, { promptTokenCount: 9, candidatesTokenCount: 1 }),
      chunk([], "STOP", { candidatesTokenCount: 4 }),
    ]);
    expect(told).toMatchObject({ inputTokens: 9, outputTokens: 4 });
  });
});

describe("an answer in one piece", () => {
  const first = chunk([{ text: "Hi" }]);

  test("is read, alone or as a list of chunks", () => {
    for (const body of [
      [first, chunk([{ text: "!" }], "STOP")],
      [chunk([{ text: "Hi!" }], "STOP")],
      chunk([{ text: "Hi!" }]),
    ]) {
      expect(geminiWhole(on, 200, JSON.stringify(body))).toMatchObject({
        stopReason: "stop",
        contents: [{ content: "Hi!" }],
      });
    }
  });

  test("that is none says so", () => {
    expect(geminiWhole(on, 200, "<html>Welcome</html>")).toMatchObject({
      errorKind: "unknown",
      error: expect.stringContaining("Welcome"),
    });
    expect(geminiWhole(on, 200, JSON.stringify([first]).slice(0, -9))).toMatchObject({ errorKind: "cut" });
    expect(geminiWhole(on, 200, geminiError(429, "RESOURCE_EXHAUSTED", "slow"))).toMatchObject({
      errorKind: "rate_limit",
    });
    expect(geminiWhole(on, 200, "{}")).toMatchObject({ stopReason: "error" });
  });
});

test("leftovers are this API's own", () => {
  const { contents } = read([chunk([{ text: "a" }, { text: "", thoughtSignature: "YQ==" }], "STOP")]);
  expect(contents).toEqual([
    { type: "text", content: "a", ...native({ pieces: [{ length: 1 }, { length: 0, signature: "YQ==" }] }) },
  ]);
});
