import {
  type FunctionCall,
  type GenerateContentParameters,
  type GenerateContentResponse,
  type GenerateContentResponseUsageMetadata,
  GoogleGenAI,
  ThinkingLevel,
} from "@google/genai";
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
import { geminiChunk as chunk, geminiStream, startGeminiServer } from "../testing/geminiServer.js";
import type { ScriptedServer } from "../testing/scriptedServer.js";
import { call, encode } from "./call.js";
import { model } from "./model.js";

/** The vendor's own client is the judge: it reads the same streams from the same server, and its types read our bodies. */
let server: ScriptedServer;
beforeAll(async () => {
  server = await startGeminiServer({ third: true, imageUrls: true });
});
afterAll(() => server.close());

const started = { promptTokenCount: 90, totalTokenCount: 90, cachedContentTokenCount: 50 };
const counted = {
  promptTokenCount: 90,
  cachedContentTokenCount: 50,
  candidatesTokenCount: 30,
  thoughtsTokenCount: 10,
  totalTokenCount: 130,
};
const thought = (text: string, more: Record<string, unknown> = {}) => ({ text, thought: true, ...more });
const looks = (args: Record<string, unknown>, more: Record<string, unknown> = {}, id = "f1") => ({
  functionCall: { id, name: "look", args },
  ...more,
});

const STREAMS: Record<string, unknown[]> = {
  text: [
    chunk([{ text: "Grü" }], undefined, started),
    chunk([{ text: "ße 🎈\n" }]),
    chunk([{ text: "", thoughtSignature: "c2lnMQ==" }], "STOP", counted),
  ],
  "thinking, then text": [
    chunk([thought("Hm")], undefined, started),
    chunk([thought("m ☃.")]),
    chunk([{ text: "Yes" }]),
    chunk([{ text: ".", thoughtSignature: "c2lnMQ==" }], "STOP", counted),
  ],
  "cut by length": [chunk([{ text: "Once upon" }], "MAX_TOKENS", counted)],
  filtered: [chunk([{ text: "I" }]), chunk([], "SAFETY", counted)],
  "a malformed call": [chunk([], "MALFORMED_FUNCTION_CALL", counted)],
  "the prompt blocked": [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: counted }],
  "parallel tools": [
    chunk([thought("I look twice.")]),
    chunk([looks({ at: "☃" }, { thoughtSignature: "c2lnMQ==" }), looks({}, {}, "f2")], undefined, started),
    chunk([looks({ deep: { list: [1, null] } }, {}, "f3")]),
    chunk([{ text: "" }], "STOP", counted),
  ],
  "text and a long argument": [
    chunk([{ text: "I look." }]),
    chunk([looks({ text: "ü🎈".repeat(2000) }, { thoughtSignature: "c2lnMQ==" })], "STOP", counted),
  ],
};

const STOP: Readonly<Record<string, string>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "refusal",
  MALFORMED_FUNCTION_CALL: "error",
};

type Theirs = {
  text: string;
  thinking: string;
  calls: FunctionCall[];
  finish: string | undefined;
  blocked: string | undefined;
  usage: GenerateContentResponseUsageMetadata | undefined;
  signatures: string[];
};

describe("our reading of a stream is the vendor's", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, chunks) => {
    server.script = { body: geminiStream(chunks), writeSize: 301 };
    const [theirs, ours] = [await readTheirs(), await readOurs()];
    expect(AssistantMessage.textContent(ours)).toBe(theirs.text);
    expect(
      AssistantMessage.thinking(ours)
        .map((one) => one.content)
        .join(""),
    ).toBe(theirs.thinking);
    expect(AssistantMessage.toolCalls(ours).map(({ id, name, args }) => ({ id, name, args }))).toEqual(
      theirs.calls,
    );
    const stop = theirs.blocked ? "refusal" : STOP[theirs.finish ?? ""];
    expect(ours.stopReason).toBe(stop === "stop" && theirs.calls.length > 0 ? "tool_use" : stop);
    expect(Usage.contextSize(ours.usage)).toBe(theirs.usage?.totalTokenCount);
    expect(ours.usage).toMatchObject({
      inputTokens: (theirs.usage?.promptTokenCount ?? 0) - (theirs.usage?.cachedContentTokenCount ?? 0),
      cacheReadTokens: theirs.usage?.cachedContentTokenCount,
      outputTokens: (theirs.usage?.candidatesTokenCount ?? 0) + (theirs.usage?.thoughtsTokenCount ?? 0),
      reasoningTokens: theirs.usage?.thoughtsTokenCount,
    });
    // What the vendor's client holds of signatures, the next request gives back.
    const { body } = encode(on(), { messages: [UserMessage.text("hi"), ours] });
    if (ours.stopReason !== "error") for (const one of theirs.signatures) expect(body).toContain(one);
  });

  const on = () => model({ api: "gemini", id: "gemini-3-flash", baseUrl: server.origin });

  async function readTheirs(): Promise<Theirs> {
    const client = new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: server.origin } });
    const stream = await client.models.generateContentStream({ model: "gemini-3-flash", contents: "hi" });
    const all: GenerateContentResponse[] = [];
    for await (const one of stream) all.push(one);
    const parts = all.flatMap((one) => one.candidates?.[0]?.content?.parts ?? []);
    return {
      // Beside calls its own reading of the text warns on the console.
      text: all.map((one) => (one.functionCalls ? "" : (one.text ?? ""))).join(""),
      thinking: parts.map((part) => (part.thought ? (part.text ?? "") : "")).join(""),
      calls: all.flatMap((one) => one.functionCalls ?? []),
      finish: all.findLast((one) => one.candidates?.[0]?.finishReason)?.candidates?.[0]?.finishReason,
      blocked: all.find((one) => one.promptFeedback)?.promptFeedback?.blockReason,
      usage: all.findLast((one) => one.usageMetadata)?.usageMetadata,
      signatures: parts.flatMap((part) => part.thoughtSignature ?? []),
    };
  }

  async function readOurs(): Promise<AssistantMessage> {
    for await (const event of call(on(), { messages: [UserMessage.text("hi")] })) {
      if (event.type === "done") return event.message;
    }
    throw new Error("no answer");
  }
});

