import fc from "fast-check";
import { expect, test } from "vitest";
import { assemble } from "./assemble.js";
import type { Assembled } from "./context.js";
import { CHAT, type Scene, scene } from "../testing/scene.js";

/**
 * Promise 11: what is not for a model is in no request. Everything that must not leave carries a canary, everything
 * that must arrive a mark; after assembly no canary is found, and every mark is.
 */
const RUNS = process.env.LONGHAND_LONG ? 100_000 : 3_000;
const CANARY = "canary-7c1e";
const AT = "2026-11-15T15:00:00Z";

type Step = (chat: Scene, mark: string) => void;
const attachment = (name: string) => ({
  name,
  mime_type: "text/plain",
  size: 1,
  sha256: CANARY,
  state: "delivered" as const,
  reason: CANARY,
  url: CANARY,
});

/** Rows and entries no model may see. */
const silent: Record<string, Step> = {
  host: (chat) => chat.own("host", "host", CANARY, { metadata: { why: CANARY } }),
  "result meta": (chat) => chat.own("result_meta", "host", CANARY, { metadata: { cost: CANARY } }),
  "a host row signed by us": (chat) => chat.own("bot", "host", CANARY),
  "a system row with the wrong type": (chat) => chat.own("system", "user", CANARY),
  "an unknown sender typed as system": (chat) => chat.own("slack:U1", "system", CANARY),
  custom: (chat) => chat.entry("custom", { custom_type: CANARY, content: CANARY, extra: CANARY }),
  "a model change": (chat) => chat.entry("model_change", { model: CANARY }),
  deleted: (chat) =>
    chat.person("slack:U1", CANARY, CANARY, {
      deleted_at: AT,
      metadata: { thread_context: CANARY },
      attachments: [attachment(CANARY)],
    }),
  "deleted context": (chat) => chat.own("system", "system", CANARY, { deleted_at: AT }),
  "deleted output": (chat) => chat.own("command_output", "tool_result", CANARY, { deleted_at: AT }),
  "deleted answer": (chat) => {
    for (const row of chat.answer([{ sender: "bot", content: CANARY }])) row.deleted_at = AT;
  },
  refused: (chat) => chat.person("slack:U9", CANARY, CANARY, { metadata: { thread_context: CANARY } }),
  "a failed answer": (chat) => {
    chat.answer(
      [
        { sender: "bot", content: CANARY },
        { sender: "tool_use", id: "t", name: CANARY, args: { a: CANARY } },
      ],
      { status: "error", stop_reason: "error", error: CANARY },
    );
    chat.result("t", CANARY);
  },
  "an answer that was cut": (chat) =>
    chat.answer([{ sender: "bot", content: CANARY }], { status: "cut", stop_reason: "error" }),
  "a call that never ended": (chat) =>
    chat.answer([{ sender: "bot", content: CANARY }], { status: "running", stop_reason: null }),
  "a result without a call": (chat) => chat.result("nowhere", CANARY),
};

/** Rows a model sees, with things about them that it does not. */
const heard: Record<string, Step> = {
  person: (chat, mark) =>
    chat.person("slack:U1", "Olivia", mark, {
      metadata: {
        external_message_id: CANARY,
        token: CANARY,
        reply_to: CANARY,
        mention_token: CANARY,
        extra: { a: CANARY },
      },
    }),
  thread: (chat, mark) =>
    chat.person("slack:U2", "Max", "so", { metadata: { thread_context: mark, extra: CANARY } }),
  system: (chat, mark) => chat.own("system", "system", mark, { metadata: { by: CANARY } }),
  command: (chat, mark) =>
    chat.own("command_output", "tool_result", mark, { metadata: { exit_code: 1, env: CANARY } }),
  tool: (chat, mark) => {
    chat.answer([{ sender: "tool_use", id: "t", name: "look", args: { mark } }], { request_sha256: CANARY });
    chat.result("t", mark, {
      metadata: { metadata: { secret: CANARY }, terminate: true, exit_code: 0, extra: CANARY },
    });
  },
  stopped: (chat, mark) => {
    chat.answer(
      [
        { sender: "bot", content: mark },
        { sender: "tool_use", id: "unanswered", name: CANARY, args: { a: CANARY } },
        { sender: "thinking", content: CANARY },
      ],
      { status: "aborted", stop_reason: "aborted" },
    );
  },
  "a deleted result": (chat, mark) => {
    chat.answer([{ sender: "tool_use", id: "t", name: "look", args: { mark } }]);
    chat.result("t", CANARY, { deleted_at: AT });
  },
  branch: (chat, mark) => chat.entry("branch_summary", { summary: mark, covers: [CANARY] }),
};

const step = (steps: Record<string, Step>) => fc.constantFrom(...Object.keys(steps));
const story = fc.array(fc.oneof(step(silent), step(heard)), { minLength: 1, maxLength: 12 });

test("no canary is ever in what a model sees, and nothing meant for it is missing", () => {
  fc.assert(
    fc.property(story, fc.boolean(), (names, tail) => {
      const chat = scene({ ...CHAT, read: ["slack:U1", "slack:U2"], notices: tail ? "tail" : "system" });
      const marks = names.flatMap((name, index) => {
        const mark = `mark-${index}-of-${name}`;
        (heard[name] ?? silent[name])?.(chat, mark);
        return heard[name] ? [mark] : [];
      });
      const seen = written(assemble(chat.input({ notices: [{ id: "n", text: "mark-notice" }] })));
      expect(seen).not.toContain(CANARY);
      for (const mark of [...marks, "mark-notice"]) expect(seen).toContain(mark);
    }),
    { numRuns: RUNS },
  );
  console.log(`${RUNS} contexts, no canary in any of them`);
}, 3_600_000);

function written({ system, messages, origins, left_out }: Assembled): string {
  return JSON.stringify({ system, messages, origins: [...origins], left_out });
}
