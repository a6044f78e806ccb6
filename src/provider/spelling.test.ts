import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AssistantMessage, type LLMMessage, TextContent, ToolCallContent, Usage } from "../message/index.js";
import { histories } from "../testing/histories.js";
import { encode, encodeMemory } from "./call.js";
import type { Model, ModelRequest } from "./codec.js";
import { model } from "./model.js";

// Divisible by 15: fast-check never ends on a fraction of a run.
const RUNS = process.env.LONGHAND_LONG ? 6000 : 150;

const OPENAI = "https://api.openai.com/v1";
const MODELS: readonly Model[] = [
  model({ api: "anthropic", id: "claude-sonnet-4-5" }),
  model({ api: "anthropic", id: "claude-opus-4-8" }),
  model({ api: "openai-chat", id: "gpt-4.1", baseUrl: OPENAI }),
  model({ api: "openai-chat", id: "mistral-large", baseUrl: "https://api.mistral.ai/v1" }),
  model({ api: "openai-responses", id: "gpt-5.1", baseUrl: OPENAI }),
  model({ api: "gemini", id: "gemini-3-flash" }),
  model({
    api: "bedrock",
    id: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    quirks: { midSystem: "system" },
  }),
  model({ api: "bedrock", id: "us.meta.llama3-3-70b-instruct-v1:0" }),
];

const NATIVES = MODELS.map(({ api }) => ({
  api,
  data: {
    at: 0,
    id: "fc_1",
    item: { type: "reasoning", id: "rs_1", summary: [] },
    thoughtSignature: "c2lnbmVk",
  },
}));

const { request } = histories({
  providers: [...new Set(MODELS.map(({ provider }) => provider))],
  apis: [...new Set(MODELS.map(({ api }) => api))],
  models: MODELS.map(({ id }) => id),
  natives: NATIVES,
});

/** What may become of a history between two requests. `at` is a share of its length. */
type Change = { kind: "grow" | "remove" | "edit" | "read again" | "move" | "switch"; at: number };
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom("grow", "grow", "grow", "grow", "remove", "edit", "read again", "move", "switch"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
});
const asked = fc.record({
  thinking: fc.constantFrom("off", "low", undefined),
  tools: fc.boolean(),
  origins: fc.boolean(),
});

/** The messages after a change; `more` are those that still wait to be said. */
function changed(messages: LLMMessage[], { kind, at }: Change, more: LLMMessage[]): LLMMessage[] {
  const place = Math.min(messages.length - 1, Math.floor(at * messages.length));
  const found = messages[place];
  switch (kind) {
    case "grow":
      return [...messages, ...more.splice(0, 1)];
    case "remove":
      return messages.toSpliced(place, 1);
    case "edit":
      return found ? messages.with(place, edited(found)) : messages;
    case "read again":
      return structuredClone(messages);
    case "move":
      return found ? [...messages.toSpliced(place, 1), found] : messages;
    case "switch":
      return messages;
  }
}

/** With other words and the same id. */
function edited(message: LLMMessage): LLMMessage {
  const [first, ...rest] = message.contents;
  if (message.role === "user" && first?.type === "text")
    return {
      ...message,
      contents: [{ ...first, content: `${first.content} (edited)` }, ...message.contents.slice(1)],
    };
  if (message.role === "assistant") return { ...message, stopReason: "aborted" };
  if (message.role === "tool" && first?.type === "tool_result")
    return { ...message, contents: [{ ...first, isError: !first.isError }, ...message.contents.slice(1)] };
  return message.role === "system" && rest.length > 0
    ? { ...message, contents: message.contents.slice(1) }
    : message;
}

/** Each message twice: as the history has it, and as the model's own. */
function ownedBy(on: Model, messages: readonly LLMMessage[]): LLMMessage[] {
  return messages.map((one) =>
    one.role === "assistant" && one.timestamp % 2 === 0
      ? { ...one, provider: on.provider, api: on.api, model: on.id }
      : one,
  );
}

function originsOf(messages: readonly LLMMessage[]): NonNullable<ModelRequest["origins"]> {
  return new Map(
    messages.map(({ id }, at) => [
      id,
      { kind: "message", sources: [{ type: "message", id: `${at % 3}${id}` }] },
    ]),
  );
}

