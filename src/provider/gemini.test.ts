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
import { brokenRules } from "../testing/geminiRules.js";
import { encode } from "./call.js";
import type { ModelRequest } from "./codec.js";
import { model } from "./model.js";

const google = (id: string, baseUrl?: string) =>
  model({ api: "gemini", id, apiKey: "key-1", ...(baseUrl ? { baseUrl } : {}) });
const third = google("gemini-3-flash");

let serial = 0;
const stamp = (): { id: string; timestamp: number } => ({ id: `m${++serial}`, timestamp: serial });
const envelope = {
  usage: Usage.none(),
  stopReason: "stop",
  provider: "google",
  api: "gemini",
  model: "gemini-3-flash",
} as const;
const says = (
  contents: AssistantMessage["contents"],
  more: Partial<AssistantMessage> = {},
): AssistantMessage => AssistantMessage.of(contents, { ...envelope, ...more, ...stamp() });
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

type Sent = { contents: { role: string; parts: Record<string, unknown>[] }[]; generationConfig: unknown };
const sent = (messages: ModelRequest["messages"], on = third): Sent =>
  JSON.parse(encode(on, { messages }).body);

describe("the body of a request", () => {
  const request: ModelRequest = {
    system: [
      { kind: "system", text: 'You are "Robin".', sources: [{ type: "prompt", id: "kitchen" }] },
      { kind: "notice", text: "Deploy\nsoon.", sources: [{ type: "notice", id: "n1" }] },
    ],
    messages: [
      UserMessage.text("[Ann]: hi ☃", { id: "r1" }),
      AssistantMessage.of(
        [
          TextContent.of("I look."),
          {
            ...ToolCallContent.of("call_1", "clock", { zone: "UTC" }),
            native: { api: "gemini", data: { thoughtSignature: "c2ln" } },
          },
        ],
        { ...envelope, stopReason: "tool_use", id: "r2" },
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
    const { body, url, headers } = encode(third, request);
    expect(url).toBe(
      "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
    );
    expect(headers["x-goog-api-key"]).toBe("key-1");
    expect(body).toBe(
      '{"generationConfig":{"temperature":0.5,"maxOutputTokens":200,' +
        '"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}},' +
        '"tools":[{"functionDeclarations":[{"name":"clock","description":"Tells the time.",' +
        '"parametersJsonSchema":{"type":"object","properties":{}}}]}],' +
        '"systemInstruction":{"parts":[{"text":"You are \\"Robin\\"."},{"text":"Deploy\\nsoon."}]},' +
        '"contents":[{"role":"user","parts":[{"text":"[Ann]: hi ☃"}]},' +
        '{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"call_1","name":"clock",' +
        '"args":{"zone":"UTC"}},"thoughtSignature":"c2ln"}]},' +
        '{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"clock",' +
        '"response":{"output":"12:00"}}}]}]}',
    );
  });

  test("is made of blocks that say what they came from, one source per result of a batch", () => {
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
    const asking = asks("a", "b");
    const { blocks } = encode(third, { ...request, messages: [person("hi"), asking, batch, said], origins });
    const listed = blocks.filter((block) => block.kind !== "frame");
    expect(listed.map(({ kind, sources }) => [kind, ...sources.map((source) => source.id)])).toEqual([
      ["params"],
      ["tools", "clock"],
      ["system", "kitchen"],
      ["notice", "n1"],
      ["message", expect.any(String)],
      ["message", asking.id],
      ["message", "row7"],
      ["message", "row8"],
      ["thread_context", "row9"],
    ]);
    for (const block of listed.slice(1)) JSON.parse(block.text);
  });

  test("begins with the body before it, as long as the chat only grows", () => {
    const history = [
      person("one"),
      says([TextContent.of("1")]),
      person("two"),
      asks("a", "b"),
      results("a", "b"),
      person("three"),
      says([TextContent.of("3")]),
      says([TextContent.of("4")]),
    ];
    const blocks = (count: number) => encode(third, { ...request, messages: history.slice(0, count) }).blocks;
    // Nobody sends calls without their results.
    for (const [shorter, longer] of [
      [1, 2],
      [2, 3],
      [3, 5],
      [5, 6],
      [6, 7],
      [7, 8],
    ] as const) {
      const before = blocks(shorter).slice(0, -1);
      expect(blocks(longer).slice(0, before.length)).toEqual(before);
    }
  });

  test.each([
    [undefined, "https://generativelanguage.googleapis.com/v1beta/models/m"],
    ["http://127.0.0.1:9", "http://127.0.0.1:9/v1beta/models/m"],
    ["http://127.0.0.1:9/v1/", "http://127.0.0.1:9/v1/models/m"],
    [
      "https://gate.org/v1/acct/google-ai-studio",
      "https://gate.org/v1/acct/google-ai-studio/v1beta/models/m",
    ],
    [
      "https://aiplatform.googleapis.com/v1/publishers/google",
      "https://aiplatform.googleapis.com/v1/publishers/google/models/m",
    ],
  ])("goes from %s to %s", (baseUrl, url) => {
    expect(encode(google("m", baseUrl), request).url).toBe(`${url}:streamGenerateContent?alt=sse`);
  });

  test("names a model that has a path of its own as it is, and nothing outside it", () => {
    expect(encode(google("tunedModels/x y"), request).url).toContain("/v1beta/tunedModels/x%20y:stream");
    expect(encode(google("../../secret?x#y"), request).url).toContain(
      "/v1beta/models/..%2F..%2Fsecret%3Fx%23y:stream",
    );
  });
});

describe("how much it thinks", () => {
  test.each([
    ["gemini-3-flash", "off", { includeThoughts: false, thinkingLevel: "LOW" }],
    ["gemini-3-flash", "medium", { includeThoughts: true, thinkingLevel: "MEDIUM" }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "HIGH" }],
    ["gemini-flash-latest", "high", { includeThoughts: true, thinkingLevel: "HIGH" }],
    ["gemini-2.5-flash", "off", { includeThoughts: false, thinkingBudget: 0 }],
    ["gemini-2.5-pro", "off", { includeThoughts: false, thinkingBudget: 128 }],
    ["gemini-2.5-pro", "high", { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-2.0-flash", "high", undefined],
    ["gemma-3-27b", "high", undefined],
  ] as const)("%s at %s", (id, thinking, thinkingConfig) => {
    const { body } = encode(google(id), { messages: [person("hi")], thinking });
    expect(JSON.parse(body).generationConfig).toEqual(thinkingConfig ? { thinkingConfig } : {});
  });

  test("is the model's own affair when nobody says", () => {
    expect(sent([person("hi")]).generationConfig).toEqual({});
  });
});

describe("a history", () => {
  test("in which the model speaks first, twice, or last, says that nobody else did", () => {
    const twice = [says([TextContent.of("1")]), says([TextContent.of("2")])];
    expect(sent(twice).contents.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
      ["user", "[Nobody said anything before that.]"],
      ["model", "1"],
      ["user", "[Nobody said anything after that.]"],
      ["model", "2"],
      ["user", "[Nobody said anything after that.]"],
    ]);
    expect(sent([]).contents).toEqual([{ role: "user", parts: [{ text: "[Nothing has been said yet.]" }] }]);
  });

  test("of another model's calls says so on the first of each step, and only to those who ask", () => {
    const foreign = { ...asks("a", "b"), provider: "openai", api: "openai-chat", model: "gpt" };
    const signatures = (id: string) =>
      sent([person("hi"), foreign, results("a", "b")], google(id)).contents[1]?.parts.map(
        (part) => part.thoughtSignature,
      );
    expect(signatures("gemini-3-flash")).toEqual(["skip_thought_signature_validator", undefined]);
    expect(signatures("gemini-2.5-flash")).toEqual([undefined, undefined]);
  });

  test("gives back nothing that another API left on this model's own thoughts", () => {
    const native = {
      api: "elsewhere",
      data: { after: ["c2ln"], pieces: [{ length: 2, signature: "c2ln" }] },
    };
    const thought = { type: "thinking" as const, content: "Hm", signature: "", native };
    expect(sent([says([thought, TextContent.of("Yes.")])]).contents[1]?.parts).toEqual([
      { text: "Hm", thought: true },
      { text: "Yes." },
    ]);
  });

  test("of a text that was changed since sends all of it, and no signature that stood on other words", () => {
    const native = { api: "gemini", data: { pieces: [{ length: 2, signature: "c2ln" }] } };
    expect(sent([says([{ type: "text", content: "changed", native }])]).contents[1]?.parts).toEqual([
      { text: "changed" },
    ]);
  });

  test("names a tool in calls and results as it is declared", () => {
    const tool = { name: "9lives", description: "", parameters: { type: "object" } };
    const called = says([ToolCallContent.of("a", "9lives")], { stopReason: "tool_use" });
    const { body, renamedTools } = encode(third, { messages: [called, results("a")], tools: [tool] });
    const [wireName = ""] = Object.keys(renamedTools);
    expect(body.split(`"name":"${wireName}"`)).toHaveLength(4);
    expect(body).not.toContain('"9lives"');
  });

  test("keeps images in the result where the model takes them, else right after it, and drops none", () => {
    const shown = ToolMessage.fromResult(
      ToolResultContent.of("a", "", {
        images: ["iVBORw0KGgoA", "https://e.org/p.png", "R0lGODlhAAAA"],
        audio: ["UklGRjAwMDBXQVZF"],
      }),
      stamp(),
    );
    const history = [person("hi"), asks("a"), shown];
    const newer = JSON.stringify(sent(history).contents.slice(2));
    expect(newer).toContain('"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoA"}}]}}]');
    expect(newer).toContain('"fileUri":"https://e.org/p.png"');
    expect(newer).toContain('"mimeType":"audio/wav"');
    expect(newer).toContain("image/gif, which this model cannot take");
    const older = JSON.stringify(sent(history, google("gemini-2.0-flash")).contents.slice(2));
    expect(older).toMatch(
      /functionResponse.*\{"text":"\[Attached to the result of the tool look, call a\]"\}.*iVBOR/,
    );
    expect(older).toContain("an address, which this model cannot take");
  });

  test.each([
    ["https://e.org/a.PNG?size=2", "image/png"],
    ["https://e.org/a.webp", "image/webp"],
    ["https://e.org/photo", "image/jpeg"],
  ])("tells what is at %s", (url, mimeType) => {
    const picture = UserMessage.of([{ type: "image", images: [url] }], stamp());
    expect(sent([picture]).contents[0]?.parts).toEqual([{ fileData: { mimeType, fileUri: url } }]);
  });

  test("says where an address holds what no model takes", () => {
    const picture = UserMessage.of([{ type: "image", images: ["https://e.org/a.gif"] }], stamp());
    expect(sent([picture]).contents[0]?.parts[0]?.text).toContain("[An image was here");
  });
});

describe("the strict server's rules", () => {
  const good = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
  const call = { functionCall: { id: "a", name: "look", args: {} }, thoughtSignature: "c2ln" };
  const response = { functionResponse: { id: "a", name: "look", response: { output: "x" } } };
  const turn = (role: string, ...parts: unknown[]) => ({ role, parts });
  const hi = turn("user", { text: "hi" });

  test("let a sound request pass", () => {
    expect(brokenRules(JSON.stringify(good), { third: true })).toEqual([]);
    const worked = [hi, turn("model", call), turn("user", response)];
    expect(brokenRules(JSON.stringify({ contents: worked }), { third: true })).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["contents is not specified", { contents: [] }],
    ["Unknown name", { ...good, messages: [] }],
    ["a lone surrogate", { contents: [turn("user", { text: "\ud800" })] }],
    ["valid role", { contents: [turn("assistant", { text: "hi" })] }],
    ["first content", { contents: [turn("model", { text: "hi" }), hi] }],
    ["end with a user role", { contents: [hi, turn("model", { text: "hi" })] }],
    ["empty text", { contents: [turn("user", { text: "" })] }],
    ["no parts", { contents: [turn("user")] }],
    ["only one", { contents: [turn("user", { text: "a", inlineData: {} })] }],
    [
      "Unsupported MIME type",
      { contents: [turn("user", { inlineData: { mimeType: "image/gif", data: "AAAA" } })] },
    ],
    [
      "Unsupported file uri",
      { contents: [turn("user", { fileData: { fileUri: "https://e.org", mimeType: "image/png" } })] },
    ],
    ["Base64", { contents: [hi, turn("model", { text: "a", thoughtSignature: "?" }), hi] }],
    [
      "missing a thought_signature",
      { contents: [hi, turn("model", { functionCall: call.functionCall }), turn("user", response)] },
    ],
    ["number of function response parts", { contents: [hi, turn("model", call), hi] }],
    [
      "number of function response parts",
      {
        contents: [
          hi,
          turn("model", call),
          turn("user", { functionResponse: { ...response.functionResponse, name: "x" } }),
        ],
      },
    ],
    ["immediately after a function call turn", { contents: [hi, turn("user", response)] }],
    [
      "immediately after a user turn",
      { contents: [hi, turn("model", { text: "a" }), turn("model", call), turn("user", response)] },
    ],
    [
      "used twice",
      {
        contents: [
          hi,
          turn("model", call),
          turn("user", response),
          turn("model", call),
          turn("user", response),
        ],
      },
    ],
    [
      "Invalid function name",
      { ...good, tools: [{ functionDeclarations: [{ name: "9x", parametersJsonSchema: {} }] }] },
    ],
    ["tools is empty", { ...good, tools: [] }],
    ["blank system", { ...good, systemInstruction: { parts: [{ text: " " }] } }],
    [
      "no object",
      {
        contents: [
          hi,
          turn("model", { ...call, functionCall: { ...call.functionCall, args: "{}" } }),
          turn("user", response),
        ],
      },
    ],
    [
      "only set one of",
      { ...good, generationConfig: { thinkingConfig: { thinkingLevel: "LOW", thinkingBudget: 1 } } },
    ],
  ])("refuse: %s", (words, body) => {
    expect(brokenRules(JSON.stringify(body), { third: true }).join("; ")).toContain(words);
  });
});
