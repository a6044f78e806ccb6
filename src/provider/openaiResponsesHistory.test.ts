import fc from "fast-check";
import { expect, test, vi } from "vitest";
import {
  AssistantMessage,
  type LLMMessage,
  ToolMessage,
  ToolResultContent,
  UserMessage,
} from "../message/index.js";
import { histories } from "../testing/histories.js";
import { brokenRules, type Issued, type ResponsesRuleSwitches } from "../testing/openaiResponsesRules.js";
import { response } from "../testing/openaiResponsesServer.js";
import { blockProblems, WAYS_LEFT_OUT } from "../testing/historyChecks.js";
import { schemaReader } from "../testing/vendorSchemas.js";
import { encode } from "./call.js";
import type { Model } from "./codec.js";
import { model } from "./model.js";
import { openaiResponses } from "./openaiResponses.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 10_500 : 600;

vi.setConfig({ testTimeout: 600_000 });

const GPT = model({ api: "openai-responses", id: "gpt-5", apiKey: "canary-key" });
const MODELS: readonly { on: Model; rules: ResponsesRuleSwitches }[] = [
  { on: GPT, rules: { reasons: true } },
  { on: model({ api: "openai-responses", id: "gpt-4.1" }), rules: { reasons: false } },
  {
    on: model({ api: "openai-responses", id: "qwen", baseUrl: "http://127.0.0.1:9/v1", provider: "local" }),
    rules: { reasons: true, plainReasoning: true },
  },
];

const native = (data: unknown) => ({ api: "openai-responses", data });
const { request, turn } = histories({
  providers: ["openai", "local", "anthropic"],
  apis: ["openai-responses", "anthropic"],
  models: ["gpt-5", "gpt-4.1", "qwen"],
  // Not as our decoder would leave them: stored data can be anything.
  natives: [
    native(null),
    native({
      at: 0,
      id: "msg_1",
      phase: "final_answer",
      item: { id: "rs_1", type: "reasoning", summary: [] },
    }),
    native({
      at: 1,
      id: "fc_1",
      phase: "odd",
      item: { id: "fc_1", content: [{ type: "reasoning_text", text: "hm" }] },
    }),
    native({ at: 2, id: `fc_${"x".repeat(90)}`, item: { id: "rs_2", summary: "none" } }),
    native({ at: -1, id: 7 }),
  ],
});

/** An answer of this very model, as the vendor gives it: any items in any order, some encrypted and some not. */
type OwnItem = {
  kind: "reasoning" | "message" | "function_call" | "web_search_call";
  text: string;
  encrypted: string | null;
};
const outputItem: fc.Arbitrary<OwnItem> = fc.record({
  kind: fc.constantFrom(
    "reasoning",
    "reasoning",
    "message",
    "function_call",
    "function_call",
    "web_search_call",
  ),
  text: fc.constantFrom("Hello", "", "☃ \ud800"),
  encrypted: fc.constantFrom("blob", "blob", null),
});
const ownAnswer = fc.record({
  items: fc.array(outputItem, { maxLength: 6 }),
  how: fc.constantFrom("whole", "stopped", "twice", "holed"),
  answered: fc.boolean(),
});
type OwnAnswer = typeof ownAnswer extends fc.Arbitrary<infer T> ? T : never;

function outputOf({ items }: OwnAnswer, key: string): Record<string, unknown>[] {
  return items.map(({ kind, text, encrypted }, at) => {
    const id = `${key}_${at}`;
    switch (kind) {
      case "reasoning": {
        const summary = text === "" ? [] : [{ type: "summary_text", text }];
        return { type: kind, id: `rs_${id}`, summary, encrypted_content: encrypted && `${encrypted}_${id}` };
      }
      case "message": {
        const content = [{ type: "output_text", text, annotations: [] }];
        return {
          type: kind,
          id: `msg_${id}`,
          role: "assistant",
          status: "completed",
          content,
          phase: "commentary",
        };
      }
      case "function_call":
        return { type: kind, id: `fc_${id}`, call_id: `call_${id}`, name: "look", arguments: '{"at":1}' };
      default:
        return { type: kind, id: `ws_${id}`, status: "completed" };
    }
  });
}

