import { expect, test } from "vitest";
import type { MessageRow } from "../../message/row.js";
import { layOut, nameOf } from "./layout.js";

let seq = 0;
const row = (sender: string, fields: Partial<MessageRow> = {}): MessageRow => ({
  id: `m${++seq}`,
  chat_jid: "home",
  seq,
  sender,
  sender_name: sender,
  content: "",
  timestamp: "2026-11-15T09:00:00",
  is_from_me: true,
  message_type: "assistant",
  metadata: {},
  turn_id: "t1",
  call_id: null,
  part: null,
  attachments: [],
  revision: 0,
  edited_at: null,
  deleted_at: null,
  ...fields,
});
const person = (name: string, fields: Partial<MessageRow> = {}): MessageRow =>
  row(`slack:${name}`, {
    message_type: "user",
    turn_id: null,
    metadata: { source: "slack", sender_display_name: name },
    ...fields,
  });
const host = (): MessageRow => row("host", { message_type: "host", turn_id: null });
const call = (id: string, fields: Partial<MessageRow> = {}): MessageRow =>
  row("tool_use", { metadata: { tool_use_id: id }, ...fields });
const result = (id: string, fields: Partial<MessageRow> = {}): MessageRow =>
  row("tool_result", { message_type: "tool_result", metadata: { tool_use_id: id }, ...fields });

const names = (rows: MessageRow[]): string[] =>
  layOut(rows).flatMap((item) => (item.type === "row" && item.named ? [item.row.sender] : []));

test("one who goes on speaking is named once; after a pause, again", () => {
  const late = { timestamp: "2026-11-15T09:30:00" };
  expect(names([person("a"), person("a"), person("b"), person("a"), person("a", late)])).toEqual([
    "slack:a",
    "slack:b",
    "slack:a",
    "slack:a",
  ]);
});

test("the same person on another surface, or under another name, is named again", () => {
  const elsewhere = { metadata: { source: "web", sender_display_name: "a" } };
  const renamed = { metadata: { source: "slack", sender_display_name: "A." } };
  expect(names([person("a"), person("a", elsewhere), person("a", renamed)])).toHaveLength(3);
});

test("a turn of the assistant is one speech with its thoughts and tools; the next turn is another", () => {
  const turn = [row("thinking"), call("u"), result("u"), row("bot")];
  expect(names([person("a"), ...turn, row("bot", { turn_id: "t2" })])).toEqual([
    "slack:a",
    "thinking",
    "bot",
  ]);
});

test("a host note does not interrupt whoever speaks; a system message does", () => {
  expect(names([person("a"), host(), person("a")])).toEqual(["slack:a"]);
  const system = row("system", { message_type: "system", turn_id: null });
  expect(names([person("a"), system, person("a")])).toEqual(["slack:a", "slack:a"]);
});

test("a tool's result stands in the line of its call, also when another call lies between", () => {
  const [one, two] = [call("u1"), call("u2")];
  const [second, first] = [result("u2"), result("u1")];
  const items = layOut([one, two, second, first]).filter((item) => item.type === "row");
  expect(items.map((item) => [item.row.id, item.result?.id])).toEqual([
    [one.id, first.id],
    [two.id, second.id],
  ]);
});

test("a result whose call is not on the page is shown by itself", () => {
  expect(layOut([result("u9")]).filter((item) => item.type === "row")).toHaveLength(1);
});

test("equal tool ids of two turns are not mixed up", () => {
  const later = { turn_id: "t2" };
  const rows = [call("0"), result("0"), call("0", later), result("0", later)];
  const items = layOut(rows).filter((item) => item.type === "row");
  expect(items.map((item) => item.result?.turn_id)).toEqual(["t1", "t2"]);
});

test("a new day is marked, and whoever speaks in it is named", () => {
  const rows = [person("a"), person("a", { timestamp: "2026-11-16T00:01:00" })];
  expect(layOut(rows).map((item) => item.type)).toEqual(["day", "row", "day", "row"]);
  expect(names(rows)).toHaveLength(2);
});

test("every row has a key of its own", () => {
  const answer = { call_id: "c", part: 0 };
  const rows = [
    row("thinking", answer),
    row("bot", { ...answer, part: 1 }),
    result("u", answer),
    person("a"),
    host(),
  ];
  const keys = layOut(rows).map((item) => item.key);
  expect(new Set(keys).size).toBe(keys.length);
});

test("people are called what they call themselves; without a name, by their id", () => {
  expect(nameOf(person("Olivia"))).toBe("Olivia");
  expect(nameOf(person("x", { metadata: { sender_display_name: "  " }, sender_name: "" }))).toBe("slack:x");
});
