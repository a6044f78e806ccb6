import fc from "fast-check";
import { expect, test } from "vitest";
import type {
  AssistantContent,
  LLMMessage,
  Source,
  ToolResultContent,
  UserContent,
} from "../message/index.js";
import { Usage } from "../message/index.js";
import { encode } from "./call.js";
import { brokenRules, type RuleSwitches } from "../testing/chatCompletionsRules.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 30_000 : 900;

const MODELS: readonly { on: Model; rules: RuleSwitches }[] = [
  { on: model({ api: "openai-chat", id: "gpt-4.1", apiKey: "canary-key" }), rules: {} },
  {
    on: model({ api: "openai-chat", id: "gpt-audio", baseUrl: "http://127.0.0.1:9/v1", provider: "local" }),
    rules: { systemOnlyFirst: true, audio: true },
  },
  {
    on: model({ api: "openai-chat", id: "m", baseUrl: "https://api.mistral.ai/v1", provider: "mistral" }),
    rules: { systemOnlyFirst: true, ids: /^[a-zA-Z0-9]{9}$/ },
  },
  { on: model({ api: "demo", id: "demo" }), rules: { systemOnlyFirst: true } },
];

const text = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\n\t",
    "hello",
    "\ud800",
    "x\udc00y",
    "\\ud800",
    '"quoted"',
    "line\nbreak",
    "🎈 é \u0000",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const id = fc.oneof(
  // A few that meet often, so that calls find results, and more of them than they want.
  { weight: 8, arbitrary: fc.constantFrom("a", "b", "x".repeat(41)) },
  fc.constantFrom(
    "a",
    "b",
    "c",
    "",
    "call 1",
    "x".repeat(41),
    `${"x".repeat(41)}y`,
    "\ud800",
    "\ud801",
    "functions.f:0",
  ),
  fc.string({ maxLength: 50 }),
);
const name = fc.constantFrom("look", "clock", "", "bad.name", "bad/name", "n".repeat(70), "\ud800");
const native = fc.constantFrom(
  undefined,
  { api: "openai-chat", data: { extra_content: { google: { thought_signature: "s" } } } },
  { api: "openai-chat", data: { reasoning_details: [{ type: "reasoning.encrypted", data: "blob" }] } },
  { api: "anthropic", data: { canary: "canary-native" } },
);
const image = fc.constantFrom<(string | Uint8Array)[]>(
  Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
  Uint8Array.of(1, 2, 3),
  "https://example.org/a.png",
  "data:image/heic;base64,AAAA",
  "not an image",
  "iVBORw0KGgoA",
);
const sound = fc.constantFrom<(string | Uint8Array)[]>(
  new TextEncoder().encode("RIFF0000WAVE"),
  "T2dnUw==",
  "///",
  "https://e.org/a",
);

const result: fc.Arbitrary<ToolResultContent> = fc.record({
  type: fc.constant("tool_result"),
  id,
  content: text,
  isError: fc.boolean(),
  metadata: fc.constant({ canary: "canary-metadata" }),
  terminate: fc.boolean(),
  images: fc.array(image, { maxLength: 1 }),
  audio: fc.array(sound, { maxLength: 1 }),
});
const userContent: fc.Arbitrary<UserContent> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("text"), content: text }) },
  fc.record({ type: fc.constant("image"), images: fc.array(image, { maxLength: 2 }) }),
  fc.record({ type: fc.constant("audio"), audio: fc.array(sound, { maxLength: 2 }) }),
  result,
);
const args = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
const withNative = <T extends object>(value: fc.Arbitrary<T>) =>
  fc
    .tuple(value, native)
    .map(([content, leftover]) => (leftover ? { ...content, native: leftover } : content));
const assistantContent: fc.Arbitrary<AssistantContent> = fc.oneof(
  withNative(fc.record({ type: fc.constant("text"), content: text })),
  withNative(
    fc.record({
      type: fc.constant("thinking"),
      content: text,
      signature: fc.constantFrom("", "canary-signature"),
      redacted: fc.boolean(),
    }),
  ),
  withNative(fc.record({ type: fc.constant("tool_call"), id, name, args })),
);
const stamp = { id: fc.uuid(), timestamp: fc.nat() };
/** Rare by chance, and a case of its own: nothing is left of it where thinking cannot go back. */
const thinkingAlone: fc.Arbitrary<LLMMessage> = fc.record({
  role: fc.constant("assistant"),
  contents: fc.constant<AssistantContent[]>([{ type: "thinking", content: "hm", signature: "" }]),
  usage: fc.constant(Usage.none()),
  stopReason: fc.constant("stop"),
  provider: fc.constant("openai"),
  api: fc.constant("openai-chat"),
  model: fc.constant("gpt-4.1"),
  ...stamp,
});
const message: fc.Arbitrary<LLMMessage> = fc.oneof(
  thinkingAlone,
  fc.record({
    role: fc.constant("system"),
    contents: fc.array(fc.record({ type: fc.constant("text"), content: text })),
    ...stamp,
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      role: fc.constant("user"),
      contents: fc.array(userContent, { maxLength: 3 }),
      ...stamp,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      role: fc.constant("assistant"),
      contents: fc.array(assistantContent, { maxLength: 4 }),
      usage: fc.constant(Usage.none()),
      stopReason: fc.constantFrom("stop", "length", "tool_use", "refusal", "aborted", "error"),
      provider: fc.constantFrom("openai", "local", "anthropic"),
      api: fc.constantFrom("openai-chat", "anthropic"),
      model: fc.constantFrom("gpt-4.1", "m"),
      ...stamp,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      role: fc.constant("tool"),
      contents: fc.array(result, { maxLength: 3 }),
      ...stamp,
    }),
  },
);
const tool = fc.record({ name, description: text, parameters: fc.constant({ type: "object" }) });
const request: fc.Arbitrary<ModelRequest> = fc.record({
  system: fc.oneof(
    text,
    fc.array(
      fc.record({ kind: fc.constantFrom("system", "notice"), text, sources: fc.constant<Source[]>([]) }),
      {
        maxLength: 3,
      },
    ),
  ),
  messages: fc.array(message, { maxLength: 12 }),
  tools: fc.uniqueArray(tool, { selector: (one) => one.name, maxLength: 3 }),
});