/** What the vendor remembers of its own answers, and will hold against us. */
function issuedIn(outputs: readonly Record<string, unknown>[][]): Issued {
  const reasoningBefore = new Map<string, string>();
  const reasoning = new Map<string, { next: string; encrypted: string }>();
  for (const output of outputs) {
    output.forEach((item, at) => {
      const [before, next] = [output[at - 1], output[at + 1]];
      if (before?.type === "reasoning") reasoningBefore.set(String(item.id), String(before.id));
      if (item.type === "reasoning")
        reasoning.set(String(item.id), {
          next: String(next?.type),
          encrypted: String(item.encrypted_content),
        });
    });
  }
  return { reasoningBefore, reasoning };
}

function messagesOf(answer: OwnAnswer, output: Record<string, unknown>[], key: string): LLMMessage[] {
  const decoded = openaiResponses.decodeWhole(GPT, 200, JSON.stringify(response(output)));
  const said = AssistantMessage.of(mangled(decoded.contents, answer.how), {
    ...decoded,
    stopReason: answer.how === "stopped" ? "aborted" : decoded.stopReason,
    id: key,
  });
  const results = AssistantMessage.toolCalls(said).map((call) => ToolResultContent.of(call.id, "done"));
  const turn = [said, ...(answer.answered ? [ToolMessage.fromResults(results, { id: `${key}r` })] : [])];
  return [
    ...(answer.how === "twice" ? [...turn, ...turn] : turn),
    UserMessage.text("Go on.", { id: `${key}u` }),
  ];
}

function mangled(
  contents: AssistantMessage["contents"],
  how: OwnAnswer["how"],
): AssistantMessage["contents"] {
  if (how === "holed") return contents.filter((_, at) => at !== 1);
  return how === "stopped" ? contents.filter((content) => content.type !== "tool_call") : contents;
}

/** Encrypted reasoning whose id is lost goes back without one, which the vendor takes, though its type wants one. */
const withReasoningIds = (body: string): string =>
  JSON.stringify(JSON.parse(body), (_, item) =>
    item?.type === "reasoning" && item.encrypted_content ? { id: "rs_lost", ...item } : item,
  );
const differences = schemaReader("openai-responses");
const schemaDifferences = (body: string): string[] => differences(withReasoningIds(body));

test("no history makes a request that a strict server would refuse", () => {
  const met = new Map<string, number>();
  fc.assert(
    fc.property(request, fc.constantFrom(...MODELS), (given, { on, rules }) => {
      const encoded = encode(on, { ...given, temperature: 1, maxTokens: 1, thinking: "low" });
      expect(brokenRules(encoded.body, rules)).toEqual([]);
      expect(schemaDifferences(encoded.body)).toEqual([]);
      expect(blockProblems(encoded)).toEqual([]);
      for (const { reason } of encoded.leftOut) met.set(reason, (met.get(reason) ?? 0) + 1);
    }),
    { numRuns: RUNS },
  );
  expect([...met.keys()].sort()).toEqual(WAYS_LEFT_OUT);
});

