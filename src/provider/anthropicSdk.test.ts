import Anthropic from "@anthropic-ai/sdk";
import type { Message, MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  AssistantMessage,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import {
  type AnthropicServer,
  anthropicStream,
  block,
  callBlock,
  messageEnd,
  messageStart,
  type StreamEvent,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "../testing/anthropicServer.js";
import { call, encode } from "./call.js";
import { model } from "./model.js";

/** The vendor's own client is the judge: it reads the same streams from the same server, and its types read our bodies. */
let server: AnthropicServer;
beforeAll(async () => {
  server = await startAnthropicServer();
});
afterAll(() => server.close());

const begun = messageStart({
  input_tokens: 40,
  cache_read_input_tokens: 50,
  cache_creation_input_tokens: 7,
  cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 0 },
  output_tokens: 1,
});
const used = { input_tokens: 40, output_tokens: 30, output_tokens_details: { thinking_tokens: 12 } };
const long = JSON.stringify({ text: "ü🎈".repeat(500) });
const ping: StreamEvent = { type: "ping" };

const STREAMS: Record<string, StreamEvent[]> = {
  text: [begun, ping, ...textBlock(0, "Grü", "ße 🎈\n"), ...messageEnd("end_turn", used)],
  "nothing at all": [begun, ...messageEnd("end_turn", used)],
  "cut by length": [begun, ...textBlock(0, "Once upon"), ...messageEnd("max_tokens", used)],
  "a stop sequence": [begun, ...textBlock(0, "One"), ...messageEnd("stop_sequence", used)],
  refused: [
    begun,
    ...textBlock(0, "I"),
    ...messageEnd("refusal", used, {
      stop_details: { type: "refusal", category: "bio", explanation: "Not that." },
    }),
  ],
  "thinking, text": [
    begun,
    ...thinkingBlock(0, "Hmm ", "☃."),
    ...textBlock(1, "Yes."),
    ...messageEnd("end_turn", used),
  ],
  "thinking left out, redacted thinking, tools": [
    begun,
    ...thinkingBlock(0),
    ...block(1, { type: "redacted_thinking", data: "blob==" }),
    ...textBlock(2, "I look."),
    ...callBlock(3, "toolu_a", "look", "", '{"at":', '"☃"}'),
    ping,
    ...callBlock(4, "toolu_b", "clock"),
    ...callBlock(5, "toolu_c", "clock", ""),
    ...messageEnd("tool_use", used),
  ],
  "thinking between tools": [
    begun,
    ...thinkingBlock(0, "First."),
    ...callBlock(1, "toolu_a", "look", "{}"),
    ...thinkingBlock(2, "Then."),
    ...callBlock(3, "toolu_b", "look", '{"n":1}'),
    ...messageEnd("tool_use", used),
  ],
  "a long argument": [
    begun,
    ...callBlock(0, "toolu_a", "look", ...(long.match(/.{1,7}/gsu) ?? [])),
    ...messageEnd("tool_use", used),
  ],
  "counts told again at the end": [
    messageStart({ input_tokens: 1, output_tokens: 1 }),
    ...textBlock(0, "Hi"),
    ...messageEnd("end_turn", {
      input_tokens: 40,
      cache_read_input_tokens: 50,
      cache_creation_input_tokens: 7,
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 12 },
    }),
  ],
};

const STOP = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  tool_use: "tool_use",
  refusal: "refusal",
  model_context_window_exceeded: "error",
} as const;

describe("our reading of a stream is the vendor's", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, events) => {
    server.script = { body: anthropicStream(events), writeSize: 301 };
    const [theirs, ours] = [await readTheirs(), await readOurs()];
    expect(ours.contents).toEqual(theirs.content.flatMap(asOurs));
    expect(theirs.stop_reason && STOP[theirs.stop_reason]).toBe(ours.stopReason);
    const { usage } = theirs;
    expect(ours.usage).toEqual({
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
      reasoningTokens: usage.output_tokens_details?.thinking_tokens,
      cost: null,
    });
    expect(Usage.contextSize(ours.usage)).toBe(127);
  });

  function asOurs(content: Message["content"][number]): AssistantMessage["contents"] {
    switch (content.type) {
      case "text":
        return content.text === "" ? [] : [TextContent.of(content.text)];
      case "thinking":
        return [ThinkingContent.of(content.thinking, content.signature)];
      case "redacted_thinking":
        return [{ ...ThinkingContent.of("", content.data), redacted: true }];
      case "tool_use":
        return [{ type: "tool_call", id: content.id, name: content.name, args: Object(content.input) }];
      default:
        throw new Error(`no stream here has ${content.type}`);
    }
  }

  function readTheirs(): Promise<Message> {
    const client = new Anthropic({ baseURL: server.baseUrl, apiKey: "unused", maxRetries: 0 });
    const stream = client.messages.stream({
      model: "claude-opus-5",
      max_tokens: 100,
      messages: [{ role: "user", content: "hi" }],
    });
    return stream.finalMessage();
  }

  async function readOurs(): Promise<AssistantMessage> {
    const on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl });
    for await (const event of call(on, { messages: [UserMessage.text("hi")] })) {
      if (event.type === "done") return event.message;
    }
    throw new Error("no answer");
  }
});

