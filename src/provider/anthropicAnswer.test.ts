import { expect, test } from "vitest";
import type { AssistantMessage } from "../message/index.js";
import {
  anthropicStream,
  block,
  callBlock,
  messageEnd,
  messageStart,
  type StreamEvent,
  textBlock,
  thinkingBlock,
} from "../testing/anthropicServer.js";
import { anthropicDecoder, anthropicWhole } from "./anthropicAnswer.js";
import type { Decoded, Model, ModelDelta } from "./codec.js";
import { model } from "./model.js";
import { sseReader } from "./sse.js";

const on = model({ api: "anthropic", id: "claude-opus-5" });

function read(events: StreamEvent[] | string, by: Model = on): Decoded & { deltas: ModelDelta[] } {
  const decoder = anthropicDecoder(by);
  const bytes = new TextEncoder().encode(typeof events === "string" ? events : anthropicStream(events));
  const reader = sseReader();
  const found = [...reader.push(bytes), ...reader.end()];
  const deltas = found.flatMap(({ data, event }) => decoder.push(data, event));
  return { ...decoder.end(), deltas };
}
const answer = (...events: StreamEvent[]) => [messageStart(), ...events];
const textOf = (decoded: Decoded) =>
  decoded.contents.map((content) => (content.type === "tool_call" ? content.name : content.content));

test.each([
  ["end_turn", "stop", undefined],
  ["stop_sequence", "stop", undefined],
  ["pause_turn", "stop", undefined],
  ["max_tokens", "length", undefined],
  ["refusal", "refusal", "refusal"],
  ["model_context_window_exceeded", "error", "overflow"],
  ["compaction", "error", "unknown"],
  ["__proto__", "error", "unknown"],
])("an answer that stopped because of %s", (reason, stopReason, errorKind) => {
  const decoded = read(answer(...textBlock(0, "Hi"), ...messageEnd(reason)));
  expect(decoded.stopReason).toBe(stopReason);
  expect(decoded.errorKind).toBe(errorKind);
  expect(textOf(decoded)).toEqual(["Hi"]);
  if (stopReason === "error") expect(decoded.error).toContain(reason);
});

test("why a model declined is told", () => {
  const stop_details = { type: "refusal", category: "cyber", explanation: "No exploits." };
  const { error } = read(answer(...messageEnd("refusal", {}, { stop_details })));
  expect(error).toBe("the model declined to answer: cyber: No exploits.");
});

test("calls decide whether an answer stopped for them, whatever the server says", () => {
  const calls = callBlock(0, "toolu_1", "look", "{}");
  expect(read(answer(...calls, ...messageEnd("end_turn"))).stopReason).toBe("tool_use");
  expect(read(answer(...textBlock(0, "Hi"), ...messageEnd("tool_use"))).stopReason).toBe("stop");
});

test("an answer cut by its length keeps its calls, for the agent to refuse", () => {
  const decoded = read(
    answer(...callBlock(0, "toolu_1", "look", '{"path":"/et'), ...messageEnd("max_tokens")),
  );
  expect(decoded).toMatchObject({ stopReason: "length" });
  expect(decoded.contents).toEqual([
    {
      type: "tool_call",
      id: "toolu_1",
      name: "look",
      args: {},
      native: { api: "anthropic", data: { rawArguments: '{"path":"/et', unparsed: true } },
    },
  ]);
});

test("arguments are an object: none, empty, whole at the start, or repaired", () => {
  const whole = block(2, { type: "tool_use", id: "c", name: "look", input: { at: 1 } });
  const { contents } = read(
    answer(
      ...callBlock(0, "a", "look"),
      ...callBlock(1, "b", "look", ""),
      ...whole,
      ...callBlock(3, "d", "look", '{"at":2,}'),
      ...messageEnd("tool_use"),
    ),
  );
  expect(contents.map((content) => content.type === "tool_call" && content.args)).toEqual([
    {},
    {},
    { at: 1 },
    { at: 2 },
  ]);
});

