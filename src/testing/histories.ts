import fc from "fast-check";
import {
  type AssistantContent,
  type LLMMessage,
  type Native,
  type Source,
  type ToolResultContent,
  Usage,
  type UserContent,
} from "../message/index.js";
import type { ModelRequest } from "../provider/codec.js";

/** Who made the answers of a history, and what they left on them. The first of each makes the answers of a turn. */
export type Makers = {
  providers: readonly string[];
  apis: readonly string[];
  models: readonly string[];
  natives: readonly Native[];
};

/** A history of anything at all, and a turn as it is when nothing went wrong. */
export type Histories = { request: fc.Arbitrary<ModelRequest>; turn: fc.Arbitrary<LLMMessage[]> };

const FOREIGN: Native = { api: "elsewhere", data: { canary: "canary-native" } };

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
const name = fc.constantFrom("look", "clock", "", "9lives", "bad.name", "bad/name", "n".repeat(70), "\ud800");
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
const stamp = { id: fc.uuid(), timestamp: fc.nat() };
const tool = fc.record({ name, description: text, parameters: fc.constant({ type: "object" }) });

/**
 * Histories no chat should have and every codec must take: empty and blank texts, half characters, ids that are too
 * long or met twice, results without calls and calls without results, failed and stopped answers of several models.
 * What must never leave carries the word `canary`.
 */
export function histories(makers: Makers): Histories {
  const message = messages(makers);
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

  return { request, turn: turns(makers) };
}

function messages(makers: Makers): fc.Arbitrary<LLMMessage> {
  const native = fc.constantFrom(undefined, FOREIGN, ...makers.natives);
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
  /** Rare by chance, and a case of its own: nothing is left of it where thinking cannot go back. */
  const thinkingAlone: fc.Arbitrary<LLMMessage> = fc.record({
    role: fc.constant("assistant"),
    contents: fc.constant<AssistantContent[]>([{ type: "thinking", content: "hm", signature: "" }]),
    usage: fc.constant(Usage.none()),
    stopReason: fc.constant("stop"),
    provider: fc.constant(first(makers.providers)),
    api: fc.constant(first(makers.apis)),
    model: fc.constant(first(makers.models)),
    ...stamp,
  });
  return fc.oneof(
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
        provider: fc.constantFrom(...makers.providers),
        api: fc.constantFrom(...makers.apis),
        model: fc.constantFrom(...makers.models),
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
}

function first(words: readonly string[]): string {
  return words[0] ?? "";
}

/** A turn that ended: what people said, and an answer, perhaps by way of tools that all answered. */
function turns(makers: Makers): fc.Arbitrary<LLMMessage[]> {
  return fc
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
        provider: first(makers.providers),
        api: first(makers.apis),
        model: first(makers.models),
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
}