test("no history makes a request that a strict server would refuse", () => {
  const met = new Map<string, number>();
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on, rules }) => {
      const encoded = encode(on, given);
      expect(brokenRules(encoded.body, rules)).toEqual([]);
      expect(encoded.blocks.map((block) => block.text).join("")).toBe(encoded.body);
      for (const block of encoded.blocks) {
        expect(block.text).not.toMatch(/^$|\p{Surrogate}/u);
        if (["message", "summary", "thread_context"].includes(block.kind)) JSON.parse(block.text);
      }
      for (const { reason } of encoded.leftOut) met.set(reason, (met.get(reason) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  // The generator reaches every way of being left out; otherwise this test would prove less than it says.
  expect([...met.keys()].sort()).toEqual([
    "a result of an answer that failed",
    "a second result for one tool call",
    "a tool result without its call",
    "nothing in it to send",
    "the answer failed",
    "thinking alone, which this API cannot take back",
  ]);
});

test("no metadata, foreign leftover, foreign signature or key is in any request", () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on }) => {
      const { body } = encode(on, given);
      expect(body).not.toMatch(/canary-(metadata|native|key)/);
      if (!given.messages.some((one) => one.role === "assistant" && one.provider === on.provider)) {
        expect(body).not.toContain("canary-signature");
      }
    }),
    { numRuns: RUNS / 3 },
  );
});

test("every word a person said is in the request, in order", () => {
  fc.assert(
    fc.property(request, (given) => {
      const [{ on }] = [MODELS[0] ?? { on: model({ api: "demo", id: "demo" }) }];
      const said = given.messages
        .flatMap((one) => (one.role === "user" ? one.contents : []))
        .flatMap((content) => (content.type === "text" ? [content.content] : []));
      const sent: unknown[] = JSON.parse(encode(on, given).body)
        .messages.filter((one: { role: string }) => one.role === "user")
        .map((one: { content: unknown }) => one.content);
      let rest = sent
        .map((content) => (typeof content === "string" ? content : textsOf(content)))
        .join("\n\n");
      for (const words of said
        .filter((one) => one.trim() !== "")
        .map((one) => one.replace(/\p{Surrogate}/gu, "\ufffd"))) {
        const at = rest.indexOf(words);
        expect(at).toBeGreaterThanOrEqual(0);
        rest = rest.slice(at + words.length);
      }
    }),
    { numRuns: RUNS / 3 },
  );
});

function textsOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("\n\n");
}

/** A turn that ended: what people said, and an answer, perhaps by way of tools that all answered. */
const turn: fc.Arbitrary<LLMMessage[]> = fc
  .record({
    said: fc.array(userContent, { maxLength: 2 }),
    batches: fc.array(fc.array(id, { maxLength: 3 }), { maxLength: 2 }),
    last: text,
    key: fc.uuid(),
    picture: fc.boolean(),
  })
  .map(({ said, batches, last, key, picture }) => {
    const envelope = {
      usage: Usage.none(),
      provider: "openai",
      api: "openai-chat",
      model: "gpt-4.1",
      timestamp: 0,
    };
    const worked = batches.flatMap((ids, at): LLMMessage[] => [
      {
        ...envelope,
        role: "assistant",
        id: `${key}c${at}`,
        stopReason: "tool_use",
        contents: ids.map((one) => ({ type: "tool_call", id: one, name: "look", args: {} })),
      },
      {
        role: "tool",
        id: `${key}r${at}`,
        timestamp: 0,
        contents: ids.map((one) => ({
          type: "tool_result",
          id: one,
          content: "ok",
          isError: false,
          metadata: {},
          terminate: false,
          images: picture ? ["https://e.org/p.png"] : [],
        })),
      },
    ]);
    const spoken = said.filter((content) => content.type !== "tool_result");
    return [
      {
        role: "user",
        id: `${key}u`,
        timestamp: 0,
        contents: [{ type: "text", content: "[Ann]: " }, ...spoken],
      },
      ...worked,
      {
        ...envelope,
        role: "assistant",
        id: `${key}a`,
        stopReason: "stop",
        contents: [{ type: "text", content: last }],
      },
    ];
  });

test("while a chat only grows, the blocks of one request begin the next", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 6 }),
      fc.constantFrom(...MODELS),
      (turns, { on }) => {
        const ask = (count: number) =>
          encode(on, { system: "Be kind.", messages: turns.slice(0, count).flat() }).blocks;
        for (let count = 1; count < turns.length; count++) {
          const before = ask(count).slice(0, -1);
          expect(ask(count + 1).slice(0, before.length)).toEqual(before);
        }
      },
    ),
    { numRuns: RUNS / 5 },
  );
});
