import { describe, expect, test } from "vitest";
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
import { encode } from "./call.js";
import type { ModelRequest } from "./codec.js";
import { type ModelOptions, model } from "./model.js";

const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const OPUS = "anthropic.claude-opus-5";
const NOVA = "us.amazon.nova-2-lite-v1:0";
const LLAMA = "us.meta.llama3-3-70b-instruct-v1:0";
const MISTRAL = "mistral.mistral-large-2402-v1:0";
const PNG = "iVBORw0KGgoA";
const look = { name: "look", description: "Looks.", parameters: { type: "object" } };

function sent(id: string, request: ModelRequest, options: Partial<ModelOptions> = {}) {
  const encoded = encode(model({ api: "bedrock", id, ...options }), request);
  return { ...encoded, json: JSON.parse(encoded.body) };
}
const by = (id: string, stopReason: "stop" | "tool_use" = "stop") => ({
  usage: Usage.none(),
  stopReason,
  provider: "bedrock",
  api: "bedrock",
  model: id,
});
/** A question, a call and its result, by this model. */
const looked = (id: string, result = ToolResultContent.of("call 1", "seen")) => [
  UserMessage.text("look"),
  AssistantMessage.of([ToolCallContent.of("call 1", "look")], by(id, "tool_use")),
  ToolMessage.fromResult(result),
];

describe("cache markers", () => {
  const request: ModelRequest = {
    system: [
      { kind: "system", text: "Be kind.", sources: [] },
      { kind: "notice", text: "It is noon.", sources: [] },
    ],
    messages: [UserMessage.text("hi", { id: "m1" })],
    tools: [look],
  };
  const mark = { cachePoint: { type: "default" } };

  test("stand behind tools, the lasting part of the system prompt and the last message, in no block", () => {
    const { json, blocks } = sent(CLAUDE, request);
    expect(json.toolConfig.tools.at(-1)).toEqual(mark);
    expect(json.system).toEqual([{ text: "Be kind." }, mark, { text: "It is noon." }]);
    expect(json.messages).toEqual([{ role: "user", content: [{ text: "hi" }, mark] }]);
    for (const block of blocks) if (block.text.includes("cachePoint")) expect(block.kind).toBe("frame");
  });

  test("are not sent where nobody wants them, nor to models that refuse them", () => {
    expect(sent(CLAUDE, { ...request, cache: false }).body).not.toContain("cachePoint");
    for (const id of [LLAMA, MISTRAL, "anthropic.claude-3-haiku-20240307-v1:0", "arn:aws:bedrock:x:1:a/b"])
      expect(sent(id, request).body).not.toContain("cachePoint");
    const { json } = sent(NOVA, request);
    expect(json.toolConfig.tools).toHaveLength(1);
    expect(json.system[1]).toEqual(mark);
  });
});

describe("thinking", () => {
  const ask = (thinking: "off" | "low" | "high"): ModelRequest => ({
    messages: [UserMessage.text("hi")],
    thinking,
    maxTokens: 9000,
    temperature: 0.5,
  });

  test("is asked for in each model's own words", () => {
    expect(sent(CLAUDE, ask("low")).json).toMatchObject({
      inferenceConfig: { maxTokens: 9000 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2048 } },
    });
    expect(sent(OPUS, ask("high")).json.additionalModelRequestFields).toEqual({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
    });
    expect(sent(NOVA, ask("low")).json.additionalModelRequestFields).toEqual({
      reasoningConfig: { type: "enabled", maxReasoningEffort: "low" },
    });
    expect(sent("openai.gpt-oss-120b-1:0", ask("off")).json.additionalModelRequestFields).toEqual({
      reasoning_effort: "low",
    });
    expect(sent(LLAMA, ask("high")).json.additionalModelRequestFields).toBeUndefined();
  });

  test("goes without a temperature where the two do not go together", () => {
    expect(sent(CLAUDE, ask("low")).json.inferenceConfig).toEqual({ maxTokens: 9000 });
    expect(sent(CLAUDE, ask("off")).json.inferenceConfig).toEqual({ maxTokens: 9000, temperature: 0.5 });
    expect(sent(NOVA, ask("high")).json.inferenceConfig).toEqual({});
  });

  test("goes back to a Claude that signed it, and to no other model", () => {
    const thought = (id: string): ModelRequest => ({
      messages: [
        UserMessage.text("hi"),
        AssistantMessage.of(
          [
            ThinkingContent.of("Hm.", "sig"),
            ThinkingContent.of("", "sig of nothing"),
            { ...ThinkingContent.of("", "YmxvYg=="), redacted: true },
            TextContent.of("Hello."),
          ],
          by(id),
        ),
        UserMessage.text("and?"),
      ],
    });
    const claudes = [
      { reasoningContent: { reasoningText: { text: "Hm.", signature: "sig" } } },
      { reasoningContent: { reasoningText: { text: "", signature: "sig of nothing" } } },
      { reasoningContent: { redactedContent: "YmxvYg==" } },
      { text: "Hello." },
    ];
    expect(sent(CLAUDE, thought(CLAUDE)).json.messages[1].content).toEqual(claudes);
    // What has a signature can only be a Claude's, also where the id does not tell.
    const profile = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x";
    expect(sent(profile, thought(profile)).json.messages[1].content).toEqual(claudes);
    expect(sent(NOVA, thought(NOVA)).json.messages[1].content).toEqual([{ text: "Hello." }]);
    expect(sent(CLAUDE, thought(OPUS)).json.messages[1].content).toEqual([
      { text: "Hm." },
      { text: "Hello." },
    ]);
  });

  test("alone, of a model that cannot hear it again, is left out and told", () => {
    const messages = [
      UserMessage.text("hi"),
      AssistantMessage.of([ThinkingContent.of("Hm.", "")], { ...by(NOVA), id: "a1" }),
    ];
    const { json, leftOut } = sent(NOVA, { messages });
    expect(json.messages).toHaveLength(1);
    expect(leftOut).toEqual([
      { message_id: "a1", reason: "thinking alone, which this API cannot take back" },
    ]);
  });
});

