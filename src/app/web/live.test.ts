import { expect, test } from "vitest";
import type { MessageRow } from "../../message/row.js";
import type { StreamEvent } from "../client/index.js";
import { layOut } from "./layout.js";
import { hear, type Live, QUIET, rowsBeingWritten } from "./live.js";

const told = { chat_jid: "home", at: "2026-11-15T09:00:00Z" };
const started = (turn_id: string): StreamEvent => ({
  type: "turn.started",
  ...told,
  turn_id,
  trigger_id: "q",
});
const ended = (turn_id: string): StreamEvent => ({ type: "turn.ended", ...told, turn_id, status: "ended" });
const delta = (call_id: string, part: number, text: string, turn_id = "t"): StreamEvent => ({
  type: "turn.delta",
  ...told,
  turn_id,
  call_id,
  part,
  kind: part === 0 ? "thinking" : "text",
  delta: text,
});
const stored = (fields: Partial<MessageRow>): StreamEvent => ({
  type: "message",
  ...told,
  message: {
    id: "m",
    chat_jid: "home",
    seq: 1,
    sender: "bot",
    sender_name: "Longhand",
    content: "",
    timestamp: told.at,
    is_from_me: true,
    message_type: "assistant",
    metadata: {},
    turn_id: "t",
    call_id: "c",
    part: 0,
    attachments: [],
    revision: 0,
    edited_at: null,
    deleted_at: null,
    ...fields,
  },
});
const listen = (events: StreamEvent[], from: Live = QUIET): Live => events.reduce(hear, from);
const shown = (live: Live): string[] =>
  rowsBeingWritten(live, "home", "L").map((row) => `${row.sender} ${row.content}`);

test("an answer grows word by word, thoughts before text", () => {
  const live = listen([started("t"), delta("c", 1, "Hel"), delta("c", 0, "hm"), delta("c", 1, "lo")]);
  expect(shown(live)).toEqual(["thinking hm", "bot Hello"]);
});

test("stored rows take the place of what was streamed, one by one, and nothing is shown twice", () => {
  let live = listen([started("t"), delta("c", 0, "hm"), delta("c", 1, "Hello")]);
  live = hear(live, stored({ part: 0, sender: "thinking" }));
  expect(shown(live)).toEqual(["bot Hello"]);
  live = hear(live, stored({ part: 1 }));
  expect(shown(live)).toEqual([]);
});

test("a late word after its row is stored is not shown again", () => {
  const live = listen([started("t"), delta("c", 1, "Hello"), stored({ part: 1 }), delta("c", 1, "!")]);
  expect(shown(live)).toEqual([]);
});

test("what no row takes over is cleared by the next step of the turn", () => {
  const live = listen([started("t"), delta("c", 0, "hm"), delta("c", 1, "Let me look"), stored({ part: 0 })]);
  expect(shown(live)).toEqual(["bot Let me look"]);
  const result = stored({ sender: "tool_result", message_type: "tool_result", part: 0 });
  expect(shown(hear(live, result))).toEqual([]);
});

test("a tool's result does not take away the thought of the call it answers", () => {
  const result = stored({ sender: "tool_result", message_type: "tool_result", call_id: "c", part: 0 });
  expect(shown(listen([started("t"), delta("c", 0, "hm"), result]))).toEqual(["thinking hm"]);
});

test("whoever joins late reads the answer from its first word", () => {
  const snapshot: StreamEvent = {
    type: "turn.snapshot",
    ...told,
    turn_id: "t",
    call_id: "c",
    parts: [{ part: 1, type: "text", content: "Hel" }],
  };
  // After a reconnect the server tells the words first and replays older turns, and the start of this one, after.
  const live = listen([snapshot, started("older"), ended("older"), started("t"), delta("c", 1, "lo")]);
  expect(shown(live)).toEqual(["bot Hello"]);
  expect(live.turns).toEqual(["t"]);
});

test("two threads may answer at once, and each ends by itself", () => {
  const live = listen([
    started("a"),
    started("b"),
    delta("x", 1, "one", "a"),
    delta("y", 1, "two", "b"),
    ended("a"),
  ]);
  expect(shown(live)).toEqual(["bot two"]);
  expect(listen([ended("b")], live)).toEqual(QUIET);
});

test("the row that takes over has the key of what was streamed, so that the page does not move", () => {
  const live = listen([started("t"), delta("c", 1, "Hello")]);
  const event = stored({ part: 1 });
  const row = event.type === "message" ? event.message : null;
  const keys = (rows: MessageRow[]): string[] =>
    layOut(rows).flatMap((item) => (item.type === "row" ? [item.key] : []));
  expect(keys(rowsBeingWritten(live, "home", "L"))).toEqual(keys(row ? [row] : []));
});

test("a quiet chat stays quiet when somebody speaks", () => {
  expect(hear(QUIET, stored({ turn_id: null, call_id: null, part: null, message_type: "user" }))).toBe(QUIET);
});
