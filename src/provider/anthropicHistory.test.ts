import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { LLMMessage } from "../message/index.js";
import { brokenRules } from "../testing/anthropicRules.js";
import { histories } from "../testing/histories.js";
import {
  askedInAnyWay,
  blockProblems,
  growing,
  hasOwnAnswer,
  lostWords,
  WAYS_LEFT_OUT,
} from "../testing/historyChecks.js";
import { schemaReader } from "../testing/vendorSchemas.js";
import { encode } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 15_000 : 900;

vi.setConfig({ testTimeout: 600_000 });

const MODELS = [
  "claude-sonnet-4-5",
  "claude-opus-5",
  "claude-opus-4-8",
  "claude-sonnet-4-6",
  "claude-sonnet-5",
  "claude-opus-5-5",
  "claude-fable-5",
  "claude-3-5-haiku-20241022",
].map((id) => model({ api: "anthropic", id, apiKey: "canary-key" }));

const { request, turn } = histories({
  providers: ["anthropic", "openai"],
  apis: ["anthropic", "openai-chat"],
  models: ["claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5"],
  natives: [{ api: "anthropic", data: { rawArguments: "{" } }],
});

const asked = askedInAnyWay(request);

/** Half of the histories are the model's own, so that its thinking goes back to it. */
const onModel = fc
  .tuple(asked, fc.constantFrom(...MODELS), fc.boolean())
  .map(([given, on, own]): [ModelRequest, Model] => {
    const maker = { provider: on.provider, api: on.api, model: on.id };
    const messages = given.messages.map((one) =>
      one.role === "assistant" && own ? { ...one, ...maker } : one,
    );
    return [{ ...given, messages }, on];
  });

// The vendor's types are those of the newer version, which has no temperature.
const schemas: Readonly<Record<string, (body: string) => string[]>> = {
  "2026-10-21": schemaReader("anthropic"),
  "2023-06-01": schemaReader("anthropic", (key) => key === "temperature"),
};

test("no history makes a request that a strict server would refuse", () => {
  const met = new Set<string>();
  const seen = new Set<string>();
  fc.assert(
    fc.property(onModel, ([given, on]) => {
      const encoded = encode(on, given);
      const version = encoded.headers["anthropic-version"] ?? "";
      expect(brokenRules(encoded.body, { version })).toEqual([]);
      expect(schemas[version]?.(encoded.body)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { reason } of encoded.leftOut) met.add(reason);
      for (const word of SPELLINGS) if (encoded.body.includes(word)) seen.add(word);
    }),
    { numRuns: RUNS },
  );
  // The generator reaches every way of being left out, and every spelling; otherwise this test would prove less.
  expect([...met].sort()).toEqual(WAYS_LEFT_OUT);
  expect([...seen].sort()).toEqual([...SPELLINGS].sort());
});

const SPELLINGS = [
  '"role":"system"',
  '"type":"thinking"',
  '"type":"redacted_thinking"',
  '"type":"tool_use"',
  '"is_error":true',
  '"type":"base64"',
  '"type":"url"',
  '"tool_choice":{"type":"none"}',
  '"type":"enabled"',
  '"type":"adaptive"',
  '"type":"disabled"',
  "[System message]",
  "[Attached to the result",
];

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
    { numRuns: RUNS / 5 },
  );
});