describe("tools", () => {
  test("that are gone leave one to be named, since a history with calls is refused without any", () => {
    expect(sent(CLAUDE, { messages: looked(CLAUDE) }).json.toolConfig.tools[0].toolSpec.name).toBe("none");
    expect(sent(CLAUDE, { messages: [UserMessage.text("hi")] }).json.toolConfig).toBeUndefined();
  });

  test("make an answer come in one piece from models that AWS does not stream with tools", () => {
    const hi = { messages: [UserMessage.text("hi")] };
    expect(sent(LLAMA, { ...hi, tools: [look] }).url).toMatch(/\/converse$/);
    expect(sent(LLAMA, { messages: looked(LLAMA) }).url).toMatch(/\/converse$/);
    expect(sent(LLAMA, hi).url).toMatch(/\/converse-stream$/);
    expect(sent(CLAUDE, { ...hi, tools: [look] })).toMatchObject({
      url: `https://bedrock-runtime.us-east-1.amazonaws.com/model/${encodeURIComponent(CLAUDE)}/converse-stream`,
      headers: { accept: "application/vnd.amazon.eventstream" },
    });
  });

  test("have ids each model takes, and the same in call and result", () => {
    for (const [id, fits] of [
      [MISTRAL, /^[A-Za-z0-9]{9}$/],
      [CLAUDE, /^[A-Za-z0-9_-]{1,64}$/],
    ] as const) {
      const { messages } = sent(id, { messages: looked(id) }).json;
      const given = messages[1].content[0].toolUse.toolUseId;
      expect(given).toMatch(fits);
      expect(messages[2].content[0].toolResult.toolUseId).toBe(given);
    }
  });

  test("that failed say so by the API's flag, or in words where a model does not know it", () => {
    const failed = ToolResultContent.error("call 1", "no such file");
    const resultOf = (id: string) =>
      sent(id, { messages: looked(id, failed) }).json.messages[2].content[0].toolResult;
    expect(resultOf(NOVA)).toMatchObject({ content: [{ text: "no such file" }], status: "error" });
    expect(resultOf(LLAMA)).toMatchObject({ content: [{ text: "Error: no such file" }] });
    expect(resultOf(LLAMA)).not.toHaveProperty("status");
  });

  test("show images inside their result, or right after it where a model wants that", () => {
    const picture = ToolResultContent.of("call 1", "", { images: [PNG] });
    const image = { image: { format: "png", source: { bytes: PNG } } };
    expect(
      sent(CLAUDE, { messages: looked(CLAUDE, picture) }).json.messages[2].content[0].toolResult.content,
    ).toEqual([image]);
    const pixtral = "us.mistral.pixtral-large-2502-v1:0";
    const { messages } = sent(pixtral, { messages: looked(pixtral, picture) }).json;
    expect(messages[2].content[0].toolResult.content).toEqual([{ text: "(see what is attached below)" }]);
    expect(messages[3]).toEqual({ role: "assistant", content: [{ text: "I have the results." }] });
    expect(messages[4].content[1]).toEqual(image);
  });
});

describe("words", () => {
  test("of the system in mid-conversation stay in their place, marked, or in the API's role where a model has it", () => {
    const request = { messages: [UserMessage.text("hi"), SystemMessage.text("Be brief.")] };
    expect(sent(OPUS, request).json.messages[0].content[1].text).toBe(
      "[System message]\nBe brief.\n[End of system message]",
    );
    const own = sent(OPUS, request, { quirks: { midSystem: "system" } });
    expect(own.json.messages[1]).toEqual({ role: "system", content: [{ text: "Be brief." }] });
    // That role stands only right before an answer.
    const spoken = { messages: [...request.messages, UserMessage.text("ok?")] };
    const marked = sent(OPUS, spoken, { quirks: { midSystem: "system" } });
    expect(marked.json.messages).toHaveLength(1);
  });

  test("begin and end with the user's, also where nobody has spoken", () => {
    const roles = (messages: ModelRequest["messages"]): string[] =>
      sent(CLAUDE, { messages }).json.messages.map((one: { role: string }) => one.role);
    expect(roles([])).toEqual(["user"]);
    expect(roles([AssistantMessage.of([TextContent.of("Hi")], by(CLAUDE))])).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  test("spoken aloud go to models that hear, and become a line for the others", () => {
    const messages = [UserMessage.of([{ type: "audio", audio: ["UklGRjAwMDBXQVZF", "T2dnUw=="] }])];
    const heard = sent("us.amazon.nova-2-omni-v1:0", { messages }).json.messages[0].content;
    expect(heard[0]).toEqual({ audio: { format: "wav", source: { bytes: "UklGRjAwMDBXQVZF" } } });
    expect(heard[1]).toEqual({ audio: { format: "ogg", source: { bytes: "T2dnUw==" } } });
    expect(sent(CLAUDE, { messages }).json.messages[0].content[0].text).toContain("[A sound clip was here:");
  });

  test("of images go as bytes, since Bedrock fetches none, and only to models that see", () => {
    const messages = [UserMessage.of([{ type: "image", images: [PNG, "https://e.org/a.png"] }])];
    const seen = sent(CLAUDE, { messages }).json.messages[0].content;
    expect(seen[0].image.source.bytes).toBe(PNG);
    expect(seen[1].text).toContain("[An image was here: given as an address");
    expect(sent(LLAMA, { messages }).body).not.toContain(PNG);
  });
});