test("whatever became of this model's own answers, reasoning goes back beside what came of it, or not at all", () => {
  const seen = { kept: 0, dropped: 0, ids: 0 };
  fc.assert(
    fc.property(fc.array(ownAnswer, { maxLength: 4 }), request, (answers, { messages }) => {
      const outputs = answers.map((answer, at) => outputOf(answer, `a${at}`));
      const own = answers.flatMap((answer, at) => messagesOf(answer, outputs[at] ?? [], `a${at}`));
      const { body } = encode(GPT, { messages: [...own, ...messages] });
      expect(brokenRules(body, { reasons: true, issued: issuedIn(outputs) })).toEqual([]);
      expect(schemaDifferences(body)).toEqual([]);
      for (const item of outputs.flat()) {
        const isThere = body.includes(`"id":"${item.id}"`);
        if (item.type === "reasoning") seen[isThere ? "kept" : "dropped"]++;
        else if (isThere) seen.ids++;
      }
    }),
    { numRuns: RUNS },
  );
  expect(Math.min(seen.kept, seen.dropped, seen.ids)).toBeGreaterThan(RUNS / 10);
});

test("an answer nothing happened to goes back item by item as it came", () => {
  fc.assert(
    fc.property(ownAnswer, (answer) => {
      const sayable = answer.items
        .filter(({ kind }) => kind !== "web_search_call")
        .map((item) => ({ ...item, text: item.text === "Hello" ? "Hello" : "Hm", encrypted: "blob" }));
      const last: OwnItem = { kind: "message", text: "Done.", encrypted: null };
      const output = outputOf({ ...answer, items: [...sayable, last] }, "a");
      const messages = messagesOf({ ...answer, how: "whole", answered: true }, output, "a");
      const sent: Record<string, unknown>[] = JSON.parse(encode(GPT, { messages }).body).input;
      expect(sent.slice(0, output.length)).toEqual(output);
    }),
    { numRuns: RUNS / 3 },
  );
});

test("another model gets neither reasoning nor ids of it, and the words as words", () => {
  const others = [
    model({ api: "openai-responses", id: "gpt-5.1" }),
    model({ api: "openai-responses", id: "gpt-5", provider: "local", baseUrl: "http://127.0.0.1:9/v1" }),
    model({ api: "openai-chat", id: "gpt-5" }),
  ];
  fc.assert(
    fc.property(
      fc.array(ownAnswer, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...others),
      (answers, on) => {
        const own = answers.flatMap((answer, at) => messagesOf(answer, outputOf(answer, `a${at}`), `a${at}`));
        const { body } = encode(on, { messages: own });
        expect(body).not.toMatch(/"(rs|msg|fc)_a|blob|encrypted_content"\s*:/);
      },
    ),
    { numRuns: RUNS / 3 },
  );
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
      const said = given.messages
        .flatMap((one) => (one.role === "user" ? one.contents : []))
        .flatMap((content) => (content.type === "text" ? [content.content] : []))
        .filter((words) => words.trim() !== "")
        .map((words) => words.replace(/\p{Surrogate}/gu, "\ufffd"));
      const sent: string[] = JSON.parse(encode(GPT, given).body)
        .input.filter((item: { role?: string }) => item.role === "user")
        .flatMap((item: { content: { text?: string }[] }) => item.content.map((part) => part.text));
      expect(sent.filter((words) => said.includes(words))).toEqual(said);
    }),
    { numRuns: RUNS / 3 },
  );
});

test("while a chat only grows, the blocks of one request begin the next", () => {
  fc.assert(
    fc.property(
      fc.array(turn, { minLength: 2, maxLength: 5 }),
      fc.array(ownAnswer, { minLength: 5, maxLength: 5 }),
      fc.constantFrom(...MODELS),
      (turns, answers, { on }) => {
        const chat = turns.map((messages, at) => {
          const answer = answers[at];
          if (!answer) return messages;
          return [
            ...messages,
            ...messagesOf({ ...answer, how: "whole", answered: true }, outputOf(answer, `a${at}`), `a${at}`),
          ];
        });
        const ask = (count: number) =>
          encode(on, { system: "Be kind.", messages: chat.slice(0, count).flat() }).blocks;
        for (let count = 1; count < chat.length; count++) {
          const before = ask(count).slice(0, -1);
          expect(ask(count + 1).slice(0, before.length)).toEqual(before);
        }
      },
    ),
    { numRuns: RUNS / 5 },
  );
});