test("blocks, deltas, events and fields nobody knows are skipped, and the rest is read", () => {
  const odd: StreamEvent[] = [
    { type: "message_start", message: { content: [{ type: "text", text: "Al" }], usage: null } },
    { type: "weather" },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "so" } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: {} } },
    ...block(1, { type: "oracle", id: "o", name: "delphi" }, [
      { type: "input_json_delta", partial_json: "{}" },
    ]),
    ...block(2, { type: "compaction" }, [{ type: "compaction_delta", content: "x" }]),
    ...block(3, { type: "text", text: "" }),
    { type: "content_block_delta", index: 4, delta: { type: "thinking_delta", thinking: "hm" } },
    { type: "content_block_delta", index: 5, delta: { type: "text_delta", text: "!" } },
    { type: "content_block_delta" },
    { type: "content_block_start", index: 6 },
    { type: "message_delta", delta: null, usage: { output_tokens: "many" } },
    ...messageEnd("end_turn"),
  ];
  const decoded = read(odd);
  expect(decoded.stopReason).toBe("stop");
  expect(textOf(decoded)).toEqual(["Also", "hm", "!"]);
  for (const delta of decoded.deltas) {
    const content = decoded.contents[delta.part];
    expect(content?.type).toBe(delta.type);
  }
});

test("events without their type are known by their name", () => {
  const data = { index: 0, delta: { type: "text_delta", text: "Hi" } };
  const stream = `event: content_block_delta\ndata: ${JSON.stringify(data)}\n\nevent: message_stop\ndata: {}\n\n`;
  expect(textOf(read(stream))).toEqual(["Hi"]);
  expect(read('event: error\ndata: {"error":{"type":"overloaded_error"}}\n\n').errorKind).toBe("overloaded");
  expect(read("event: error\ndata: overloaded\n\n").errorKind).toBe("overloaded");
});

test("an answer without its last event is cut, and so is one with a hole in it", () => {
  const events = answer(...textBlock(0, "Hi"), ...messageEnd("end_turn"));
  expect(read(events.slice(0, -1))).toMatchObject({ stopReason: "error", errorKind: "cut" });
  const holed = anthropicStream(events).replace('"text":"Hi"', '"text":"H');
  expect(read(holed)).toMatchObject({ errorKind: "cut" });
  expect(read("")).toMatchObject({ errorKind: "cut", contents: [] });
});

test("an answer that failed holds no calls, but what was said and thought", () => {
  const decoded = read(
    answer(...thinkingBlock(0, "Hm"), ...textBlock(1, "I look"), ...callBlock(2, "a", "look", "{}")),
  );
  expect(decoded.contents.map((content) => content.type)).toEqual(["thinking", "text"]);
});

test("tokens are counted once each, in classes that do not overlap", () => {
  const start = messageStart({
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
    output_tokens: 1,
  });
  const end = messageEnd("end_turn", {
    input_tokens: 0,
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 5 },
    iterations: [
      { type: "compaction", input_tokens: 100, output_tokens: 50, cache_read_input_tokens: 0 },
      { type: "message", input_tokens: 10, output_tokens: 9 },
    ],
  });
  expect(read([start, ...end]).usage).toEqual({
    inputTokens: 110,
    outputTokens: 59,
    cacheReadTokens: 20,
    cacheWriteTokens: 7,
    longCacheWriteTokens: 4,
    reasoningTokens: 5,
    cost: null,
  });
  const silly = messageEnd("end_turn", { input_tokens: -1, output_tokens: 1e300 });
  expect(read([messageStart({}), ...silly]).usage).toMatchObject({ inputTokens: 0, outputTokens: 1e9 });
});

test("a request that was cut to fit and reported as a success is an overflow", () => {
  const small: Model = { ...on, window: 100 };
  const events = [messageStart({ input_tokens: 150 }), ...messageEnd("end_turn")];
  expect(read(events, small)).toMatchObject({ stopReason: "error", errorKind: "overflow" });
});

test.each([
  [200, "", "cut"],
  [200, '{"type":"message","content":[', "cut"],
  [200, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"],
  [200, "<html>hello</html>", "unknown"],
  [200, "{}", "unknown"],
  [502, "<h1>Bad gateway</h1>", "overloaded"],
] as const)("an answer in one piece: %i %s", (status, body, kind) => {
  const decoded: Omit<AssistantMessage, "role" | "id" | "timestamp"> = anthropicWhole(on, status, body);
  expect(decoded).toMatchObject({ stopReason: "error", errorKind: kind, contents: [] });
});
