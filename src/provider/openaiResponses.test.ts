import { describe, expect, test } from "vitest";
import {
  type AssistantContent,
  AssistantMessage,
  type LLMMessage,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import { encode } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const gpt5 = model({ api: "openai-responses", id: "gpt-5", apiKey: "sk-1" });
const local = model({ api: "openai-responses", id: "gpt-5", baseUrl: "http://127.0.0.1:9/v1" });

type Item = Record<string, unknown>;
const bodyOf = (request: Partial<ModelRequest>, on: Model = gpt5): Item & { input: Item[] } =>
  JSON.parse(encode(on, { messages: [UserMessage.text("hi")], ...request }).body);
const inputOf = (messages: LLMMessage[], on: Model = gpt5): Item[] => bodyOf({ messages }, on).input;

const said = (contents: AssistantContent[], more: Partial<AssistantMessage> = {}): AssistantMessage =>
  AssistantMessage.of(contents, {
    usage: Usage.none(),
    stopReason: "stop",
    provider: "openai",
    api: "openai-responses",
    model: "gpt-5",
    ...more,
  });
const native = (data: unknown) => ({ native: { api: "openai-responses", data } });
const summary = [{ type: "summary_text", text: "Hm." }];
const thought = (at: number, more: Partial<ThinkingContent> = {}): ThinkingContent => ({
  ...ThinkingContent.of("Hm.", "blob"),
  ...native({ at, item: { type: "reasoning", id: `rs_${at}`, summary } }),
  ...more,
});
const text = (at: number, content: string): TextContent => ({
  ...TextContent.of(content),
  ...native({ at, id: `msg_${at}` }),
});
const call = (at: number, id = `call_${at}`): ToolCallContent => ({
  ...ToolCallContent.of(id, "look"),
  ...native({ at, id: `fc_${at}` }),
});
const typesOf = (items: Item[]): unknown[] => items.map(({ type, role, id }) => [role ?? type, id]);

describe("what is asked besides the conversation", () => {
  test("nothing is kept at the server, and what is thought comes along encrypted", () => {
    expect(bodyOf({})).toMatchObject({
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
    });
  });

  test.each([
    ["gpt-5", true],
    ["o4-mini", true],
    ["openai/gpt-oss-120b", true],
    ["gpt-6", true],
    ["gpt-4.1-mini", false],
    ["gpt-4o", false],
    ["gpt-5-chat-latest", false],
    ["gpt-5.2-chat-latest", false],
    ["ft:gpt-4.1:acme::1", false],
    ["openai/gpt-4o", false],
  ])("%s is asked as the model it is", (id, reasons) => {
    const on = model({ api: "openai-responses", id });
    const body = bodyOf({ temperature: 0.5, thinking: "low" }, on);
    expect("include" in body).toBe(reasons);
    expect("reasoning" in body).toBe(reasons);
    expect("temperature" in body).toBe(!reasons);
  });

  test("a deployment whose name does not tell can be said not to think", () => {
    const on = model({ api: "openai-responses", id: "ours", quirks: { effort: "none" } });
    expect(bodyOf({ temperature: 0.5 }, on)).toMatchObject({ temperature: 0.5 });
    expect(bodyOf({}, on)).not.toHaveProperty("include");
  });

  test("thinking that is off, or was not asked for, is not mentioned", () => {
    expect(bodyOf({ thinking: "off" })).not.toHaveProperty("reasoning");
    expect(bodyOf({})).not.toHaveProperty("reasoning");
    expect(bodyOf({ thinking: "high" }).reasoning).toEqual({ effort: "high", summary: "auto" });
  });

  test("a limit below the least the API takes is that least", () => {
    expect(bodyOf({ maxTokens: 1 }).max_output_tokens).toBe(16);
    expect(bodyOf({ maxTokens: 100 }).max_output_tokens).toBe(100);
  });

  test("it goes to the right place, with a key if there is one", () => {
    const azure = model({
      api: "openai-responses",
      id: "x",
      baseUrl: "https://a.openai.azure.com/openai/v1/?v=1",
    });
    expect(encode(azure, { messages: [] }).url).toBe("https://a.openai.azure.com/openai/v1/responses?v=1");
    expect(encode(gpt5, { messages: [] }).headers.authorization).toBe("Bearer sk-1");
    expect(encode(local, { messages: [] }).headers).not.toHaveProperty("authorization");
  });

  test("tools are given as they are, under a name the API takes", () => {
    const parameters = { type: "object", properties: { at: { type: "number" } } };
    const encoded = encode(gpt5, {
      messages: [],
      tools: [{ name: "files.read", description: " ", parameters }],
    });
    const [tool] = JSON.parse(encoded.body).tools;
    expect(tool).toEqual({
      type: "function",
      name: expect.stringMatching(/^files_read_/),
      parameters,
      strict: false,
    });
    expect(encoded.renamedTools).toEqual({ [tool.name]: "files.read" });
    expect(bodyOf({ tools: [] })).not.toHaveProperty("tools");
  });
});

describe("system messages", () => {
  test("that lead are the instructions, each a block that knows where it came from", () => {
    const { body, blocks } = encode(gpt5, {
      system: [
        { kind: "notice", text: 'It is "late".', sources: [{ type: "notice", id: "n" }] },
        { kind: "system", text: "Be kind.", sources: [{ type: "prompt", id: "system" }] },
      ],
      messages: [SystemMessage.text("Ann is here.", { id: "s1" }), UserMessage.text("hi", { id: "u1" })],
    });
    expect(JSON.parse(body).instructions).toBe('Be kind.\n\nAnn is here.\n\nIt is "late".');
    expect(
      blocks.filter((block) => block.kind !== "frame").map(({ kind, sources }) => [kind, sources[0]?.id]),
    ).toEqual([
      ["params", undefined],
      ["system", "system"],
      ["system", "s1"],
      ["notice", "n"],
      ["message", "u1"],
    ]);
    expect(bodyOf({ system: "  " })).not.toHaveProperty("instructions");
  });

  test("in the middle stay there, marked where a server knows no such role", () => {
    const messages = [UserMessage.text("a"), SystemMessage.text("Be brief."), UserMessage.text("b")];
    expect(inputOf(messages)[1]).toMatchObject({ role: "system", content: [{ text: "Be brief." }] });
    expect(inputOf(messages, local)[1]).toMatchObject({
      role: "user",
      content: [{ text: "[System message]\nBe brief.\n[End of system message]" }],
    });
  });
});

test("a request in which nothing was said says so", () => {
  expect(inputOf([])).toEqual([
    {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "[Nothing has been said yet.]" }],
    },
  ]);
});

