import { describe, expect, test } from "vitest";
import { chunk, eventStream } from "../testing/chatCompletionsServer.js";
import type { Decoded, ModelDelta, ModelOptions } from "./index.js";
import { model } from "./model.js";
import { openaiChat } from "./openaiChat.js";
import { sseReader } from "./sse.js";

const options: ModelOptions = { api: "openai-chat", id: "gpt", baseUrl: "http://127.0.0.1:9/v1" };

function decode(stream: string): Decoded & { deltas: ModelDelta[] } {
  const decoder = openaiChat.decoder(model(options));
  const reader = sseReader();
  const events = [...reader.push(new TextEncoder().encode(stream)), ...reader.end()];
  const deltas = events.flatMap(({ data, event }) => decoder.push(data, event));
  return { ...decoder.end(), deltas };
}
const answer = (...chunks: unknown[]): Decoded & { deltas: ModelDelta[] } => decode(eventStream(chunks));
const text = (content: string): Record<string, unknown> => chunk({ content });
const calls = (...tool_calls: Record<string, unknown>[]): Record<string, unknown> => chunk({ tool_calls });
const end = chunk({}, "stop");

describe("tool calls", () => {
  const call = (
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    args: unknown,
  ) => ({
    ...(index === undefined ? {} : { index }),
    ...(id === undefined ? {} : { id }),
    function: { ...(name === undefined ? {} : { name }), arguments: args },
  });
  const two = [
    { type: "tool_call", id: "a", name: "look", args: { at: 1 } },
    { type: "tool_call", id: "b", name: "see", args: {} },
  ];

  test.each([
    [
      "as OpenAI streams them",
      [
        call(0, "a", "look", ""),
        call(0, undefined, undefined, '{"at"'),
        call(0, undefined, undefined, ":1}"),
        call(1, "b", "see", ""),
      ],
    ],
    ["numbered from 1", [call(1, "a", "look", '{"at":1}'), call(2, "b", "see", "{}")]],
    [
      "without an index",
      [
        call(undefined, "a", "look", '{"at"'),
        call(undefined, undefined, undefined, ":1}"),
        call(undefined, "b", "see", ""),
      ],
    ],
    ["all numbered 0", [call(0, "a", "look", '{"at":1}'), call(0, "b", "see", "{}")]],
    [
      "with the name later",
      [call(0, "a", undefined, ""), call(0, undefined, "look", '{"at":1}'), call(1, "b", "see", null)],
    ],
    [
      "with the id on every piece",
      [call(0, "a", "look", '{"a'), call(0, "a", "look", 't":1}'), call(1, "b", "see", "")],
    ],
    [
      "one call under two numbers",
      [call(0, "a", "look", '{"a'), call(1, "a", "", 't":1}'), call(2, "b", "see", "")],
    ],
    [
      "interleaved",
      [
        call(0, "a", "look", '{"a'),
        call(1, "b", "see", "{"),
        call(0, undefined, undefined, 't":1}'),
        call(1, undefined, undefined, "}"),
      ],
    ],
    ["with arguments that are an object", [call(0, "a", "look", { at: 1 }), call(1, "b", "see", {})]],
  ])("%s are gathered", (_, pieces) => {
    const got = answer(...pieces.map((piece) => calls(piece)), chunk({}, "tool_calls"));
    expect(got.contents).toEqual(two);
    expect(got.stopReason).toBe("tool_use");
    expect(answer(calls(...pieces), end)).toMatchObject({ contents: two, stopReason: "tool_use" });
  });

  test("without id and index are told apart by their names", () => {
    const got = answer(
      calls(call(undefined, undefined, "look", '{"at":1}')),
      calls(call(undefined, undefined, "see", "")),
      end,
    );
    expect(got.contents.map((content) => content.type === "tool_call" && content.name)).toEqual([
      "look",
      "see",
    ]);
  });

  test("stand after the text, whenever it came", () => {
    const got = answer(text("I "), calls(call(0, "a", "look", "{}")), text("look."), chunk({}, "tool_calls"));
    expect(got.contents.map((content) => content.type)).toEqual(["text", "tool_call"]);
    expect(got.deltas.map((delta) => delta.part)).toEqual([0, 0]);
  });

  test("with arguments that cannot be read have none, and say so", () => {
    const got = answer(calls(call(0, "a", "look", '{"path":"/home/us')), chunk({}, "tool_calls"));
    expect(got.contents).toEqual([
      {
        type: "tool_call",
        id: "a",
        name: "look",
        args: {},
        native: { api: "openai-chat", data: { rawArguments: '{"path":"/home/us', unparsed: true } },
      },
    ]);
    const [mended] = answer(calls(call(0, "a", "look", '{"a":true')), chunk({}, "tool_calls")).contents;
    expect(mended).toMatchObject({
      args: { a: true },
      native: { data: { repaired: true, rawArguments: '{"a":true' } },
    });
  });

  test("keep what Google attaches, and the old spelling is read too", () => {
    const extra_content = { google: { thought_signature: "x" } };
    const [signed] = answer(calls({ ...call(0, "a", "look", "{}"), extra_content }), end).contents;
    expect(signed).toMatchObject({ native: { data: { extra_content } } });
    const old = answer(
      chunk({ function_call: { name: "look", arguments: "" } }),
      chunk({ function_call: { arguments: '{"at":1}' } }),
      chunk({}, "function_call"),
    );
    expect(old).toMatchObject({ stopReason: "tool_use", contents: [{ name: "look", args: { at: 1 } }] });
  });

  test("of an answer that broke off, or was refused, are no part of it", () => {
    const half = eventStream([text("I look"), calls(call(0, "a", "look", "{}"))], { done: false });
    expect(decode(half).contents).toEqual([{ type: "text", content: "I look" }]);
    expect(answer(calls(call(0, "a", "look", "{}")), chunk({}, "content_filter")).contents).toEqual([]);
  });

  test("of 50 KB in 4,000 pieces are joined, and read, once", () => {
    const value = "x".repeat(50_000);
    const json = JSON.stringify({ value });
    const pieces = Array.from({ length: 4000 }, (_, at) => json.slice(at * 13, (at + 1) * 13));
    const got = answer(
      calls(call(0, "a", "look", "")),
      ...pieces.map((piece) => calls(call(0, undefined, undefined, piece))),
      end,
    );
    expect(got.contents).toEqual([{ type: "tool_call", id: "a", name: "look", args: { value } }]);
  });
});
