import { expect, test } from "vitest";
import type { MessageRow, Outcome } from "../../message/index.js";
import { answersFurtherUp, isWaiting, pendingOutcome } from "./answering.js";
import { layOut } from "./layout.js";
import { QUIET } from "./live.js";

const row = (id: string, seq: number, more: Partial<MessageRow> = {}): MessageRow => ({
  id,
  chat_jid: "home",
  seq,
  sender: "web:me",
  sender_name: "Me",
  content: id,
  timestamp: "2026-11-15T09:00:00Z",
  is_from_me: false,
  message_type: "user",
  metadata: { source: "web" },
  turn_id: null,
  call_id: null,
  part: null,
  attachments: [],
  revision: 0,
  edited_at: null,
  deleted_at: null,
  ...more,
});
const answer = (id: string, seq: number, turn_id: string): MessageRow =>
  row(id, seq, { sender: "bot", message_type: "assistant", is_from_me: true, turn_id });
const became = (message_id: string, turn_id: string, trace_id = message_id): Outcome => ({
  ...pendingOutcome(message_id),
  outcome: trace_id === message_id ? "answered" : "steered",
  turn_id,
  trace_id,
});
const further = (rows: MessageRow[], outcomes: Outcome[]): [string, string][] => {
  const known = Object.fromEntries(outcomes.map((outcome) => [outcome.message_id, outcome]));
  return [...answersFurtherUp(layOut(rows), known)].map(([key, question]) => [key, question.id]);
};

test("an answer right below its question does not repeat it", () => {
  expect(further([row("q", 1), answer("a", 2, "t")], [became("q", "t")])).toEqual([]);
});

test("an answer below other people's words says to what it is", () => {
  const rows = [row("q", 1), row("r", 2), answer("a", 3, "t"), answer("b", 4, "u")];
  expect(further(rows, [became("q", "t"), became("r", "u")])).toEqual([["a", "q"]]);
});

test("what joined a turn is answered by it as well", () => {
  const rows = [row("q", 1), answer("a", 2, "t"), row("joined", 3), answer("b", 4, "t")];
  expect(further(rows, [became("q", "t"), became("joined", "t", "q")])).toEqual([]);
});

test("a message waits while another is answered; what is answered does not, nor does anything in a quiet chat", () => {
  const live = { ...QUIET, turns: ["t"], asked: { t: "q" } };
  expect(isWaiting(live, row("r", 2), pendingOutcome("r"))).toBe(true);
  expect(isWaiting(live, row("q", 1), pendingOutcome("q"))).toBe(false);
  expect(isWaiting(live, row("r", 2), became("r", "u"))).toBe(false);
  expect(isWaiting(QUIET, row("r", 2), pendingOutcome("r"))).toBe(false);
});

test("where it is not known what is being answered, nothing is said to wait", () => {
  expect(isWaiting({ ...QUIET, turns: ["t"] }, row("r", 2), pendingOutcome("r"))).toBe(false);
  expect(isWaiting({ ...QUIET, turns: ["t"], asked: { t: "q" } }, row("r", 2), null)).toBe(false);
});