describe("an answer of the same model", () => {
  const result = (id: string): ToolMessage => ToolMessage.fromResult(ToolResultContent.of(id, "ok"));

  test("goes back in the order it was said, also when its calls were stored last", () => {
    const stored = said([thought(0), thought(2), text(3, "Hm"), call(1)]);
    expect(typesOf(inputOf([stored, result("call_1")]))).toEqual([
      ["reasoning", "rs_0"],
      ["function_call", "fc_1"],
      ["reasoning", "rs_2"],
      ["assistant", "msg_3"],
      ["function_call_output", undefined],
    ]);
  });

  test("that was stopped while it thought loses the thought, and its neighbours their ids", () => {
    const stopped = said([thought(0), text(1, "I look."), thought(2)], { stopReason: "aborted" });
    expect(typesOf(inputOf([stopped]))).toEqual([
      ["reasoning", "rs_0"],
      ["assistant", "msg_1"],
    ]);
    const holed = said([thought(0), text(2, "I look.")], { stopReason: "aborted" });
    expect(typesOf(inputOf([holed]))).toEqual([["assistant", undefined]]);
  });

  test("that is nothing but a thought is left out, and said to be", () => {
    const { body, leftOut } = encode(gpt5, { messages: [said([thought(0)], { id: "a1" })] });
    expect(leftOut).toEqual([{ message_id: "a1", reason: expect.stringContaining("thinking alone") }]);
    expect(body).toContain("Nothing has been said yet");
  });

  test("that stands in the history twice has its ids once", () => {
    const stored = said([thought(0), text(1, "Hello")]);
    expect(typesOf(inputOf([stored, UserMessage.text("again"), stored]))).toEqual([
      ["reasoning", "rs_0"],
      ["assistant", "msg_1"],
      ["user", undefined],
      ["assistant", undefined],
    ]);
  });

  test("keeps the texts of one message together", () => {
    const [message] = inputOf([said([text(0, "One. "), text(0, "Two.")])]);
    expect(message).toMatchObject({ id: "msg_0", content: [{ text: "One. " }, { text: "Two." }] });
  });

  test("has its reasoning back in the open where a server sent it so, and not at OpenAI, which would look for it", () => {
    const content = [{ type: "reasoning_text", text: "Let me see." }];
    const open = thought(0, {
      signature: "",
      ...native({ at: 0, item: { type: "reasoning", id: "rs_0", content } }),
    });
    const stored = said([open, call(1)]);
    expect(inputOf([stored, result("call_1")], local)[0]).toEqual({
      type: "reasoning",
      id: "rs_0",
      content,
      summary: [{ type: "summary_text", text: "Hm." }],
    });
    expect(typesOf(inputOf([stored, result("call_1")]))[0]).toEqual(["function_call", undefined]);
  });

  test("has an id on reasoning in the open also where the server gave none, the same each time and no two alike", () => {
    const content = [{ type: "reasoning_text", text: "Let me see." }];
    const open = thought(0, { signature: "", ...native({ at: 0, item: { type: "reasoning", content } }) });
    const stored = said([open, call(1)]);
    const ids = (messages: Parameters<typeof inputOf>[0]) =>
      inputOf(messages, local).flatMap((item) => (item.type === "reasoning" ? [item.id] : []));
    const twice = ids([stored, result("call_1"), stored, result("call_1")]);
    expect(twice).toEqual([expect.stringMatching(/^rs_[0-9a-f]{32}$/), expect.stringMatching(/^rs_/)]);
    expect(new Set(twice).size).toBe(2);
    expect(ids([stored, result("call_1")])).toEqual(twice.slice(0, 1));
  });

  test("of which only the signature was kept goes back too", () => {
    const stored = said([ThinkingContent.of("Hm.", "blob"), TextContent.of("Hi")]);
    expect(inputOf([stored])).toEqual([
      { type: "reasoning", summary, encrypted_content: "blob" },
      { type: "message", role: "assistant", content: "Hi" },
    ]);
  });
});

