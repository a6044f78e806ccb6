import { describe, expect, test } from "vitest";
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
import { encode } from "./call.js";
import { brokenRules } from "../testing/chatCompletionsRules.js";
import type { EncodedRequest } from "./codec.js";
import { model } from "./model.js";

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0);
const WAV = new TextEncoder().encode("RIFF0000WAVEfmt ");
const OGG = new TextEncoder().encode("OggS00000000");

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

/** The messages of a body, as the server reads them. */
function messagesOf(encoded: EncodedRequest): Record<string, unknown>[] {
  expect(encoded.blocks.map((block) => block.text).join("")).toBe(encoded.body);
  expect(brokenRules(encoded.body, { audio: true })).toEqual([]);
  return JSON.parse(encoded.body).messages;
}
const spelled = (messages: LLMMessage[], on = openai): Record<string, unknown>[] =>
  messagesOf(encode(on, { messages }));
/** A conversation in short: `user: hi`, `assistant(a,b): …`, `tool(a): …`. */
function script(messages: LLMMessage[], on = openai): string[] {
  return spelled(messages, on).map((message) => {
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls.map((call) => call.id) : [];
    const ids = [...calls, message.tool_call_id].filter((id) => id !== undefined).join(",");
    return `${String(message.role)}${ids ? `(${ids})` : ""}: ${String(message.content)}`;
  });
}

