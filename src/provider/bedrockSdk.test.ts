import { Readable } from "node:stream";
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseStreamCommand,
  type ConverseStreamCommandInput,
  type ConverseStreamOutput,
  type TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
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
  type BedrockServer,
  begins,
  type ConverseEvent,
  called,
  ends,
  redacted,
  startBedrockServer,
  streaming,
  texts,
  thoughts,
} from "../testing/bedrockServer.js";
import { call, encode } from "./call.js";
import { model } from "./model.js";

/** The vendor's own client is the judge: it signs for the same server, reads the same streams, and its types read our bodies. */
const KEYS = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG",
  sessionToken: "session==",
};
const REGION = "eu-central-1";
const ID = "eu.anthropic.claude-opus-5-20260401-v1:0";
let server: BedrockServer;
beforeAll(async () => {
  server = await startBedrockServer({ keys: { ...KEYS, region: REGION } });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const used = {
  inputTokens: 40,
  outputTokens: 30,
  totalTokens: 127,
  cacheReadInputTokens: 50,
  cacheWriteInputTokens: 7,
};
const long = JSON.stringify({ text: "ü🎈".repeat(500) });

const STREAMS: Record<string, ConverseEvent[]> = {
  text: [begins, ...texts(0, "Grü", "ße 🎈\n"), ...ends("end_turn", used)],
  "nothing at all": [begins, ...ends("end_turn", used)],
  "cut by length": [begins, ...texts(0, "Once upon"), ...ends("max_tokens", used)],
  "a stop sequence": [begins, ...texts(0, "One"), ...ends("stop_sequence", used)],
  "a guardrail": [begins, ...texts(0, "I"), ...ends("guardrail_intervened", used)],
  "a content filter": [begins, ...texts(0, "I"), ...ends("content_filtered", used)],
  "thinking, text": [begins, ...thoughts(0, "Hmm ", "☃."), ...texts(1, "Yes."), ...ends("end_turn", used)],
  "thinking left out, redacted thinking, tools": [
    begins,
    ...thoughts(0),
    ...redacted(1, "blo", "b!"),
    ...texts(2, "I look."),
    ...called(3, "tooluse_a", "look", "", '{"at":', '"☃"}'),
    ...called(4, "tooluse_b", "clock"),
    ...called(5, "tooluse_c", "clock", ""),
    ...ends("tool_use", used),
  ],
  "thinking between tools": [
    begins,
    ...thoughts(0, "First."),
    ...called(1, "tooluse_a", "look", "{}"),
    ...thoughts(2, "Then."),
    ...called(3, "tooluse_b", "look", '{"n":1}'),
    ...ends("tool_use", used),
  ],
  "a long argument": [
    begins,
    ...called(0, "tooluse_a", "look", ...(long.match(/.{1,7}/gsu) ?? [])),
    ...ends("tool_use", used),
  ],
};

const STOP: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_use: "tool_use",
  guardrail_intervened: "refusal",
  content_filtered: "refusal",
};

type Theirs = { contents: AssistantMessage["contents"]; stopReason: string; usage: TokenUsage | undefined };

type Sent = { hostname: string; port: number; path: string; headers: Record<string, string>; body: string };

/** Their client speaks HTTP/2 by itself, which the server does not; what it signs is sent as it is. */
const overHttp1 = {
  async handle({ hostname, port, path, headers: { host: _, ...headers }, body }: Sent) {
    const answer = await fetch(`http://${hostname}:${port}${path}`, { method: "POST", headers, body });
    const reply = {
      statusCode: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: Readable.from(answer.body ?? []),
    };
    return { response: reply };
  },
};

function client(): BedrockRuntimeClient {
  return new BedrockRuntimeClient({
    region: REGION,
    endpoint: server.baseUrl,
    credentials: KEYS,
    maxAttempts: 1,
    requestHandler: overHttp1,
  });
}

/** What their events amount to, gathered here by their types alone. */
async function gather(stream: AsyncIterable<ConverseStreamOutput>): Promise<Theirs> {
  const blocks: {
    text: string;
    thought: string;
    signature: string;
    bytes: number[];
    call?: [string, string];
  }[] = [];
  const read: Theirs = { contents: [], stopReason: "", usage: undefined };
  const blockAt = (index = 0) => (blocks[index] ??= { text: "", thought: "", signature: "", bytes: [] });
  for await (const event of stream) {
    const started = event.contentBlockStart;
    if (started?.start?.toolUse)
      blockAt(started.contentBlockIndex).call = [
        started.start.toolUse.toolUseId ?? "",
        started.start.toolUse.name ?? "",
      ];
    const { delta, contentBlockIndex } = event.contentBlockDelta ?? {};
    if (delta) {
      const block = blockAt(contentBlockIndex);
      block.text += delta.text ?? delta.toolUse?.input ?? "";
      block.thought += delta.reasoningContent?.text ?? "";
      block.signature += delta.reasoningContent?.signature ?? "";
      block.bytes.push(...(delta.reasoningContent?.redactedContent ?? []));
    }
    if (event.messageStop) read.stopReason = event.messageStop.stopReason ?? "";
    if (event.metadata) read.usage = event.metadata.usage;
  }
  read.contents = blocks.map(({ text, thought, signature, bytes, call }) => {
    if (call) return ToolCallContent.of(call[0], call[1], JSON.parse(text || "{}"));
    if (bytes.length > 0)
      return { ...ThinkingContent.of("", Buffer.from(bytes).toString("base64")), redacted: true };
    return signature ? ThinkingContent.of(thought, signature) : TextContent.of(text);
  });
  return read;
}

async function readTheirs(): Promise<Theirs> {
  const input = { modelId: ID, messages: [{ role: "user" as const, content: [{ text: "hi" }] }] };
  const { stream } = await client().send(new ConverseStreamCommand(input));
  if (!stream) throw new Error("no stream");
  return gather(stream);
}

const ours = () =>
  model({ api: "bedrock", id: ID, baseUrl: server.baseUrl, signing: { region: REGION, ...KEYS } });

async function readOurs(): Promise<AssistantMessage> {
  for await (const event of call(ours(), { messages: [UserMessage.text("hi")] })) {
    if (event.type === "done") return event.message;
  }
  throw new Error("no answer");
}

describe("our reading of a stream is the vendor's", () => {
  test.each(Object.entries(STREAMS))("%s", async (_, events) => {
    server.script = { ...streaming(events), writeSize: 301 };
    const [theirs, read] = [await readTheirs(), await readOurs()];
    expect(read.contents).toEqual(theirs.contents);
    expect(read.stopReason).toBe(STOP[theirs.stopReason]);
    expect(read.usage).toEqual({
      inputTokens: theirs.usage?.inputTokens,
      outputTokens: theirs.usage?.outputTokens,
      cacheReadTokens: theirs.usage?.cacheReadInputTokens,
      cacheWriteTokens: theirs.usage?.cacheWriteInputTokens,
      cost: null,
    });
    expect(Usage.contextSize(read.usage)).toBe(theirs.usage?.totalTokens);
  });
});

test("the vendor's client and ours send to the same place, both signed as the server computes it", async () => {
  server.script = streaming([begins, ...ends("end_turn")]);
  await readTheirs();
  await readOurs();
  const [theirs, mine] = server.requests;
  expect(mine?.url).toBe(theirs?.url);
  expect(mine?.url).toBe(`/model/${encodeURIComponent(ID)}/converse-stream`);
  for (const name of ["content-type", "x-amz-security-token"])
    expect(mine?.headers[name]).toBe(theirs?.headers[name]);
  const scope = /Credential=(\S+\/)\d{8}(\/\S+),/;
  expect(scope.exec(String(mine?.headers.authorization))?.slice(1)).toEqual(
    scope.exec(String(theirs?.headers.authorization))?.slice(1),
  );
});

/** On the wire bytes are base64; in the vendor's types they are bytes. */
function asBytes(base64: string): Uint8Array {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}

test("our bodies are what the vendor's types say a request is, and its client writes the same", async () => {
  const picture = "iVBORw0KGgoA";
  const content: ContentBlock[] = [
    { text: "see and hear" },
    { image: { format: "png", source: { bytes: asBytes(picture) } } },
    { text: "[A sound clip was here: given as audio/wav, which this model cannot take.]" },
  ];
  const expected = {
    modelId: ID,
    inferenceConfig: { maxTokens: 5000 },
    additionalModelRequestFields: {
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
    },
    toolConfig: {
      tools: [
        { toolSpec: { name: "look", description: "Looks.", inputSchema: { json: { type: "object" } } } },
        { cachePoint: { type: "default" } },
      ],
    },
    system: [{ text: "Be kind." }, { cachePoint: { type: "default" } }, { text: "It is noon." }],
    messages: [
      { role: "user", content },
      {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "Hm.", signature: "sig" } } },
          { reasoningContent: { redactedContent: asBytes("YmxvYg==") } },
          { toolUse: { toolUseId: "tooluse_1", name: "look", input: { at: 1 } } },
          { toolUse: { toolUseId: "tooluse_2", name: "look", input: {} } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "tooluse_1", content: [{ text: "nothing there" }], status: "error" } },
          {
            toolResult: {
              toolUseId: "tooluse_2",
              content: [
                { text: "a picture" },
                { image: { format: "png", source: { bytes: asBytes(picture) } } },
              ],
            },
          },
          { text: "[System message]\nNow be brief.\n[End of system message]" },
        ],
      },
      { role: "assistant", content: [{ text: "Nothing." }] },
      { role: "user", content: [{ text: "Thanks" }, { cachePoint: { type: "default" } }] },
    ],
  } satisfies ConverseStreamCommandInput;
  const envelope = {
    usage: Usage.none(),
    stopReason: "tool_use",
    provider: "bedrock",
    api: "bedrock",
    model: ID,
  } as const;
  const { body } = encode(ours(), {
    system: [
      { kind: "notice", text: "It is noon.", sources: [] },
      { kind: "system", text: "Be kind.", sources: [] },
    ],
    messages: [
      UserMessage.of([
        TextContent.of("see and hear"),
        { type: "image", images: [picture] },
        { type: "audio", audio: ["UklGRjAwMDBXQVZF"] },
      ]),
      AssistantMessage.of(
        [
          ThinkingContent.of("Hm.", "sig"),
          { ...ThinkingContent.of("", "YmxvYg=="), redacted: true },
          ToolCallContent.of("tooluse_1", "look", { at: 1 }),
          ToolCallContent.of("tooluse_2", "look"),
        ],
        envelope,
      ),
      ToolMessage.fromResults([
        ToolResultContent.error("tooluse_1", "nothing there"),
        ToolResultContent.of("tooluse_2", "a picture", { images: [picture] }),
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
  // The client puts the typed value on the wire; the server refuses the made-up signature, after it has kept the bytes.
  await client()
    .send(new ConverseStreamCommand(expected))
    .catch((error: Error) => expect(error.message).toContain("signature"));
  expect(JSON.parse(body)).toEqual(JSON.parse(server.requests[0]?.body.toString() ?? ""));
});