const envelope = {
  usage: Usage.none(),
  stopReason: "tool_use",
  provider: "google",
  api: "gemini",
  model: "gemini-3-flash",
} as const;

test("our bodies are what the vendor's types say a request is, and what its client sends for the same", async () => {
  const asked = {
    model: "gemini-3-flash",
    contents: [
      {
        role: "user",
        parts: [
          { text: "see and hear" },
          { fileData: { mimeType: "image/png", fileUri: "https://e.org/a.png" } },
          { inlineData: { mimeType: "audio/wav", data: "UklGRjAwMDBXQVZF" } },
        ],
      },
      {
        role: "model",
        parts: [
          { text: "Let me see.", thought: true, thoughtSignature: "dGhvdWdodA==" },
          { functionCall: { id: "call_1", name: "look", args: { at: 1 } }, thoughtSignature: "c2lnMQ==" },
          { functionCall: { id: "call_2", name: "look", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "call_1", name: "look", response: { error: "nothing there" } } },
          {
            functionResponse: {
              id: "call_2",
              name: "look",
              response: { output: "a picture" },
              parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgoA" } }],
            },
          },
        ],
      },
      { role: "user", parts: [{ text: "[System message]\nNow be brief.\n[End of system message]" }] },
      { role: "model", parts: [{ text: "Nothing." }, { text: "", thoughtSignature: "ZW5k" }] },
      { role: "user", parts: [{ text: "And now?" }] },
    ],
    config: {
      systemInstruction: { parts: [{ text: "Be kind." }] },
      temperature: 1,
      maxOutputTokens: 50,
      thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.HIGH },
      tools: [
        {
          functionDeclarations: [
            { name: "look", description: "Looks.", parametersJsonSchema: { type: "object" } },
          ],
        },
      ],
    },
  } satisfies GenerateContentParameters;
  const { body } = encode(model({ api: "gemini", id: "gemini-3-flash" }), {
    system: "Be kind.",
    messages: [
      UserMessage.of([
        TextContent.of("see and hear"),
        { type: "image", images: ["https://e.org/a.png"] },
        { type: "audio", audio: ["UklGRjAwMDBXQVZF"] },
      ]),
      AssistantMessage.of(
        [
          ThinkingContent.of("Let me see.", "dGhvdWdodA=="),
          {
            ...ToolCallContent.of("call_1", "look", { at: 1 }),
            native: { api: "gemini", data: { thoughtSignature: "c2lnMQ==" } },
          },
          ToolCallContent.of("call_2", "look"),
        ],
        envelope,
      ),
      ToolMessage.fromResults([
        ToolResultContent.error("call_1", "nothing there"),
        ToolResultContent.of("call_2", "a picture", { images: ["iVBORw0KGgoA"], metadata: { x: 1 } }),
      ]),
      SystemMessage.text("Now be brief."),
      AssistantMessage.of(
        [
          {
            ...TextContent.of("Nothing."),
            native: { api: "gemini", data: { pieces: [{ length: 8 }, { length: 0, signature: "ZW5k" }] } },
          },
        ],
        { ...envelope, stopReason: "stop" },
      ),
      UserMessage.text("And now?"),
    ],
    tools: [{ name: "look", description: "Looks.", parameters: { type: "object" } }],
    temperature: 1,
    maxTokens: 50,
    thinking: "high",
  });
  const client = new GoogleGenAI({ apiKey: "unused", httpOptions: { baseUrl: server.origin } });
  server.script = { body: geminiStream([chunk([{ text: "x" }], "STOP")]) };
  const answered = await client.models.generateContentStream(asked);
  expect((await answered.next()).value?.text).toBe("x");
  const theirs: unknown = JSON.parse(server.requests.at(-1)?.body.toString("utf8") ?? "");
  expect(theirs).toEqual(JSON.parse(body));
});
