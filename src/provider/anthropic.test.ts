import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
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
import { brokenRules } from "../testing/anthropicRules.js";
import {
  type AnthropicServer,
  anthropicStream,
  block,
  callBlock,
  messageEnd,
  messageStart,
  signed,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "../testing/anthropicServer.js";
import { inputSchema } from "./anthropicTools.js";
import { call, encode } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const claude = (id: string): Model => model({ api: "anthropic", id });
const by = (id: string, more: Partial<AssistantMessage> = {}) => ({
  usage: Usage.none(),
  stopReason: "tool_use" as const,
  provider: "anthropic",
  api: "anthropic",
  model: id,
  ...more,
});

type Body = {
  messages: { role: string; content: { type: string; text?: string }[] }[];
  thinking?: Record<string, unknown>;
  [field: string]: unknown;
};
/** The body, which must break no rule. */
function bodyOf(on: Model, request: ModelRequest): Body {
  const { body, headers } = encode(on, request);
  expect(brokenRules(body, { version: headers["anthropic-version"] })).toEqual([]);
  return JSON.parse(body);
}
/** A turn in which a model thought, called a tool, and got its result. */
const loop = (id: string): LLMMessage[] => [
  UserMessage.text("What is there?"),
  AssistantMessage.of(
    [
      ThinkingContent.of("I look.", signed("I look.")),
      { ...ThinkingContent.of("", "blob=="), redacted: true },
      ThinkingContent.of("", signed("")),
      TextContent.of("Let me see."),
      ToolCallContent.of("toolu_1", "look"),
    ],
    by(id),
  ),
  ToolMessage.fromResult(ToolResultContent.of("toolu_1", "a cat")),
];
const tools = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];

describe("a model's own thinking", () => {
  let server: AnthropicServer;
  beforeAll(async () => {
    server = await startAnthropicServer({ verify: (thinking, signature) => signature === signed(thinking) });
  });
  afterAll(() => server.close());

  async function ask(on: Model, messages: LLMMessage[]): Promise<AssistantMessage> {
    for await (const event of call(on, { messages, tools })) if (event.type === "done") return event.message;
    throw new Error("no answer");
  }

  test("goes back to it to the byte, and the server, which signed it, takes it", async () => {
    const on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl });
    server.script = {
      body: anthropicStream([
        messageStart(),
        ...thinkingBlock(0, "Grübel ", "☃\n\n "),
        ...thinkingBlock(1),
        ...block(2, { type: "redacted_thinking", data: "blob==" }),
        ...callBlock(3, "toolu_1", "look"),
        ...messageEnd("tool_use"),
      ]),
    };
    const first = await ask(on, [UserMessage.text("What is there?")]);
    server.script = {
      body: anthropicStream([messageStart(), ...textBlock(0, "A cat."), ...messageEnd("end_turn")]),
    };
    const stored: LLMMessage = JSON.parse(JSON.stringify(first));
    const second = await ask(on, [
      UserMessage.text("What is there?"),
      stored,
      ToolMessage.fromResult(ToolResultContent.of("toolu_1", "a cat")),
    ]);
    expect(second).toMatchObject({ stopReason: "stop", contents: [{ content: "A cat." }] });
    const { messages }: Body = JSON.parse(server.requests.at(-1)?.body.toString() ?? "");
    expect(messages[1]?.content).toEqual([
      { type: "thinking", thinking: "Grübel ☃\n\n ", signature: signed("Grübel ☃\n\n ") },
      { type: "thinking", thinking: "", signature: signed("") },
      { type: "redacted_thinking", data: "blob==" },
      { type: "tool_use", id: "toolu_1", name: "look", input: {} },
    ]);
  });

  test("when it was changed is refused by the server that signed it", async () => {
    const on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl });
    const forged = loop("claude-opus-5").map((one) =>
      one.role === "assistant"
        ? { ...one, contents: [ThinkingContent.of("Forged.", signed("x")), ...one.contents] }
        : one,
    );
    expect(await ask(on, forged)).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringContaining("invalid signature"),
    });
  });

  test.each(["claude-opus-4-8", "gpt-4.1"])(
    "is text to another model, without signature or seal: %s",
    (id) => {
      const { messages } = bodyOf(claude("claude-opus-5"), { messages: loop(id), tools });
      expect(messages[1]?.content).toEqual([
        { type: "text", text: "I look." },
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "toolu_1", name: "look", input: {} },
      ]);
    },
  );

  test("without a signature is text; at the end of an answer it is left out", () => {
    const on = claude("claude-opus-5");
    const cut = AssistantMessage.of(
      [ThinkingContent.of("Hm", ""), TextContent.of("So."), ThinkingContent.of("x", "s")],
      by(on.id),
    );
    const { messages } = bodyOf(on, { messages: [UserMessage.text("hi"), cut, UserMessage.text("and?")] });
    expect(messages[1]?.content).toEqual([
      { type: "text", text: "Hm" },
      { type: "text", text: "So." },
    ]);
    const alone = AssistantMessage.of([ThinkingContent.of("x", "s")], { ...by(on.id), id: "m9" });
    expect(encode(on, { messages: [UserMessage.text("hi"), alone] }).leftOut).toEqual([
      { message_id: "m9", reason: "thinking alone, which this API cannot take back" },
    ]);
  });
});