describe.each(MODELS.map((on) => ({ on, name: `${on.api} ${on.id}` })))("$name", ({ on }) => {
  test("says the same with a memory of the chat as without, whatever became of the history", () => {
    fc.assert(
      fc.property(
        request,
        fc.array(fc.tuple(change, asked), { minLength: 8, maxLength: 24 }),
        fc.constantFrom(...MODELS),
        (given, steps, other) => {
          const memory = encodeMemory();
          const more = ownedBy(on, given.messages);
          let messages = more.splice(0, Math.floor(more.length / 3));
          for (const [step, { thinking, tools, origins }] of steps) {
            messages = changed(messages, step, more);
            const next: ModelRequest = {
              ...given,
              messages,
              tools: tools ? (given.tools ?? []) : [],
              ...(thinking ? { thinking } : {}),
              ...(origins ? { origins: originsOf(messages) } : {}),
            };
            const target = step.kind === "switch" ? other : on;
            expect(encode(target, next, memory)).toEqual(encode(target, next));
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("reuses the blocks of what was said before, also when it was read again", () => {
    const memory = encodeMemory();
    const said = (text: string, id: string): LLMMessage => ({
      role: "user",
      id,
      timestamp: 0,
      contents: [TextContent.of(text)],
    });
    const answered = AssistantMessage.of([TextContent.of("Yes."), ToolCallContent.of("t1", "look")], {
      id: "a1",
      provider: on.provider,
      api: on.api,
      model: on.id,
      usage: Usage.none(),
      stopReason: "tool_use",
    });
    const first = [said("[Ann]: hello", "u1"), answered, said("[Bob]: and I", "u2")];
    const before = encode(on, { messages: first }, memory);
    const again = encode(on, { messages: [...structuredClone(first), said("[Ann]: bye", "u3")] }, memory);
    const old = before.blocks.filter((block) => block.kind === "message");
    const reused = old.filter((block) => again.blocks.includes(block));
    expect(old.length).toBeGreaterThan(2);
    expect(reused).toEqual(old);
    expect(again.body).toContain("[Ann]: bye");
  });
});

test("a result that comes late changes its call and what follows it, and nothing before", () => {
  const [on] = MODELS;
  if (!on) throw new Error("no model");
  const memory = encodeMemory();
  const user = (id: string): LLMMessage => ({
    role: "user",
    id,
    timestamp: 0,
    contents: [TextContent.of(`[Ann]: ${id}`)],
  });
  const asking = AssistantMessage.of([ToolCallContent.of("t1", "look")], {
    id: "a1",
    provider: "elsewhere",
    api: "elsewhere",
    model: "elsewhere",
    usage: Usage.none(),
    stopReason: "tool_use",
  });
  const late: LLMMessage = {
    role: "tool",
    id: "r1",
    timestamp: 0,
    contents: [
      { type: "tool_result", id: "t1", content: "seen", isError: false, metadata: {}, terminate: false },
    ],
  };
  const before = encode(on, { messages: [user("u1"), asking, user("u2")] }, memory);
  const next = { messages: [user("u1"), asking, user("u2"), late] };
  const after = encode(on, next, memory);
  expect(after).toEqual(encode(on, next));
  expect(after.body).toContain('"content":"seen"');
  const [opening] = before.blocks.filter((block) => block.kind === "message");
  expect(after.blocks.filter((block) => block.kind === "message")[0]).toBe(opening);
  const gone = { messages: [user("u1"), asking, user("u2")] };
  expect(encode(on, gone, memory)).toEqual(encode(on, gone));
});

test("an item's id is free again when what bore it is gone", () => {
  const on = model({ api: "openai-responses", id: "gpt-5.1", baseUrl: OPENAI });
  const memory = encodeMemory();
  const answer = (id: string): LLMMessage =>
    AssistantMessage.of(
      [{ type: "text", content: "Hi.", native: { api: on.api, data: { at: 0, id: "msg_1" } } }],
      {
        id,
        provider: on.provider,
        api: on.api,
        model: on.id,
        usage: Usage.none(),
        stopReason: "stop",
        timestamp: 0,
      },
    );
  const before = encode(on, { messages: [answer("a1"), answer("a2")] }, memory);
  const after = encode(on, { messages: [answer("a2")] }, memory);
  expect(before.body.match(/"id":"msg_1"/g)).toHaveLength(1);
  expect(after.body).toContain('"id":"msg_1"');
  expect(after).toEqual(encode(on, { messages: [answer("a2")] }));
});

test("a picture that is a file is read again for every request", async () => {
  const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const folder = mkdtempSync(join(tmpdir(), "longhand-spelling-"));
  const path = join(folder, "picture.png");
  const png = (last: number) => Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, last);
  try {
    const memory = encodeMemory();
    const on = model({ api: "openai-chat", id: "gpt-4.1", baseUrl: OPENAI });
    const shown: LLMMessage = {
      role: "user",
      id: "u1",
      timestamp: 0,
      contents: [{ type: "image", images: [`file:${path}`] }],
    };
    writeFileSync(path, png(1));
    const before = encode(on, { messages: [shown] }, memory);
    writeFileSync(path, png(2));
    const after = encode(on, { messages: [shown] }, memory);
    expect(after.body).not.toBe(before.body);
    expect(after).toEqual(encode(on, { messages: [shown] }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