test("the vendor's client and ours send to the same place, in the same version", async () => {
  server.script = { body: anthropicStream([begun, ...messageEnd("end_turn", used)]) };
  server.requests.length = 0;
  const client = new Anthropic({ baseURL: server.baseUrl, apiKey: "sk-ant", maxRetries: 0 });
  const params = {
    model: "claude-opus-5",
    max_tokens: 9,
    messages: [{ role: "user", content: "hi" }],
  } as const;
  await client.messages.stream({ ...params, messages: [...params.messages] }).finalMessage();
  const on = model({ api: "anthropic", id: "claude-opus-5", baseUrl: server.baseUrl, apiKey: "sk-ant" });
  for await (const _ of call(on, { messages: [UserMessage.text("hi")] }));
  const [theirs, ours] = server.requests;
  expect(ours?.url).toBe(theirs?.url);
  expect(ours?.headers["content-type"]).toBe(theirs?.headers["content-type"]);
  // Their newest client says it the other way; servers that imitate the API know the first.
  expect(ours?.headers["x-api-key"]).toBe("sk-ant");
  expect(theirs?.headers.authorization).toBe("Bearer sk-ant");
  // A server at any other address is asked in the version that imitations know.
  expect(ours?.headers["anthropic-version"]).toBe("2023-06-01");
  const athome = encode(model({ api: "anthropic", id: "claude-opus-5" }), { messages: [] });
  expect(athome.headers["anthropic-version"]).toBe(theirs?.headers["anthropic-version"]);
  expect(athome.url).toBe("https://api.anthropic.com/v1/messages");
});

test("our bodies are what the vendor's types say a request is", () => {
  const envelope = {
    usage: Usage.none(),
    stopReason: "tool_use",
    provider: "anthropic",
    api: "anthropic",
    model: "claude-opus-5",
  } as const;
  const expected = {
    model: "claude-opus-5",
    max_tokens: 5000,
    stream: true,
    cache_control: { type: "ephemeral" },
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort: "high" },
    tools: [{ name: "look", description: "Looks.", input_schema: { type: "object" } }],
    system: [
      { type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } },
      { type: "text", text: "It is noon." },
    ],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "see and hear" },
          { type: "image", source: { type: "url", url: "https://e.org/a.png" } },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgoA" } },
          {
            type: "text",
            text: "[A sound clip was here: given as audio/wav, which this model cannot take.]",
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "sig" },
          { type: "redacted_thinking", data: "blob" },
          { type: "tool_use", id: "toolu_1", name: "look", input: { at: 1 } },
          { type: "tool_use", id: "toolu_2", name: "look", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "nothing there", is_error: true },
          {
            type: "tool_result",
            tool_use_id: "toolu_2",
            content: [
              { type: "text", text: "a picture" },
              { type: "image", source: { type: "url", url: "https://e.org/b.png" } },
            ],
          },
        ],
      },
      { role: "system", content: [{ type: "text", text: "Now be brief." }] },
      { role: "assistant", content: [{ type: "text", text: "Nothing." }] },
      { role: "user", content: [{ type: "text", text: "Thanks" }] },
    ],
  } satisfies MessageCreateParamsStreaming;
  const { body } = encode(model({ api: "anthropic", id: "claude-opus-5" }), {
    system: [
      { kind: "notice", text: "It is noon.", sources: [] },
      { kind: "system", text: "Be kind.", sources: [] },
    ],
    messages: [
      UserMessage.of([
        TextContent.of("see and hear"),
        { type: "image", images: ["https://e.org/a.png", "iVBORw0KGgoA"] },
        { type: "audio", audio: ["UklGRjAwMDBXQVZF"] },
      ]),
      AssistantMessage.of(
        [
          ThinkingContent.of("Hm.", "sig"),
          { ...ThinkingContent.of("", "blob"), redacted: true },
          ToolCallContent.of("toolu_1", "look", { at: 1 }),
          ToolCallContent.of("toolu_2", "look"),
        ],
        envelope,
      ),
      ToolMessage.fromResults([
        ToolResultContent.error("toolu_1", "nothing there"),
        ToolResultContent.of("toolu_2", "a picture", { images: ["https://e.org/b.png"] }),
      ]),
      SystemMessage.text("Now be brief."),
      AssistantMessage.of([TextContent.of("Nothing.")], { ...envelope, stopReason: "stop" }),
      UserMessage.text("Thanks"),
    ],
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
    temperature: 1,
    maxTokens: 5000,
    thinking: "high",
  });
  expect(JSON.parse(body)).toEqual(expected);
});
