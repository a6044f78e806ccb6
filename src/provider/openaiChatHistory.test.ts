import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { encode } from "./call.js";
import { brokenRules, type RuleSwitches } from "../testing/chatCompletionsRules.js";
import { histories } from "../testing/histories.js";
import { blockProblems, lostWords, WAYS_LEFT_OUT } from "../testing/historyChecks.js";
import { schemaReader } from "../testing/vendorSchemas.js";
import type { Model } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 15_000 : 900;

vi.setConfig({ testTimeout: 600_000 });

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
  {
    on: model({ api: "openai-chat", id: "m", baseUrl: "https://api.deepseek.com/v1", provider: "local" }),
    rules: { systemOnlyFirst: true },
  },
];

const { request, turn } = histories({
  providers: ["openai", "local", "anthropic"],
  apis: ["openai-chat", "anthropic"],
  models: ["gpt-4.1", "m"],
  natives: [
    { api: "openai-chat", data: { extra_content: { google: { thought_signature: "s" } } } },
    { api: "openai-chat", data: { reasoning_details: [{ type: "reasoning.encrypted", data: "blob" }] } },
  ],
});

/** What servers that imitate the API want beyond it: their own leftovers, and the name beside a tool's result. */
const LEFTOVERS: readonly string[] = ["extra_content", "reasoning_details", "reasoning_content"];
const schemaDifferences = schemaReader("openai-chat", (key, holder) => {
  return LEFTOVERS.includes(key) || (key === "name" && "tool_call_id" in holder);
});

test("no history makes a request that a strict server would refuse", () => {
  const met = new Map<string, number>();
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on, rules }) => {
      const encoded = encode(on, given);
      expect(brokenRules(encoded.body, rules)).toEqual([]);
      expect(schemaDifferences(encoded.body)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { reason } of encoded.leftOut)
        if (!reason.startsWith("a picture")) met.set(reason, (met.get(reason) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  expect([...met.keys()].sort()).toEqual(WAYS_LEFT_OUT);
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
      const sent: unknown[] = JSON.parse(encode(on, given).body)
        .messages.filter((one: { role: string }) => one.role === "user")
        .map((one: { content: unknown }) => one.content);
      const words = sent
        .map((content) => (typeof content === "string" ? content : textsOf(content)))
        .join("\n\n");
      expect(lostWords(given, [words])).toEqual([]);
    }),
    { numRuns: RUNS / 3 },
  );
});

function textsOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("\n\n");
}

test("while a chat only grows, and has no more pictures than fit, the blocks of one request begin the next", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 6 }),
      fc.constantFrom(...MODELS),
      (turns, { on }) => {
        const ask = (count: number) =>
          encode(on, { system: "Be kind.", messages: turns.slice(0, count).flat() });
        for (let count = 1; count < turns.length; count++) {
          const before = ask(count).blocks.slice(0, -1);
          const { blocks, leftOut } = ask(count + 1);
          if (leftOut.some(({ reason }) => reason.startsWith("a picture"))) return;
          expect(blocks.slice(0, before.length)).toEqual(before);
        }
      },
    ),
    { numRuns: RUNS / 5 },
  );
});