describe("thinking is asked for as each model wants it", () => {
  const adaptive = { type: "adaptive", display: "summarized" };
  test.each([
    ["claude-sonnet-4-5", "high", { thinking: { type: "enabled", budget_tokens: 16_384 } }],
    ["claude-sonnet-4-5", "off", {}],
    ["claude-3-5-haiku-20241022", "high", {}],
    ["claude-sonnet-4-6", "low", { thinking: { type: "adaptive" }, output_config: { effort: "low" } }],
    ["claude-opus-5", "medium", { thinking: adaptive, output_config: { effort: "medium" } }],
    ["claude-opus-5", "off", { thinking: { type: "disabled" } }],
    ["claude-opus-5", undefined, {}],
    ["claude-opus-5-5", "off", { output_config: { effort: "low" } }],
    ["claude-fable-5", "off", { output_config: { effort: "low" } }],
  ] as const)("%s, %s", (id, thinking, expected) => {
    const body = bodyOf(claude(id), {
      messages: [UserMessage.text("hi")],
      ...(thinking ? { thinking } : {}),
    });
    const { thinking: asked, output_config } = body;
    expect({ ...(asked ? { thinking: asked } : {}), ...(output_config ? { output_config } : {}) }).toEqual(
      expected,
    );
  });

  test("a loop of tools that began with thinking goes on with it, unless it is forbidden", () => {
    for (const id of ["claude-sonnet-4-5", "claude-opus-4-8"]) {
      const unsaid = bodyOf(claude(id), { messages: loop(id), tools });
      expect(unsaid.thinking?.type).toMatch(/enabled|adaptive/);
      expect(unsaid.messages[1]?.content[0]?.type).toBe("thinking");
      const forbidden = bodyOf(claude(id), { messages: loop(id), tools, thinking: "off" });
      expect(forbidden.thinking).toBeUndefined();
      expect(forbidden.messages[1]?.content.map((part) => part.type)).toEqual(["text", "tool_use"]);
    }
  });

  test("a loop another model began goes on without it where the API insists", () => {
    const ask = (id: string) =>
      bodyOf(claude(id), { messages: loop("gpt"), tools, thinking: "high" }).thinking;
    expect(ask("claude-sonnet-4-5")).toBeUndefined();
    expect(ask("claude-opus-4-8")?.type).toBe("adaptive");
  });

  test("what a failed tool had to show ends a loop: what follows is one of its own", () => {
    const on = claude("claude-sonnet-4-5");
    const messages = [
      ...loop(on.id).slice(0, 2),
      ToolMessage.fromResult(
        ToolResultContent.of("toolu_1", "dark", { isError: true, images: ["https://e.org/a.png"] }),
      ),
      AssistantMessage.of([ToolCallContent.of("toolu_2", "look")], by(on.id)),
      ToolMessage.fromResult(ToolResultContent.of("toolu_2", "a cat")),
    ];
    expect(bodyOf(on, { messages, tools, thinking: "high" }).thinking).toBeUndefined();
  });

  test("a limit leaves room for the answer, or there is no thinking", () => {
    const ask = (maxTokens: number) =>
      bodyOf(claude("claude-sonnet-4-5"), {
        messages: [UserMessage.text("hi")],
        thinking: "high",
        maxTokens,
      });
    expect(ask(4000).thinking).toEqual({ type: "enabled", budget_tokens: 2976 });
    expect(ask(2000).thinking).toBeUndefined();
    expect(ask(1_000_000).max_tokens).toBe(64_000);
  });

  test("temperature is sent to models that take it, while they do not think", () => {
    const warm = (id: string, more: Partial<ModelRequest> = {}) =>
      bodyOf(claude(id), { messages: [UserMessage.text("hi")], temperature: 1.5, ...more }).temperature;
    expect(warm("claude-sonnet-4-5")).toBe(1);
    expect(warm("claude-sonnet-4-5", { thinking: "low" })).toBeUndefined();
    expect(warm("claude-opus-5")).toBeUndefined();
  });
});

