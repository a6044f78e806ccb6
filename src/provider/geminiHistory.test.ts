import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { brokenRules, type GeminiRuleSwitches } from "../testing/geminiRules.js";
import { histories } from "../testing/histories.js";
import { blockProblems, lostWords, WAYS_LEFT_OUT } from "../testing/historyChecks.js";
import { schemaReader } from "../testing/vendorSchemas.js";
import { encode } from "./call.js";
import type { Model } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 10_500 : 600;

vi.setConfig({ testTimeout: 600_000 });

const google = (id: string): Model => model({ api: "gemini", id, apiKey: "canary-key" });
const MODELS: readonly { on: Model; rules: GeminiRuleSwitches }[] = [
  { on: google("gemini-3-flash-preview"), rules: { third: true, imageUrls: true } },
  { on: google("gemini-2.5-flash"), rules: { imageUrls: true } },
  { on: google("gemini-2.0-flash"), rules: {} },
  { on: google("gemini-flash-latest"), rules: { third: true, imageUrls: true } },
];

const native = (data: unknown) => ({ api: "gemini", data });
const { request, turn } = histories({
  providers: ["google", "local", "anthropic"],
  apis: ["gemini", "anthropic"],
  models: ["gemini-3-flash-preview", "gemini-2.5-flash"],
  natives: [
    native({ thoughtSignature: "c2ln" }),
    native({ thoughtSignature: "not base64!", after: ["c2ln", 7] }),
    native({ pieces: [{ length: 5, signature: "c2ln" }], after: ["YWZ0ZXI="] }),
    native({ pieces: [{ length: 0, signature: "c2ln" }] }),
    native({ pieces: [{ length: 1 }, { length: 4, signature: "c2ln" }] }),
    native({ pieces: [{ length: -1 }, "odd"] }),
    native(null),
  ],
});

const schemaDifferences = schemaReader("gemini");

test("no history makes a request that a strict server would refuse", () => {
  const met = new Map<string, number>();
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on, rules }) => {
      const encoded = encode(on, given);
      expect(brokenRules(encoded.body, rules)).toEqual([]);
      expect(schemaDifferences(encoded.body)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { reason } of encoded.leftOut) met.set(reason, (met.get(reason) ?? 0) + 1);
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
      const own = given.messages.some(
        (one) =>
          one.role === "assistant" &&
          one.provider === on.provider &&
          one.api === on.api &&
          one.model === on.id,
      );
      if (!own) expect(body).not.toMatch(/canary-signature|c2ln/);
    }),
    { numRuns: RUNS / 3 },
  );
});

type Sent = { contents: { role: string; parts: { text?: string }[] }[] };

test("every word a person said is in the request, in order", () => {
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on }) => {
      const sent: Sent = JSON.parse(encode(on, given).body);
      const words = sent.contents
        .filter((one) => one.role === "user")
        .flatMap((one) => one.parts.map((part) => part.text ?? ""))
        .join("\n\n");
      expect(lostWords(given, [words])).toEqual([]);
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
