import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, UserMessage } from "../message/index.js";
import {
  type BedrockServer,
  begins,
  called,
  converseStream,
  ends,
  redacted,
  refuse,
  startBedrockServer,
  streaming,
  texts,
  thoughts,
} from "../testing/bedrockServer.js";
import { type Heard, hear, wordsOf } from "../testing/heardCall.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call, encode, send } from "./call.js";
import type { Fetch, Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEYS = {
  accessKeyId: "AKIDCANARY",
  secretAccessKey: "canary/secret+key",
  sessionToken: "canary/session==",
};
const SIGNING = { ...KEYS, region: "us-west-2" };
const ID = "us.anthropic.claude-opus-5-v1:0";
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files.read", description: "", parameters: { type: "object" } }],
};
const ANSWER = [begins, ...texts(0, "Grü", "ße 🎈"), ...ends("end_turn")];

let server: BedrockServer;
let on: Model;
beforeAll(async () => {
  server = await startBedrockServer({ keys: SIGNING });
  on = model({ api: "bedrock", id: ID, baseUrl: server.baseUrl, signing: SIGNING });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

/** No secret is in anything that is kept. */
async function listen(stream: AsyncIterable<ModelEvent>): Promise<Heard> {
  const heard = await hear(stream);
  expect(JSON.stringify(heard.events)).not.toMatch(/canary/i);
  return heard;
}
function ask(script: ServerScript, options: CallOptions = {}): Promise<Heard> {
  server.script = script;
  return listen(call(on, request, options));
}
describe("a call", () => {
  test("sends exactly the bytes that were encoded, signed, with no secret anywhere", async () => {
    const encoded = encode(on, request);
    server.script = streaming(ANSWER);
    const now = Date.UTC(2026, 3, 5, 6, 7, 8);
    const { events, message } = await listen(send(on, encoded, { now: () => now, newId: () => "id-1" }));
    const [received] = server.requests;
    expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
    expect(received?.headers["x-amz-date"]).toBe("20260405T060708Z");
    expect(JSON.stringify([encoded, received?.headers])).not.toContain(KEYS.secretAccessKey);
    expect(JSON.stringify(encoded)).not.toMatch(/canary/i);
    expect(wordsOf(events)).toBe("Grüße 🎈");
    expect(message).toEqual({
      role: "assistant",
      id: "id-1",
      timestamp: now,
      contents: [{ type: "text", content: "Grüße 🎈" }],
      usage: { inputTokens: 9, outputTokens: 4, cacheReadTokens: 0, cacheWriteTokens: 0, cost: null },
      stopReason: "stop",
      provider: "bedrock",
      api: "bedrock",
      model: ID,
    });
  });

  test("is signed also when someone else brings it to the network", async () => {
    const urls: string[] = [];
    const fetch: Fetch = (url, init) => {
      urls.push(url);
      return globalThis.fetch(url, init);
    };
    const { message } = await ask(streaming(ANSWER), { fetch });
    expect(message.stopReason).toBe("stop");
    expect(urls).toEqual([`${server.baseUrl}/model/${encodeURIComponent(ID)}/converse-stream`]);
  });

  test("to an ARN, whose slashes are part of its name, is signed as the server computes it", async () => {
    const id = "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-opus-5-v1:0";
    server.script = streaming(ANSWER);
    const { message } = await listen(call({ ...on, id }, request));
    expect(message).toMatchObject({ stopReason: "stop", model: id });
  });

  test("with a key of Bedrock's own is not signed", async () => {
    const keyed = await startBedrockServer({ apiKey: "canary-key" });
    const { signing: _, ...rest } = on;
    const { message } = await listen(
      call({ ...rest, baseUrl: keyed.baseUrl, apiKey: "canary-key" }, request),
    );
    await keyed.close();
    expect(message.stopReason).toBe("stop");
    expect(keyed.requests[0]?.headers["x-amz-date"]).toBeUndefined();
  });

  test("hears a model that does not stream when it has tools", async () => {
    const body = JSON.stringify({
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "Hm.", signature: "s" } } },
            { reasoningContent: { redactedContent: "YmxvYg==" } },
            { text: "Hi" },
            { toolUse: { toolUseId: "t1", name: "look", input: { a: 1 } } },
          ],
        },
      },
      stopReason: "tool_use",
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
    server.script = { body, headers: { "content-type": "application/json" } };
    const llama = { ...on, id: "us.meta.llama3-3-70b-instruct-v1:0" };
    const { events, message } = await listen(call(llama, request));
    expect(server.requests[0]?.url).toMatch(/\/converse$/);
    expect(wordsOf(events)).toBe("Hi");
    expect(message).toMatchObject({ stopReason: "tool_use", usage: { inputTokens: 3, outputTokens: 2 } });
    expect(message.contents).toEqual([
      { type: "thinking", content: "Hm.", signature: "s" },
      { type: "thinking", content: "", signature: "YmxvYg==", redacted: true },
      { type: "text", content: "Hi" },
      { type: "tool_call", id: "t1", name: "look", args: { a: 1 } },
    ]);
  });
});

