import OpenAI from "openai";
import type { Response, ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
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
import {
  eventsOf,
  type OpenaiResponsesServer,
  response,
  responseStream,
  startOpenaiResponsesServer,
} from "../testing/openaiResponsesServer.js";
import { call, encode } from "./call.js";
import { model } from "./model.js";

/** The vendor's own client is the judge: it reads the same streams from the same server, and its types read our bodies. */
let server: OpenaiResponsesServer;
beforeAll(async () => {
  server = await startOpenaiResponsesServer();
});
afterAll(() => server.close());

type Item = Record<string, unknown>;
const long = JSON.stringify({ text: "ü🎈".repeat(300) });
const message = (id: string, ...content: Item[]): Item => {
  return { type: "message", id, role: "assistant", status: "completed", content };
};
const said = (text: string): Item => ({ type: "output_text", text, annotations: [], logprobs: [] });
const called = (id: string, args: string): Item => {
  return {
    type: "function_call",
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: "look",
    arguments: args,
    status: "completed",
  };
};
const thought = (id: string, ...texts: string[]): Item => {
  const summary = texts.map((text) => ({ type: "summary_text", text }));
  return { type: "reasoning", id: `rs_${id}`, summary, encrypted_content: `blob ${id}` };
};

const STREAMS: Record<string, { output: Item[]; more?: Item }> = {
  text: { output: [message("msg_1", said("Grüße 🎈\n"))] },
  "two texts in one message": { output: [message("msg_1", said("One. "), said("Two."))] },
  "cut by length": {
    output: [message("msg_1", said("Once upon"))],
    more: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  },
  filtered: {
    output: [message("msg_1", said("I"))],
    more: { status: "incomplete", incomplete_details: { reason: "content_filter" } },
  },
  refused: { output: [message("msg_1", { type: "refusal", refusal: "I cannot do that." })] },
  "reasoning, a remark and parallel tools": {
    output: [
      thought("1", "**First**\n\nLook.", "**Then**\n\nthink ☃."),
      { ...message("msg_1", said("I look.")), phase: "commentary" },
      called("a", '{"at":"☃"}'),
      called("b", "{}"),
    ],
  },
  "reasoning nobody may read": { output: [thought("1"), message("msg_1", said("Hm."))] },
  "reasoning between two tools": {
    output: [thought("1", "a"), called("a", '{"at":1}'), thought("2", "b"), called("b", '{"at":2}')],
  },
  "a long argument": { output: [message("msg_1", said("I look.")), called("a", long)] },
  failed: {
    output: [message("msg_1", said("I"))],
    more: { status: "failed", error: { code: "server_error", message: "The server had an error" } },
  },
};

const STOP = { completed: "stop", incomplete: "length", failed: "error" } as const;

describe("our reading of a stream is the vendor's", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, { output, more }) => {
    server.script = { body: responseStream(eventsOf(output, more)), writeSize: 301 };
    compare(await readOurs(), await readTheirs());
  });

  test.each(Object.entries(STREAMS))("%s, in one piece", async (_, { output, more }) => {
    server.script = {
      body: JSON.stringify(response(output, more)),
      headers: { "content-type": "application/json" },
    };
    compare(await readOurs(), await readWhole());
  });

  function compare(ours: AssistantMessage, theirs: Response): void {
    const all = theirs.output;
    const texts = all.flatMap((item) => (item.type === "message" ? item.content : []));
    const refusal = texts.some((part) => part.type === "refusal");
    expect(AssistantMessage.textContent(ours)).toBe(
      texts.map((part) => (part.type === "refusal" ? part.refusal : part.text)).join(""),
    );
    if (!refusal) expect(AssistantMessage.textContent(ours)).toBe(theirs.output_text);
    const reasoning = all.flatMap((item) => (item.type === "reasoning" ? [item] : []));
    expect(AssistantMessage.thinking(ours).map(({ content, signature }) => [content, signature])).toEqual(
      reasoning.map((item) => [item.summary.map((part) => part.text).join("\n\n"), item.encrypted_content]),
    );
    const calls = all.flatMap((item) => (item.type === "function_call" ? [item] : []));
    expect(AssistantMessage.toolCalls(ours).map(({ id, name, args }) => ({ id, name, args }))).toEqual(
      calls.map((item) => ({ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) })),
    );
    expect(ours.stopReason).toBe(stopOf(theirs, refusal, calls.length > 0));
    expect(Usage.contextSize(ours.usage)).toBe(theirs.usage?.total_tokens);
    expect(ours.usage).toMatchObject({
      inputTokens: 30,
      cacheReadTokens: 50,
      cacheWriteTokens: 10,
      outputTokens: 40,
      reasoningTokens: 12,
    });
  }

  function stopOf({ status, incomplete_details }: Response, refusal: boolean, hasCalls: boolean): string {
    if (refusal || incomplete_details?.reason === "content_filter") return "refusal";
    if (hasCalls) return "tool_use";
    if (status !== "completed" && status !== "incomplete" && status !== "failed")
      throw new Error(`status ${status}`);
    return STOP[status];
  }

  function client(): OpenAI {
    return new OpenAI({ baseURL: server.baseUrl, apiKey: "unused", maxRetries: 0 });
  }

  function readTheirs(): Promise<Response> {
    return client()
      .responses.stream({
        model: "gpt-5",
        input: [{ type: "message", role: "user", content: "hi" }],
        store: false,
      })
      .finalResponse();
  }

  function readWhole(): Promise<Response> {
    return client().responses.create({
      model: "gpt-5",
      input: [{ type: "message", role: "user", content: "hi" }],
      store: false,
    });
  }

  async function readOurs(): Promise<AssistantMessage> {
    const on = model({ api: "openai-responses", id: "gpt-5", baseUrl: server.baseUrl });
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
    api: "openai-responses",
    model: "gpt-5",
  } as const;
  const native = (data: unknown) => ({ native: { api: "openai-responses", data } });
  const expected = {
    model: "gpt-5",
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high", summary: "auto" },
    max_output_tokens: 50,
    tools: [
      {
        type: "function",
        name: "look",
        description: "Looks.",
        parameters: { type: "object" },
        strict: false,
      },
    ],
    instructions: "Be kind.",
    input: [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "see and hear" },
          { type: "input_image", detail: "auto", image_url: "https://e.org/a.png" },
          {
            type: "input_text",
            text: "[A sound clip was here: given as audio/wav, which this model cannot take.]",
          },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Hm." }],
        encrypted_content: "blob",
      },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "I look.", annotations: [] }],
        phase: "commentary",
      },
      { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: '{"at":1}' },
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [
          { type: "input_text", text: "Error: nothing there" },
          { type: "input_image", detail: "auto", image_url: "https://e.org/b.png" },
        ],
      },
      { type: "message", role: "system", content: [{ type: "input_text", text: "Now be brief." }] },
      { type: "message", role: "assistant", content: "Nothing." },
      { type: "function_call", call_id: "call_2", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "call_2", output: "(no output)" },
    ],
  } satisfies ResponseCreateParamsStreaming;
  const { body } = encode(model({ api: "openai-responses", id: "gpt-5" }), {
    system: "Be kind.",
    messages: [
      UserMessage.of([
        TextContent.of("see and hear"),
        { type: "image", images: ["https://e.org/a.png"] },
        { type: "audio", audio: ["UklGRjAwMDBXQVZF"] },
      ]),
      AssistantMessage.of(
        [
          {
            type: "thinking",
            content: "Hm.",
            signature: "blob",
            ...native({
              at: 0,
              item: { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
            }),
          },
          {
            type: "text",
            content: "I look.",
            ...native({ at: 1, id: "msg_1", phase: "commentary" }),
          },
          { ...ToolCallContent.of("call_1", "look", { at: 1 }), ...native({ at: 2, id: "fc_1" }) },
        ],
        envelope,
      ),
      ToolMessage.fromResult(
        ToolResultContent.of("call_1", "nothing there", { isError: true, images: ["https://e.org/b.png"] }),
      ),
      SystemMessage.text("Now be brief."),
      AssistantMessage.of([TextContent.of("Nothing."), ToolCallContent.of("call_2", "look", {})], {
        ...envelope,
        provider: "anthropic",
      }),
      ToolMessage.fromResult(ToolResultContent.of("call_2", "")),
    ],
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
    temperature: 1,
    maxTokens: 50,
    thinking: "high",
  });
  expect(JSON.parse(body)).toEqual(expected);
});
