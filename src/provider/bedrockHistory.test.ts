import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { LLMMessage } from "../message/index.js";
import { bedrockBrokenRules } from "../testing/bedrockRules.js";
import { histories } from "../testing/histories.js";
import {
  askedInAnyWay,
  blockProblems,
  growing,
  hasOwnAnswer,
  lostWords,
  WAYS_LEFT_OUT,
} from "../testing/historyChecks.js";
import { encode } from "./call.js";
import type { EncodedRequest, Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 30_000 : 900;

vi.setConfig({ testTimeout: 600_000 });

const IDS = [
  "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  "anthropic.claude-opus-5",
  "global.anthropic.claude-opus-4-6-v1",
  "anthropic.claude-3-5-haiku-20241022-v1:0",
  "anthropic.claude-3-haiku-20240307-v1:0",
  "amazon.nova-micro-v1:0",
  "us.amazon.nova-2-omni-v1:0",
  "us.meta.llama3-3-70b-instruct-v1:0",
  "us.mistral.pixtral-large-2502-v1:0",
  "openai.gpt-oss-120b-1:0",
  "moonshot.kimi-k2-thinking",
  "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6",
  "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0",
];
const MODELS = IDS.map((id) => model({ api: "bedrock", id, apiKey: "canary-key" }));
const speaksOwnRole = model({
  api: "bedrock",
  id: "anthropic.claude-opus-5",
  apiKey: "canary-key",
  quirks: { midSystem: "system" },
});
/** What only one model takes is sent to it often enough to be met in every run. */
const hears = MODELS.filter(({ id }) => id.includes("omni"));
MODELS.push(speaksOwnRole, speaksOwnRole, ...hears, ...hears);

const { request, turn } = histories({
  providers: ["bedrock", "openai"],
  apis: ["bedrock", "openai-chat"],
  models: ["anthropic.claude-opus-5", "us.amazon.nova-2-omni-v1:0", "gpt-5"],
  natives: [{ api: "bedrock", data: { rawArguments: "{" } }],
});

const asked = askedInAnyWay(request);

/** Half of the histories are the model's own, so that its thinking goes back to it, with what the API encrypted. */
const onModel = fc
  .tuple(asked, fc.constantFrom(...MODELS), fc.boolean(), fc.boolean())
  .map(([given, on, own, base64]): [ModelRequest, Model] => {
    const maker = { provider: on.provider, api: on.api, model: on.id };
    const messages = given.messages.map((one) => {
      if (one.role !== "assistant" || !own) return one;
      const contents = one.contents.map((content) =>
        content.type === "thinking" && content.redacted && base64
          ? { ...content, signature: "Y2FuYXJ5" }
          : content,
      );
      return { ...one, ...maker, contents };
    });
    return [{ ...given, messages }, on];
  });

function broken(on: Model, { url, body }: EncodedRequest): string[] {
  return bedrockBrokenRules(on.id, url.slice(url.lastIndexOf("/") + 1), body);
}

const SPELLINGS = [
  '"role":"system"',
  '"reasoningText":',
  '"redactedContent":',
  '"toolUse":',
  '"status":"error"',
  '"text":"Error: ',
  '"image":{"format":"png"',
  '"audio":{"format":"wav"',
  '"cachePoint":',
  "There are no tools now.",
  '"type":"enabled"',
  '"type":"adaptive"',
  '"type":"disabled"',
  '"reasoningConfig":',
  '"reasoning_effort":',
  "I have the results.",
  "[System message]",
  "[Attached to the result",
];

test("no history makes a request that AWS, or a model behind it, would refuse", () => {
  const met = new Set<string>();
  const seen = new Set<string>();
  const places = new Set<string>();
  fc.assert(
    fc.property(onModel, ([given, on]) => {
      const encoded = encode(on, given);
      expect(broken(on, encoded)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { kind, text } of encoded.blocks) {
        if (kind !== "frame") expect(text).not.toContain("cachePoint");
      }
      for (const { reason } of encoded.leftOut) met.add(reason);
      for (const word of SPELLINGS) if (encoded.body.includes(word)) seen.add(word);
      places.add(encoded.url.slice(encoded.url.lastIndexOf("/")));
    }),
    { numRuns: RUNS },
  );
  // The generator reaches every way of being left out, and every spelling; otherwise this test would prove less.
  expect([...met].sort()).toEqual(WAYS_LEFT_OUT);
  expect([...seen].sort()).toEqual([...SPELLINGS].sort());
  expect([...places].sort()).toEqual(["/converse", "/converse-stream"]);
});

test("no metadata, foreign leftover, foreign signature or key is in any request", () => {
  fc.assert(
    fc.property(onModel, ([given, on]) => {
      const { body } = encode(on, given);
      expect(body).not.toMatch(/canary-(metadata|native|key)|rawArguments/);
      if (!hasOwnAnswer(given, on)) expect(body).not.toContain("canary-signature");
    }),
    { numRuns: RUNS / 3 },
  );
});

test("every word a person said is in the request, in order", () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, on) => {
      const sent: { role: string; content: { text?: string }[] }[] = JSON.parse(
        encode(on, given).body,
      ).messages;
      const texts = sent
        .filter((one) => one.role === "user")
        .flatMap((one) => one.content.map((part) => part.text ?? ""));
      expect(lostWords(given, texts)).toEqual([]);
    }),
    { numRuns: RUNS / 3 },
  );
});

test("while a chat only grows, the blocks of one request begin the next", () => {
  const tools = [{ name: "look", description: "Looks.", parameters: { type: "object" } }];
  fc.assert(
    fc.property(fc.array(turn, { minLength: 2, maxLength: 6 }), fc.constantFrom(...MODELS), (turns, on) => {
      const blocksOf = (messages: LLMMessage[]) => encode(on, { system: "Be kind.", tools, messages }).blocks;
      for (const { before, after } of growing(turns, blocksOf)) expect(after).toEqual(before);
    }),
    { numRuns: RUNS / 15 },
  );
});
