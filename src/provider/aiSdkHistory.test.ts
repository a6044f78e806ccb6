import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { UserMessage } from "../message/index.js";
import { type AiSdkRuleSwitches, brokenRules } from "../testing/aiSdkRules.js";
import { histories } from "../testing/histories.js";
import { blockProblems, growing, hasOwnAnswer, lostWords, WAYS_LEFT_OUT } from "../testing/historyChecks.js";
import type { AiSdkLanguageModel } from "./aiSdkBridge.js";
import { type AiSdkModelOptions, aiSdkModel } from "./aiSdkModel.js";
import { encode, encodeMemory } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";

vi.setConfig({ testTimeout: 600_000 });

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 12_000 : 600;

function on(
  specificationVersion: "v2" | "v3",
  provider: string,
  modelId: string,
  options: AiSdkModelOptions & Pick<AiSdkLanguageModel, "supportedUrls"> = {},
): Model {
  const { supportedUrls = {}, ...rest } = options;
  const doStream = () => Promise.reject(new Error("nobody calls it"));
  return aiSdkModel({ specificationVersion, provider, modelId, supportedUrls, doStream }, rest);
}

const FETCHES = { supportedUrls: { "image/*": [/^https:\/\/.+$/g] } };
const MODELS: readonly { on: Model; rules: AiSdkRuleSwitches }[] = [
  { on: on("v3", "openai.chat", "gpt-4.1"), rules: { version: "v3" } },
  {
    on: on("v3", "anthropic.messages", "claude-sonnet-5", FETCHES),
    rules: { version: "v3", imageUrls: true, resultImages: true },
  },
  { on: on("v3", "anthropic.messages", "claude-sonnet-5"), rules: { version: "v3", resultImages: true } },
  { on: on("v2", "anthropic.messages", "claude-sonnet-5"), rules: { version: "v2", resultImages: true } },
  { on: on("v2", "mistral.chat", "m"), rules: { version: "v2", ids: /^[a-zA-Z0-9]{9}$/ } },
  {
    on: on("v3", "local", "m", { quirks: { audio: true }, providerOptions: { local: { user: "u" } } }),
    rules: { version: "v3", audio: true },
  },
];

const native = (data: unknown) => ({ api: "ai-sdk", data });
const { request, turn } = histories({
  providers: ["openai.chat", "anthropic.messages", "local"],
  apis: ["ai-sdk", "anthropic"],
  models: ["gpt-4.1", "claude-sonnet-5", "m"],
  natives: [
    native({ providerMetadata: { anthropic: { signature: "canary-own" } } }),
    { api: "elsewhere", data: { providerMetadata: { p: { sig: "canary-native" } } } },
    native({ providerMetadata: "odd" }),
    native({ rawArguments: "{", unparsed: true }),
    native(null),
  ],
});

/** A request and who is asked. Half of the histories are the model's own: what it left on its answers goes back. */
const asked = fc
  .tuple(request, fc.constantFrom(...MODELS), fc.boolean())
  .map(([given, { on, rules }, isOwn]) => ({ given: isOwn ? madeBy(on, given) : given, on, rules }));

function madeBy({ provider, api, id }: Model, given: ModelRequest): ModelRequest {
  const messages = given.messages.map((one) =>
    one.role === "assistant" ? { ...one, provider, api, model: id } : one,
  );
  return { ...given, messages };
}

test("no history makes a request that a strict language model would refuse", () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(asked, ({ given, on, rules }) => {
      const encoded = encode(on, given);
      expect(brokenRules(encoded.body, rules)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { reason } of encoded.leftOut) met.add(reason);
    }),
    { numRuns: RUNS },
  );
  // The generator reaches every way of being left out; otherwise this test would prove less than it says.
  expect([...met].sort()).toEqual(WAYS_LEFT_OUT);
});

test("no metadata, foreign leftover or another model's signature is in any request", () => {
  let wentBack = 0;
  fc.assert(
    fc.property(asked, ({ given, on }) => {
      const { body } = encode(on, given);
      expect(body).not.toMatch(/canary-(metadata|native|signature)/);
      if (!hasOwnAnswer(given, on)) expect(body).not.toContain("canary-own");
      if (body.includes("canary-own")) wentBack++;
    }),
    { numRuns: RUNS / 3 },
  );
  expect(wentBack).toBeGreaterThan(0);
});

type Sent = { prompt: { role: string; content: { text?: string }[] }[] };

test("every word a person said is in the request, in order", () => {
  fc.assert(
    fc.property(asked, ({ given, on }) => {
      const { prompt }: Sent = JSON.parse(encode(on, given).body);
      const texts = prompt
        .filter((one) => one.role === "user")
        .flatMap((one) => one.content.map((part) => part.text ?? ""));
      expect(lostWords(given, texts)).toEqual([]);
    }),
    { numRuns: RUNS / 3 },
  );
});

test("while a chat only grows, the blocks of one request begin the next", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 6 }),
      fc.constantFrom(...MODELS),
      (turns, { on }) => {
        const blocksOf = (messages: ModelRequest["messages"]) =>
          encode(on, { system: "Be kind.", messages }).blocks;
        for (const { before, after } of growing(turns, blocksOf)) expect(after).toEqual(before);
      },
    ),
    { numRuns: RUNS / 5 },
  );
});

test("what is remembered of a chat's last request changes no byte of the next", () => {
  fc.assert(
    fc.property(asked, fc.constantFrom(...MODELS), ({ given, on }, { on: other }) => {
      const memory = encodeMemory();
      const { messages } = given;
      for (let count = 0; count <= messages.length; count++) {
        const next = { ...given, messages: messages.slice(count % 4 === 3 ? 1 : 0, count) };
        const model = count % 5 === 4 ? other : on;
        expect(encode(model, next, memory)).toEqual(encode(model, next));
      }
    }),
    { numRuns: RUNS / 5 },
  );
});

test("nor does what is remembered for a language model that differs only in what it fetches", () => {
  const messages = [UserMessage.withImages("look", ["https://example.org/a.png"])];
  const memory = encodeMemory();
  const [fetching, blind] = [FETCHES, {}].map((more) => on("v3", "anthropic.messages", "m", more));
  if (!fetching || !blind) throw new Error("two models");
  expect(encode(fetching, { messages }, memory).body).toContain("https://example.org/a.png");
  expect(encode(blind, { messages }, memory)).toEqual(encode(blind, { messages }));
});
