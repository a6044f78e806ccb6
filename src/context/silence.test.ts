import fc from "fast-check";
import { expect, test } from "vitest";
import { ERASED_SENDER, type MessageRow } from "../message/index.js";
import { encode } from "../provider/call.js";
import { model } from "../provider/model.js";
import { CHAT, type Scene, scene } from "../testing/scene.js";
import { assemble } from "./assemble.js";
import type { Assembled, ContextInput } from "./context.js";
import { summaryRequest } from "./summary.js";
import { materialOf } from "./material.js";

/**
 * Promise 11: what is not for a model is in no request. Everything that must not leave carries a canary, everything
 * that must arrive a mark; no canary is found in what was assembled, in the bodies the vendors would get, or in what
 * a summariser is told, and every mark is.
 */
const RUNS = process.env.LONGHAND_LONG ? 100_000 : 2_000;
const CANARY = "canary-7c1e";
const AT = "2026-11-15T15:00:00Z";

type Step = (chat: Scene, mark: string) => void;

/** As a store leaves an erased message: where it stood, and nothing it said. */
function erase(chat: Scene, row: MessageRow): void {
  const place = chat.path.findIndex(({ message }) => message === row);
  const entry = chat.path[place];
  if (!entry) throw new Error("it is on no path");
  const gone = { ...row, sender: ERASED_SENDER, sender_name: "", content: "", metadata: {}, deleted_at: AT };
  chat.path[place] = { ...entry, message: gone, data: { label: CANARY, erased: AT } };
}

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
  "an edit of what was deleted": (chat) => {
    const row = chat.person("slack:U1", "Olivia", CANARY, { deleted_at: AT });
    chat.edit(row, CANARY);
  },
  "an edit by somebody refused": (chat) => chat.edit(chat.person("slack:U9", CANARY, CANARY), CANARY),
  "a deleted voice": (chat) =>
    chat.person("slack:U1", "Olivia", "", {
      deleted_at: AT,
      attachments: [{ ...attachment(CANARY), state: "transcribed", transcript: CANARY }],
    }),
  erased: (chat) => {
    const row = chat.person("slack:U1", "Olivia", "gone", { metadata: { thread_context: CANARY } });
    erase(chat, row);
  },
  "erased words of a thread": (chat) =>
    chat.person("slack:U2", "Max", "so", { metadata: { thread_context_erased: CANARY } }),
  "an erased summary of a branch": (chat) =>
    chat.entry("branch_summary", { summary: CANARY, covers: [CANARY], erased: AT }),
  "an older summary": (chat) => chat.entry("compaction", { summary: CANARY, first_kept: CANARY, erased: AT }),
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
  voice: (chat, mark) =>
    chat.person("slack:U2", "Max", "listen", {
      attachments: [{ ...attachment("voice.ogg"), reason: null, state: "transcribed", transcript: mark }],
    }),
  "an edit": (chat, mark) =>
    chat.edit(chat.person("slack:U1", "Olivia", "so", { metadata: { extra: CANARY } }), mark),
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

const VENDORS = [
  model({ api: "anthropic", id: "claude-opus-5" }),
  model({ api: "openai-responses", id: "gpt-5" }),
  model({ api: "openai-chat", id: "gpt-4.1" }),
  model({ api: "gemini", id: "gemini-3-pro" }),
  model({ api: "bedrock", id: "anthropic.claude-opus-5" }),
];

test("no canary is ever in what a model sees, and nothing meant for it is missing", () => {
  let turn = 0;
  fc.assert(
    fc.property(story, fc.boolean(), (names, tail) => {
      const chat = scene({ ...CHAT, read: ["slack:U1", "slack:U2"], notices: tail ? "tail" : "system" });
      const marks = names.flatMap((name, index) => {
        const mark = `mark-${index}-of-${name}`;
        (heard[name] ?? silent[name])?.(chat, mark);
        return heard[name] ? [mark] : [];
      });
      const input = chat.input({ notices: [{ id: "n", text: "mark-notice" }] });
      const assembled = assemble(input);
      const seen = written(assembled);
      expect(seen).not.toContain(CANARY);
      for (const mark of [...marks, "mark-notice"]) expect(seen).toContain(mark);
      turn++;
      const vendor = VENDORS[turn % VENDORS.length];
      if (!vendor) throw new Error("there are no vendors");
      const { body } = encode(vendor, assembled);
      expect(body).not.toContain(CANARY);
      for (const mark of [...marks, "mark-notice"]) expect(body).toContain(mark);
      const told = toldToSummariser(input);
      expect(told).not.toContain(CANARY);
      // The operator's rows stay in view and notices pass: a summary stands for neither.
      for (const mark of marks) expect(told.includes(mark), mark).toBe(!mark.endsWith("-of-system"));
    }),
    { numRuns: RUNS },
  );
  console.log(`${RUNS} contexts, no canary in any of them`);
}, 3_600_000);

function written({ system, messages, origins, left_out }: Assembled): string {
  return JSON.stringify({ system, messages, origins: [...origins], left_out });
}

function toldToSummariser(input: ContextInput): string {
  const { system, messages, origins } = summaryRequest({
    kind: "compaction",
    assistantName: CHAT.assistant_name,
    pieces: materialOf(input),
    soFar: null,
    splitsTurn: true,
    stamp: { id: "s", timestamp: 0 },
  });
  return JSON.stringify({ system, messages, origins: [...origins] });
}
