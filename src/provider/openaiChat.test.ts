import { describe, expect, test } from "vitest";
import {
  AssistantMessage,
  type Origin,
  TextContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import { encode } from "./call.js";
import type { ModelRequest } from "./codec.js";
import { model } from "./model.js";

const openai = model({ api: "openai-chat", id: "gpt-4.1", apiKey: "sk-test-key" });
const local = model({ api: "openai-chat", id: "llama", baseUrl: "http://127.0.0.1:9/v1", provider: "local" });

let serial = 0;
const stamp = (): { id: string; timestamp: number } => ({ id: `m${++serial}`, timestamp: serial });
const envelope = {
  usage: Usage.none(),
  stopReason: "stop",
  provider: "openai",
  api: "openai-chat",
  model: "gpt-4.1",
} as const;
type Contents = AssistantMessage["contents"];
const says = (contents: Contents, more: Partial<AssistantMessage> = {}): AssistantMessage =>
  AssistantMessage.of(contents, { ...envelope, ...more, ...stamp() });
const asks = (...ids: string[]): AssistantMessage =>
  says(
    ids.map((id) => ToolCallContent.of(id, "look", { at: id })),
    { stopReason: "tool_use" },
  );
const person = (text: string): UserMessage => UserMessage.text(text, stamp());
const results = (...ids: string[]): ToolMessage =>
  ToolMessage.fromResults(
    ids.map((id) => ToolResultContent.of(id, `saw ${id}`)),
    stamp(),
  );

describe("the body of a request", () => {
  const request: ModelRequest = {
    system: [
      { kind: "system", text: 'You are "Robin".', sources: [{ type: "prompt", id: "kitchen" }] },
      { kind: "notice", text: "Deploy\nsoon.", sources: [{ type: "notice", id: "n1" }] },
    ],
    messages: [
      UserMessage.text("[Ann]: hi ☃", { id: "r1" }),
      AssistantMessage.of(
        [TextContent.of("I look."), ToolCallContent.of("call_1", "clock", { zone: "UTC" })],
        {
          ...envelope,
          stopReason: "tool_use",
          id: "r2",
        },
      ),
      ToolMessage.fromResult(
        ToolResultContent.of("call_1", "12:00", { metadata: { secret: 1 }, terminate: true }),
        { id: "r3" },
      ),
    ],
    tools: [
      { name: "clock", description: "Tells the time.", parameters: { type: "object", properties: {} } },
    ],
    temperature: 0.5,
    maxTokens: 200,
    thinking: "low",
  };

  test("is exactly this", () => {
    const { body, url, headers } = encode(openai, request);
    expect(url).toBe("https://api.openai.com/v1/chat/completions");
    expect(headers.authorization).toBe("Bearer sk-test-key");
    expect(body).toBe(
      '{"model":"gpt-4.1","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,' +
        '"max_completion_tokens":200,"reasoning_effort":"low",' +
        '"tools":[{"type":"function","function":{"name":"clock","description":"Tells the time.",' +
        '"parameters":{"type":"object","properties":{}}}}],' +
        '"messages":[{"role":"system","content":"You are \\"Robin\\".\\n\\nDeploy\\nsoon."},' +
        '{"role":"user","content":"[Ann]: hi ☃"},' +
        '{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1","type":"function",' +
        '"function":{"name":"clock","arguments":"{\\"zone\\":\\"UTC\\"}"}}]},' +
        '{"role":"tool","tool_call_id":"call_1","content":"12:00"}]}',
    );
  });

  test("is made of blocks that say what they came from", () => {
    const { blocks } = encode(openai, request);
    expect(blocks.filter((block) => block.kind !== "frame")).toEqual([
      expect.objectContaining({ kind: "params", sources: [] }),
      expect.objectContaining({ kind: "tools", sources: [{ type: "tool", id: "clock" }] }),
      { kind: "system", text: 'You are \\"Robin\\".', sources: [{ type: "prompt", id: "kitchen" }] },
      { kind: "notice", text: "\\n\\nDeploy\\nsoon.", sources: [{ type: "notice", id: "n1" }] },
      {
        kind: "message",
        text: '{"role":"user","content":"[Ann]: hi ☃"}',
        sources: [{ type: "message", id: "r1" }],
      },
      expect.objectContaining({ kind: "message", sources: [{ type: "message", id: "r2" }] }),
      expect.objectContaining({ kind: "message", sources: [{ type: "message", id: "r3" }] }),
    ]);
    for (const block of blocks.filter((one) => one.kind === "message")) JSON.parse(block.text);
  });

  test("on a compatible server asks for max_tokens and leaves the effort out", () => {
    const { body } = encode(local, request);
    expect(JSON.parse(body)).toMatchObject({ model: "llama", max_tokens: 200 });
    expect(body).not.toContain("reasoning_effort");
  });

  test("begins with the body before it, as long as the chat only grows", () => {
    const history = [
      person("one"),
      says([TextContent.of("1")]),
      person("two"),
      asks("a", "b"),
      results("a", "b"),
      person("three"),
    ];
    const bodies = history.map((_, at) => encode(openai, { ...request, messages: history.slice(0, at + 1) }));
    const opened = bodies.map(({ body }) => body.slice(0, -"]}".length));
    // After the calls without their results the next request has to differ: nobody sends that one.
    for (const at of [1, 2, 3, 5]) expect(opened[at]?.startsWith(opened[at - 1] ?? "?")).toBe(true);
    expect(opened[4]?.startsWith(opened[2] ?? "?")).toBe(true);
  });

  test("names what each block came from as the request says, one source per result of a batch", () => {
    const batch = results("a", "b");
    const said = person("hm");
    const origins = new Map<string, Origin>([
      [
        batch.id,
        {
          kind: "message",
          sources: [
            { type: "message", id: "row7" },
            { type: "message", id: "row8" },
          ],
        },
      ],
      [said.id, { kind: "thread_context", sources: [{ type: "message", id: "row9" }] }],
    ]);
    const { blocks } = encode(openai, { messages: [asks("a", "b"), batch, said], origins });
    const listed = blocks.filter((block) => block.kind !== "frame" && block.kind !== "params");
    expect(listed.slice(1).map(({ kind, sources }) => [kind, ...sources.map((source) => source.id)])).toEqual(
      [
        ["message", "row7"],
        ["message", "row8"],
        ["thread_context", "row9"],
      ],
    );
  });
});
