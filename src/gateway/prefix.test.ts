import { expect, test } from "vitest";
import { readPrefix } from "./prefix.js";

test.each([
  ["btw the red one", "btw"],
  ["BTW the red one", "btw"],
  [" Btw\nthe red one", "btw"],
  ["todo buy milk", "todo"],
  ["ToDo buy milk", "todo"],
  ["todos", null],
  ["todo", null],
  ["todo: buy milk", null],
  ["btwx", null],
  ["by the way", null],
  ["the todo list", null],
  ["", null],
])("%j is placed by %j", (words, prefix) => {
  expect(readPrefix(words)).toBe(prefix);
});