describe("a history is spelled so that the API takes it", () => {
  test("a system message in the middle has its own role where there is one, else it is marked", () => {
    const rolesOf = (on: Model, ...messages: LLMMessage[]) => {
      const body = bodyOf(on, { messages });
      return body.messages.map((one) => `${one.role}: ${one.content.map((part) => part.text).join(" | ")}`);
    };
    const [hi, note, reply] = [
      UserMessage.text("hi"),
      SystemMessage.text("Be brief."),
      AssistantMessage.of([TextContent.of("Hello.")], by("gpt")),
    ];
    const marked = "[System message]\nBe brief.\n[End of system message]";
    expect(rolesOf(claude("claude-opus-5"), hi, note, reply, hi)).toEqual([
      "user: hi",
      "system: Be brief.",
      "assistant: Hello.",
      "user: hi",
    ]);
    expect(rolesOf(claude("claude-opus-5"), hi, note, note)).toEqual([
      "user: hi",
      "system: Be brief. | Be brief.",
    ]);
    expect(rolesOf(claude("claude-opus-5"), hi, reply, note, hi)).toEqual([
      "user: hi",
      "assistant: Hello.",
      `user: ${marked} | hi`,
    ]);
    expect(rolesOf(claude("claude-sonnet-5"), hi, note)).toEqual([`user: hi | ${marked}`]);
  });

  test("people who speak after each other are in one message, each a block of its own", () => {
    const { blocks } = encode(claude("claude-opus-5"), {
      messages: [UserMessage.text("[Ann]: hi", { id: "a" }), UserMessage.text("[Ben]: ho", { id: "b" })],
    });
    expect(blocks.filter((one) => one.kind === "message")).toEqual([
      {
        kind: "message",
        sources: [{ type: "message", id: "a" }],
        text: '{"type":"text","text":"[Ann]: hi"}',
      },
      {
        kind: "message",
        sources: [{ type: "message", id: "b" }],
        text: '{"type":"text","text":"[Ben]: ho"}',
      },
    ]);
  });

  test("a history that begins or ends with an answer, and none at all, are asked about all the same", () => {
    const reply = AssistantMessage.of([TextContent.of("Hello. ")], by("gpt"));
    const roles = bodyOf(claude("claude-opus-5"), { messages: [reply] }).messages.map((one) => one.role);
    expect(roles).toEqual(["user", "assistant", "user"]);
    expect(bodyOf(claude("claude-opus-5"), { messages: [] }).messages).toHaveLength(1);
  });

  test("what a failed tool had to show follows its result, which may hold text alone", () => {
    const on = claude("claude-opus-5");
    const messages = [
      UserMessage.text("look"),
      AssistantMessage.of([ToolCallContent.of("a", "look"), ToolCallContent.of("b", "look")], by(on.id)),
      ToolMessage.fromResults([
        ToolResultContent.of("a", "", { isError: true, images: ["https://e.org/a.png"] }),
        ToolResultContent.of("b", ""),
      ]),
    ];
    expect(bodyOf(on, { messages, tools }).messages[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: "(see what is attached below)", is_error: true },
      { type: "tool_result", tool_use_id: "b", content: "(no output)" },
      { type: "text", text: "[Attached to the result of the tool look, call a]" },
      { type: "image", source: { type: "url", url: "https://e.org/a.png" } },
    ]);
  });

  test("ids of calls stay what they are where the API takes them, and never become one where it does not", () => {
    const on = claude("claude-opus-5");
    const ids = ["x".repeat(64), `${"x".repeat(64)}y`, `${"x".repeat(64)}z`, "functions.look:0"];
    const messages = [
      UserMessage.text("look"),
      AssistantMessage.of(
        ids.map((id) => ToolCallContent.of(id, "look")),
        by(on.id),
      ),
      ToolMessage.fromResults(ids.map((id) => ToolResultContent.of(id, id))),
    ];
    const [, calls, results] = bodyOf(on, { messages, tools }).messages;
    expect(calls?.content[0]).toMatchObject({ id: ids[0] });
    expect(results?.content.map((one) => Reflect.get(one, "content"))).toEqual(ids);
  });

  test("an image whose address is not https is a line that says so", () => {
    const messages = [UserMessage.withImages("see", ["http://e.org/a.png"])];
    const [said] = bodyOf(claude("claude-opus-5"), { messages }).messages;
    expect(said?.content).toEqual([
      {
        type: "text",
        text: "see\n\n[An image was here: its address is not https, which this model cannot take.]",
      },
    ]);
  });

  test("a chat whose tools were taken away is still accepted, and nothing can be called", () => {
    const body = bodyOf(claude("claude-opus-5"), { messages: loop("claude-opus-5") });
    expect(body.tool_choice).toEqual({ type: "none" });
  });

  test("the marker of the cache is in no block of its own making, and can be left out", () => {
    const system = [
      { kind: "system" as const, text: "Be kind.", sources: [] },
      { kind: "notice" as const, text: "Noon.", sources: [] },
    ];
    const ask = (cache?: boolean) =>
      encode(claude("claude-opus-5"), {
        system,
        messages: [UserMessage.text("hi", { id: "m" })],
        ...(cache === undefined ? {} : { cache }),
      });
    const owned = (cache?: boolean) =>
      ask(cache).blocks.filter((one) => !["frame", "params"].includes(one.kind));
    expect(ask().body.match(/cache_control/g)).toHaveLength(2);
    expect(ask(false).body).not.toContain("cache_control");
    expect(owned()).toEqual(owned(false));
  });

  test("a base URL is taken with its version and without", () => {
    const at = (baseUrl: string) =>
      encode(model({ api: "anthropic", id: "x", baseUrl }), { messages: [] }).url;
    expect(at("http://h/")).toBe("http://h/v1/messages");
    expect(at("http://h/v1")).toBe("http://h/v1/messages");
    expect(at("http://h/anthropic?a=1")).toBe("http://h/anthropic/v1/messages?a=1");
  });
});

test("a tool whose parameters are a choice offers all of it", () => {
  expect(
    inputSchema({
      anyOf: [
        { properties: { a: { type: "string" }, c: {} }, required: ["a", "c"] },
        { type: "object", properties: { b: { type: "number" }, c: {} }, required: ["b", "c"] },
      ],
      properties: { d: {} },
    }),
  ).toEqual({
    type: "object",
    properties: { a: { type: "string" }, b: { type: "number" }, c: {}, d: {} },
    required: ["c"],
  });
  expect(inputSchema({})).toEqual({ type: "object" });
});