describe("an answer of another model", () => {
  test("is words: thoughts too, without ids and signatures", () => {
    const stored = said([thought(0), text(1, "I look."), call(2)], { model: "gpt-5.1" });
    expect(inputOf([stored])).toMatchObject([
      { type: "message", role: "assistant", content: "Hm.\n\nI look." },
      { type: "function_call", call_id: "call_2", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "call_2", output: expect.stringContaining("no result") },
    ]);
    expect(JSON.stringify(inputOf([stored]))).not.toMatch(/blob|rs_|msg_|fc_/);
  });

  test("has call ids the API takes, each its own, on calls and results alike", () => {
    const odd = "call 1".repeat(20);
    const stored = said([ToolCallContent.of(odd, "look"), ToolCallContent.of(odd, "look")], {
      provider: "x",
    });
    const items = inputOf([
      stored,
      ToolMessage.fromResults([ToolResultContent.of(odd, "one"), ToolResultContent.of(odd, "two")]),
    ]);
    const [first, second] = items.map((item) => String(item.call_id));
    expect(first).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(second).not.toBe(first);
    expect(items.slice(2)).toMatchObject([
      { call_id: first, output: "one" },
      { call_id: second, output: "two" },
    ]);
  });
});

test("a tool's failure and its pictures reach the model with its words", () => {
  const outputs = inputOf([
    said([call(0, "a"), call(1, "b"), call(2, "c")]),
    ToolMessage.fromResults([
      ToolResultContent.error("a", "no such file"),
      ToolResultContent.of("b", "", { images: ["https://e.org/a.png"], audio: ["T2dnUw=="] }),
      ToolResultContent.of("c", ""),
    ]),
  ]).slice(3);
  expect(outputs.map((item) => item.output)).toEqual([
    "Error: no such file",
    [
      { type: "input_text", text: expect.stringMatching(/^\[A sound clip was here/) },
      { type: "input_image", detail: "auto", image_url: "https://e.org/a.png" },
    ],
    "(no output)",
  ]);
  const blind = model({ api: "openai-responses", id: "o3-mini" });
  expect(inputOf([UserMessage.withImages("see", ["https://e.org/a.png"])], blind)[0]).toMatchObject({
    content: [{ text: "see" }, { type: "input_text", text: expect.stringMatching(/^\[An image was here/) }],
  });
});