describe("any history fits", () => {
  test("a tool call without a result is answered with an error that says so", () => {
    expect(script([asks("a"), person("hello?")])).toEqual([
      "assistant(a): null",
      "tool(a): Error: There is no result for this call: it was interrupted, or its result was lost.",
      "user: hello?",
    ]);
  });

  test("results go to their calls, in call order, before what people said meanwhile", () => {
    expect(
      script([
        asks("a", "b"),
        person("meanwhile"),
        results("b"),
        SystemMessage.text("note", stamp()),
        results("a"),
      ]),
    ).toEqual([
      "assistant(a,b): null",
      "tool(a): saw a",
      "tool(b): saw b",
      "user: meanwhile",
      "system: note",
    ]);
  });

  test("orphans, second results and results of a failed answer are left out, and it is recorded", () => {
    const failed = says([TextContent.of("half"), ToolCallContent.of("f", "look")], { stopReason: "error" });
    const [orphan, second, ofFailed] = [results("zzz"), results("a"), results("f")];
    const messages = [orphan, asks("a"), results("a"), second, failed, ofFailed, person("so?")];
    expect(script(messages)).toEqual(["assistant(a): null", "tool(a): saw a", "user: so?"]);
    expect(encode(openai, { messages }).leftOut).toEqual([
      { message_id: orphan.id, reason: "a tool result without its call" },
      { message_id: second.id, reason: "a second result for one tool call" },
      { message_id: ofFailed.id, reason: "a result of an answer that failed" },
      { message_id: failed.id, reason: "the answer failed" },
    ]);
  });

  test("an id used again belongs to the newest call, and every call gets an id of its own", () => {
    const [first, , , second] = spelled([
      asks("a"),
      results("a"),
      person("again"),
      asks("a"),
      results("a"),
    ]).map((message) => message.tool_calls ?? message.tool_call_id);
    expect(first).not.toEqual(second);
    expect(spelled([asks("a", "a"), results("a", "a")]).map((message) => message.content)).toEqual([
      null,
      "saw a",
      "saw a",
    ]);
  });

  test("ids that are too long stay apart, and keep their results", () => {
    const long = ["x".repeat(60), `${"x".repeat(60)}y`, "with space", "ok_1", "functions.look:0"];
    const ids = spelled([asks(...long), results(...long)]).flatMap((message) => message.tool_call_id ?? []);
    expect(new Set(ids).size).toBe(5);
    expect(ids.slice(3)).toEqual(["ok_1", "functions.look:0"]);
  });

  test("an id that happens to look like one we made for another call still stays apart", () => {
    const long = "x".repeat(60);
    const made = String(spelled([asks(long), results(long)])[1]?.tool_call_id);
    const ids = spelled([asks(long, made), results(made, long)]).flatMap(
      (message) => message.tool_call_id ?? [],
    );
    expect(ids[0]).toBe(made);
    expect(new Set(ids).size).toBe(2);
  });

  test("on a Mistral server ids are nine letters or digits, results are named, and an answer stands before the person", () => {
    const mistral = model({ api: "openai-chat", id: "m", baseUrl: "https://api.mistral.ai/v1" });
    const messages = spelled([asks("call_1"), results("call_1"), person("go on")], mistral);
    expect(messages.map((message) => message.role)).toEqual(["assistant", "tool", "assistant", "user"]);
    expect(messages[1]).toMatchObject({
      name: "look",
      tool_call_id: expect.stringMatching(/^[a-zA-Z0-9]{9}$/),
    });
  });

  test("a stopped answer keeps its text and answered calls, not its unfinished thinking", () => {
    const stopped = says(
      [
        ThinkingContent.of("done thinking", "sig"),
        TextContent.of("I will"),
        ToolCallContent.of("a", "look"),
        ToolCallContent.of("b", "look"),
        ThinkingContent.of("half a thou"),
      ],
      { stopReason: "aborted", model: "another" },
    );
    expect(script([stopped, results("a"), person("stop")])).toEqual([
      "assistant(a): done thinking\n\nI will",
      "tool(a): saw a",
      "user: stop",
    ]);
    expect(script([says([ThinkingContent.of("hm")], { stopReason: "aborted" }), person("stop")])).toEqual([
      "user: stop",
    ]);
  });

  test("pieces of one text stay one text, spaces and all", () => {
    const pieces = ["It is ", "noon", "\n", "in Oslo."].map((piece) => TextContent.of(piece));
    expect(script([says(pieces)])).toEqual(["assistant: It is noon\nin Oslo."]);
  });

  test("another model's thinking is text, this model's is left out, blank and redacted thinking is nothing", () => {
    const thoughts: Contents = [
      ThinkingContent.of("I wonder."),
      ThinkingContent.of("  ", "sig"),
      { ...ThinkingContent.of("[redacted]", "blob"), redacted: true },
      TextContent.of("Yes."),
    ];
    expect(script([says(thoughts, { provider: "anthropic" })])).toEqual(["assistant: I wonder.\n\nYes."]);
    expect(script([says([ThinkingContent.of("I wonder."), TextContent.of("Yes.")])])).toEqual([
      "assistant: Yes.",
    ]);
    expect(spelled([says([ThinkingContent.of("I wonder."), TextContent.of("Yes.")])])[0]).not.toHaveProperty(
      "reasoning",
    );
  });

  test("signed reasoning goes back to the model that made it, as it came, and to no other", () => {
    const details = [{ type: "reasoning.text", text: "Hm.", signature: "s1", index: 0 }];
    const thought: ThinkingContent = {
      ...ThinkingContent.of("Hm.", "s1"),
      native: { api: "openai-chat", data: { reasoning_details: details } },
    };
    expect(spelled([says([thought, TextContent.of("Yes.")])])[0]).toMatchObject({
      reasoning_details: details,
    });
    expect(spelled([says([ThinkingContent.of("Hm.", "s1"), TextContent.of("Yes.")])])[0]).toMatchObject({
      reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "s1" }],
    });
    expect(
      JSON.stringify(spelled([says([thought, TextContent.of("Yes.")], { model: "other" })])),
    ).not.toContain("s1");
  });

  test("a server that insists on reasoning_content gets it on answers that call tools", () => {
    const deepseek = model({
      api: "openai-chat",
      id: "d",
      baseUrl: "https://api.deepseek.com/v1",
      provider: "deepseek",
    });
    const own = { provider: "deepseek", model: "d" };
    const messages = [
      says([ThinkingContent.of("Hm."), ToolCallContent.of("a", "look")], own),
      results("a"),
      asks("b"),
      results("b"),
      says([ThinkingContent.of("So."), TextContent.of("Yes.")], own),
    ];
    expect(spelled(messages, deepseek).map((message) => message.reasoning_content)).toEqual([
      "Hm.",
      undefined,
      "",
      undefined,
      undefined,
    ]);
  });

  test("what Google's servers attach to a call goes back with it", () => {
    const extra = { google: { thought_signature: "abc" } };
    const call = {
      ...ToolCallContent.of("a", "look"),
      native: { api: "openai-chat", data: { extra_content: extra } },
    };
    const [own] = spelled([says([call]), results("a")]);
    expect(own).toMatchObject({ tool_calls: [{ extra_content: extra }] });
    expect(JSON.stringify(spelled([says([call], { model: "other" }), results("a")]))).not.toContain("abc");
  });

  test("a system message in the middle stays there: in its role, or marked in the user role", () => {
    const messages = [
      SystemMessage.text("Be kind.", stamp()),
      person("hi"),
      SystemMessage.text("Now be brief.", stamp()),
      person("so?"),
    ];
    expect(script(messages)).toEqual(["system: Be kind.", "user: hi", "system: Now be brief.", "user: so?"]);
    expect(script(messages, local)[2]).toBe("user: [System message]\nNow be brief.\n[End of system message]");
    const refusing = model({ api: "openai-chat", id: "o1-mini" });
    expect(script(messages, refusing)[0]).toBe("user: [System message]\nBe kind.\n[End of system message]");
  });

  test("leading system messages join the system prompt, before its notices", () => {
    const { blocks } = encode(openai, {
      system: [
        { kind: "notice", text: "N", sources: [{ type: "notice", id: "n" }] },
        { kind: "system", text: "P", sources: [{ type: "prompt", id: "p" }] },
      ],
      messages: [SystemMessage.text("R", { id: "row" }), SystemMessage.text(" ", stamp()), person("hi")],
    });
    expect(
      blocks
        .filter(({ kind }) => kind === "system" || kind === "notice")
        .map(({ text, sources }) => [text, sources[0]?.id]),
    ).toEqual([
      ["P", "p"],
      ["\\n\\nR", "row"],
      ["\\n\\nN", "n"],
    ]);
  });

  test("a result inside a user message goes to its call, the rest of the message follows", () => {
    const mixed = UserMessage.of([ToolResultContent.of("a", "saw a"), TextContent.of("and now?")], stamp());
    expect(script([asks("a"), mixed])).toEqual(["assistant(a): null", "tool(a): saw a", "user: and now?"]);
  });

  test("images of a batch's results come in one user message after it", () => {
    const pictures = ToolMessage.fromResults(
      [
        ToolResultContent.of("a", "", { images: [PNG] }),
        ToolResultContent.of("b", "none"),
        ToolResultContent.of("c", "two", { images: ["https://e.org/c.png"] }),
      ],
      { id: "batch" },
    );
    const [, a, b, c, media, last] = spelled([asks("a", "b", "c"), pictures, person("nice")]);
    expect([a, b, c].map((message) => message?.content)).toEqual([
      "(see what is attached below)",
      "none",
      "two",
    ]);
    expect(media).toEqual({
      role: "user",
      content: [
        { type: "text", text: "[Attached to the result of the tool look, call a]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgoA" } },
        { type: "text", text: "[Attached to the result of the tool look, call c]" },
        { type: "image_url", image_url: { url: "https://e.org/c.png" } },
      ],
    });
    expect(last?.content).toBe("nice");
  });

  test("sound goes as wav or mp3 to a model that hears, as a line of text otherwise", () => {
    const hearing = model({ api: "openai-chat", id: "gpt-audio" });
    const [wav, ogg] = spelled(
      [UserMessage.withAudio("listen", [WAV], stamp()), UserMessage.withAudio("and", [OGG], stamp())],
      hearing,
    );
    expect(wav?.content).toEqual([
      { type: "text", text: "listen" },
      { type: "input_audio", input_audio: { data: "UklGRjAwMDBXQVZFZm10IA==", format: "wav" } },
    ]);
    expect(ogg?.content).toBe(
      "and\n\n[A sound clip was here: given as audio/ogg, which this model cannot take.]",
    );
    expect(script([UserMessage.withAudio("listen", [WAV], stamp())])).toEqual([
      "user: listen\n\n[A sound clip was here: given as audio/wav, which this model cannot take.]",
    ]);
  });

  test("an image that is none, or that the model cannot see, becomes a line of text", () => {
    const blind = model({ api: "openai-chat", id: "o3-mini" });
    expect(script([UserMessage.withImages("see", [PNG], stamp())], blind)[0]).toMatch(
      /see\n\n\[An image was here: given as image\/png/,
    );
    expect(script([UserMessage.withImages("", [Uint8Array.of(1, 2, 3)], stamp())])[0]).toMatch(
      /it starts with 01 02 03/,
    );
    expect(script([UserMessage.withImages("", ["file:/nowhere/secret.png"], stamp())])).toEqual([
      "user: [An image was here: it could not be read.]",
    ]);
  });

  test("a failed tool says so in words, metadata never leaves", () => {
    const failed = ToolMessage.fromResults(
      [
        ToolResultContent.error("a", "no such file"),
        ToolResultContent.of("b", " ", { metadata: { canary: "canary-1" } }),
        ToolResultContent.error("c", ""),
      ],
      stamp(),
    );
    const { body } = encode(openai, { messages: [asks("a", "b", "c"), failed] });
    expect(body).toContain('"content":"Error: no such file"');
    expect(body).toContain('"content":"(no output)"');
    expect(body).toContain('"content":"Error: (no output)"');
    expect(body).not.toMatch(/canary|terminate|metadata/);
  });

  test("odd unicode: lone surrogates are replaced, everything else arrives as it was", () => {
    const odd = "a\ud800b \\ud800 \\\\udfff 🎈 \u0000 \u2028 e\u0301";
    const [message] = spelled([person(odd)]);
    expect(message?.content).toBe("a\ufffdb \\ud800 \\\\udfff 🎈 \u0000 \u2028 e\u0301");
    const [asked] = spelled([
      says([ToolCallContent.of("a", "look", { "k\udc00": "\\ud83d\ud83d" })]),
      results("a"),
    ]);
    expect(asked).toMatchObject({
      tool_calls: [{ function: { arguments: '{"k\ufffd":"\\\\ud83d\ufffd"}' } }],
    });
  });

  test("nothing at all is still a request a server takes", () => {
    expect(script([])).toEqual(["user: [Nothing has been said yet.]"]);
    expect(
      script([person("  "), says([TextContent.of("\n")]), ToolMessage.fromResults([], stamp())]),
    ).toHaveLength(1);
  });

  test("tool names an API cannot spell are spelled alike in tools and history, and stay apart", () => {
    const tools = ["files.read", "files/read", "x".repeat(80), "plain"].map((name) => ({
      name,
      description: "",
      parameters: {},
    }));
    const encoded = encode(openai, {
      tools,
      messages: [says([ToolCallContent.of("a", "files.read")]), results("a")],
    });
    messagesOf(encoded);
    const names: string[] = JSON.parse(encoded.body).tools.map(
      (tool: { function: { name: string } }) => tool.function.name,
    );
    expect(new Set(names).size).toBe(4);
    expect(names[3]).toBe("plain");
    expect(encoded.body).toContain(`"function":{"name":"${names[0]}","arguments":"{}"}`);
    expect(encoded.renamedTools[names[0] ?? ""]).toBe("files.read");
  });
});