test("a wrong key is told by the server, which computes the signature itself; what servers echo of keys is not kept", async () => {
  const wrong = { ...SIGNING, secretAccessKey: "another-secret" };
  expect((await listen(call({ ...on, signing: wrong }, request))).message).toMatchObject({
    errorKind: "auth",
    error: expect.stringContaining("HTTP 403: InvalidSignatureException"),
  });
  const echo = `User ${KEYS.accessKeyId} with ${KEYS.sessionToken} and ${KEYS.secretAccessKey}`;
  expect((await ask(refuse(403, "AccessDeniedException", echo))).message.error).toBe(
    "HTTP 403: AccessDeniedException: User [key] with [key] and [key]",
  );
});

describe("why an answer stopped", () => {
  test.each([
    ["end_turn", "stop", undefined],
    ["stop_sequence", "stop", undefined],
    ["max_tokens", "length", undefined],
    ["guardrail_intervened", "refusal", "refusal"],
    ["content_filtered", "refusal", "refusal"],
    ["malformed_model_output", "error", "unknown"],
    ["malformed_tool_use", "error", "unknown"],
    ["model_context_window_exceeded", "error", "overflow"],
    ["bored", "error", "unknown"],
  ])("%s is %s", async (reason, stopReason, kind) => {
    const { message } = await ask(streaming([begins, ...texts(0, "Hi"), ...ends(reason)]));
    expect(message).toMatchObject({ stopReason, contents: [{ content: "Hi" }] });
    expect(message.errorKind).toBe(kind);
    if (stopReason === "error") expect(message.error).toContain(reason);
  });
});

describe("a stream that is damaged", () => {
  test("by one wrong byte anywhere ends before it, and shows no wrong word", async () => {
    const bytes = converseStream([
      begins,
      ...thoughts(0, "Hmm ☃"),
      ...redacted(1, "blob"),
      ...texts(2, "I look"),
      ...called(3, "tooluse_a", "look", '{"at":', '"☃"}'),
      ...ends("tool_use"),
    ]);
    const encoded = encode(on, request);
    const read = async (answer: Uint8Array): Promise<AssistantMessage> => {
      const fetch = async (): Promise<Response> => new Response(Buffer.from(answer));
      return (await listen(send(on, encoded, { fetch }))).message;
    };
    const whole = await read(bytes);
    let cuts = 0;
    for (let at = 0; at < bytes.length; at += 5) {
      const wrong = Uint8Array.from(bytes);
      wrong[at] = (wrong[at] ?? 0) ^ (1 << (at % 8));
      const message = await read(wrong);
      const words = whole.contents.filter(({ type }) => type !== "tool_call");
      if (message.stopReason === "tool_use") {
        expect(message.contents).toEqual(whole.contents);
        continue;
      }
      cuts++;
      expect(message.errorKind).toBe("cut");
      message.contents.forEach((content, index) => {
        const full = words[index];
        expect(full?.type).toBe(content.type);
        expect(
          full && "content" in full && "content" in content && full.content.startsWith(content.content),
        ).toBe(true);
      });
    }
    expect(cuts).toBeGreaterThan(bytes.length / 10);
  });

  test("by events nobody knows, blocks that reuse a number, and words after the end, is still read", async () => {
    const { message } = await ask(
      streaming([
        { event: "news", says: {} },
        begins,
        {
          event: "contentBlockDelta",
          says: { contentBlockIndex: 0, delta: { reasoningContent: { text: "Hm." } } },
        },
        ...texts(0, "Yes", "."),
        { event: "contentBlockDelta", says: { contentBlockIndex: 1, delta: { toolUse: { input: "{}" } } } },
        { event: "contentBlockDelta", says: { contentBlockIndex: 2, delta: { citation: {} } } },
        ...ends("end_turn"),
        ...texts(3, "Late."),
      ]),
    );
    expect(message.contents).toEqual([
      { type: "thinking", content: "Hm.", signature: "" },
      { type: "text", content: "Yes." },
    ]);
  });
});
