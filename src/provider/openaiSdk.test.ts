import OpenAI from "openai";
import type { ChatCompletion, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  AssistantMessage,
  SystemMessage,
  TextContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "../message/index.js";
import { call, encode } from "./call.js";
import {
  type ChatCompletionsServer,
  chunk,
  eventStream,
  startChatCompletionsServer,
} from "../testing/chatCompletionsServer.js";
import { model } from "./model.js";

/** The vendor's own client is the judge: it reads the same streams from the same server, and its types read our bodies. */
let server: ChatCompletionsServer;
beforeAll(async () => {
  server = await startChatCompletionsServer();
});
afterAll(() => server.close());

const usage = {
  prompt_tokens: 90,
  completion_tokens: 40,
  total_tokens: 130,
  prompt_tokens_details: { cached_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 10 },
};
const counted = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage };
const role = chunk({ role: "assistant", content: "", refusal: null });
const piece = (index: number, args: string, start: Record<string, unknown> = {}): Record<string, unknown> =>
  chunk({
    tool_calls: [{ index, ...start, function: { arguments: args, ...(start.id ? { name: "look" } : {}) } }],
  });
const long = JSON.stringify({ text: "ü🎈".repeat(500) });

const STREAMS: Record<string, unknown[]> = {
  text: [role, chunk({ content: "Grü" }), chunk({ content: "ße 🎈\n" }), chunk({}, "stop"), counted],
  "cut by length": [role, chunk({ content: "Once upon" }), chunk({}, "length"), counted],
  filtered: [role, chunk({ content: "I" }), chunk({}, "content_filter"), counted],
  refused: [role, chunk({ refusal: "I can" }), chunk({ refusal: "not." }), chunk({}, "stop"), counted],
  "parallel tools": [
    role,
    piece(0, "", { id: "call_a", type: "function" }),
    piece(0, '{"at":'),
    piece(0, '"☃"}'),
    piece(1, "", { id: "call_b", type: "function" }),
    piece(1, "{}"),
    chunk({}, "tool_calls"),
    counted,
  ],
  "text and a long argument": [
    role,
    chunk({ content: "I look." }),
    piece(0, "", { id: "call_a", type: "function" }),
    ...(long.match(/.{1,7}/gsu) ?? []).map((part) => piece(0, part)),
    chunk({}, "tool_calls"),
    counted,
  ],
};

const STOP = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
} as const;

describe("our reading of a stream is the vendor's", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, chunks) => {
    server.script = { body: eventStream(chunks), writeSize: 301 };
    const [theirs, ours] = [await readTheirs(), await readOurs()];
    const [choice] = theirs.choices;
    if (!choice) throw new Error("the vendor's client found no choice");
    expect(AssistantMessage.textContent(ours)).toBe(
      (choice.message.content ?? "") + (choice.message.refusal ?? ""),
    );
    expect(AssistantMessage.toolCalls(ours).map(({ id, name, args }) => ({ id, name, args }))).toEqual(
      (choice.message.tool_calls ?? []).flatMap((one) =>
        one.type === "function"
          ? [{ id: one.id, name: one.function.name, args: JSON.parse(one.function.arguments) }]
          : [],
      ),
    );
    expect(ours.stopReason).toBe(choice.message.refusal ? "refusal" : STOP[choice.finish_reason]);
    expect(Usage.contextSize(ours.usage)).toBe(theirs.usage?.total_tokens);
    expect(ours.usage).toMatchObject({
      inputTokens: 40,
      cacheReadTokens: 50,
      outputTokens: 40,
      reasoningTokens: 10,
    });
  });

  function readTheirs(): Promise<ChatCompletion> {
    const client = new OpenAI({ baseURL: server.baseUrl, apiKey: "unused", maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model: "gpt",
      messages: [{ role: "user", content: "hi" }],
    });
    return stream.finalChatCompletion();
  }

  async function readOurs(): Promise<AssistantMessage> {
    const on = model({ api: "openai-chat", id: "gpt", baseUrl: server.baseUrl });
    for await (const event of call(on, { messages: [UserMessage.text("hi")] })) {
      if (event.type === "done") return event.message;
    }
    throw new Error("no answer");
  }
});

test("our bodies are what the vendor's types say a request is", () => {
  const envelope = {
    usage: Usage.none(),
    stopReason: "tool_use",
    provider: "openai",
    api: "openai-chat",
    model: "gpt",
  } as const;
  const expected = {
    model: "gpt-audio",
    stream: true,
    stream_options: { include_usage: true },
    temperature: 1,
    max_completion_tokens: 50,
    reasoning_effort: "high",
    tools: [
      { type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object" } } },
    ],
    messages: [
      { role: "system", content: "Be kind." },
      {
        role: "user",
        content: [
          { type: "text", text: "see and hear" },
          { type: "image_url", image_url: { url: "https://e.org/a.png" } },
          { type: "input_audio", input_audio: { data: "UklGRjAwMDBXQVZF", format: "wav" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":1}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "Error: nothing there" },
      { role: "system", content: "Now be brief." },
      { role: "assistant", content: "Nothing." },
    ],
  } satisfies ChatCompletionCreateParamsStreaming;
  const { body } = encode(model({ api: "openai-chat", id: "gpt-audio" }), {
    system: "Be kind.",
    messages: [
      UserMessage.of([
        TextContent.of("see and hear"),
        { type: "image", images: ["https://e.org/a.png"] },
        { type: "audio", audio: ["UklGRjAwMDBXQVZF"] },
      ]),
      AssistantMessage.of([ToolCallContent.of("call_1", "look", { at: 1 })], envelope),
      ToolMessage.fromResult(ToolResultContent.error("call_1", "nothing there")),
      SystemMessage.text("Now be brief."),
      AssistantMessage.of([TextContent.of("Nothing.")], { ...envelope, stopReason: "stop" }),
    ],
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
    temperature: 1,
    maxTokens: 50,
    thinking: "high",
  });
  expect(JSON.parse(body)).toEqual(expected);
});
