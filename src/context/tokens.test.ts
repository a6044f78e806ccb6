import { describe, expect, test } from "vitest";
import type { CallEnvelope } from "../message/index.js";
import { type Scene, scene } from "../testing/scene.js";
import { assemble } from "./assemble.js";
import { estimateTokens, filledTokens } from "./tokens.js";

const DEMO = { provider: "demo", id: "demo" };
const WORDS = "word ".repeat(200);

function usage(input_tokens: number, cache_read_tokens = 0): Pick<CallEnvelope, "usage"> {
  const counts = { input_tokens, cache_read_tokens, cache_write_tokens: 0, output_tokens: 10 };
  return { usage: { ...counts, reasoning_tokens: null } };
}

/** Somebody asked, the model answered and was told what that took, and somebody goes on. */
function conversation(told: Partial<CallEnvelope>): Scene {
  const chat = scene();
  chat.person("slack:U1", "Olivia", WORDS);
  chat.answer([{ sender: "bot", content: "Fine." }], told);
  chat.person("slack:U1", "Olivia", WORDS);
  return chat;
}

function filled(chat: Scene, model = DEMO) {
  const { system, messages } = assemble(chat.input());
  return filledTokens({ system, messages, tools: [] }, chat.path, chat.calls, model);
}

describe("how much of its window a request fills", () => {
  const estimated = filled(conversation({}));

  test("is estimated where nobody has counted yet", () => {
    expect(estimated.correction).toBe(1);
    expect(estimated.tokens).toBeGreaterThan(2 * estimateTokens(WORDS));
  });

  test("is what the last call was told, and an estimate of what came after, in the same measure", () => {
    const { tokens, correction } = filled(conversation(usage(1000, 2000)));
    expect(correction).toBeGreaterThan(2);
    expect(tokens).toBeGreaterThan(3000 + estimateTokens(WORDS) * correction);
  });

  test("is not believed of a server that counts next to nothing", () => {
    expect(filled(conversation(usage(3)))).toEqual(estimated);
  });

  test("is estimated anew for another model, and where the call failed", () => {
    const told = usage(1000, 2000);
    expect(filled(conversation(told), { ...DEMO, id: "other" })).toEqual(estimated);
    expect(filled(conversation({ ...told, status: "error" })).correction).toBe(1);
  });

  test("is estimated anew after a compaction: the call before it was asked with more", () => {
    const chat = conversation(usage(1000, 2000));
    const [first] = chat.path;
    const compaction = chat.entry("compaction", {
      summary: "They said words.",
      first_kept: first?.id,
      last_kept: chat.path.at(-1)?.id,
    });
    chat.path.unshift(...chat.path.splice(chat.path.indexOf(compaction), 1));
    expect(filled(chat).correction).toBe(1);
  });
});
