import fc from "fast-check";
import { expect, test } from "vitest";
import { readToolArguments } from "./toolArguments.js";

test.each([
  ['{"a":1}', { a: 1 }],
  ["", {}],
  ["  ", {}],
  ["null", {}],
  ['"{\\"a\\":1}"', { a: 1 }],
])("arguments written as %s are read as they stand", (text, args) => {
  expect(readToolArguments(text)).toEqual({ args, how: "strict" });
});

test.each([
  ["a missing brace", '{"a":"x"', { a: "x" }],
  ["missing brackets", '{"a":[{"b":true', { a: [{ b: true }] }],
  ["a brace too many", '{"a":1}}', { a: 1 }],
  ["a trailing comma", '{"a":[1,2,],}', { a: [1, 2] }],
  ["a raw line break in a string", '{"a":"x\ny\tz"}', { a: "x\ny\tz" }],
  ["an unknown escape", '{"a":"\\d+ C:\\Users"}', { a: "\\d+ C:\\Users" }],
  ["a code fence", '```json\n{"a":1}\n```', { a: 1 }],
  ["an empty object before the real one", '{}{"a":1}', { a: 1 }],
])("%s is repaired", (_, text, args) => {
  expect(readToolArguments(text)).toEqual({ args, how: "repaired" });
});

test.each([
  ["half a string", '{"path":"/home/us'],
  ["half a number", '{"n":12'],
  ["more was to come", '{"a":1,'],
  ["nothing but an opening", "{"],
  ["a key without its value", '{"a":'],
  ["a list", "[1,2]"],
  ["a number", "12"],
  ["prose", "I would like to call it with a=1"],
  ["crossed brackets", '{"a":[1}'],
])("%s is not guessed at", (_, text) => {
  expect(readToolArguments(text)).toEqual({ args: {}, how: "unparsed" });
});

test("whatever a model writes, the arguments are an object", () => {
  const writings = fc.oneof(
    fc.string(),
    fc.json().chain((json) => fc.nat(json.length).map((at) => json.slice(0, at))),
  );
  fc.assert(
    fc.property(writings, (text) => {
      const { args, how } = readToolArguments(text);
      expect(Object.prototype.toString.call(args)).toBe("[object Object]");
      if (how === "unparsed") expect(args).toEqual({});
    }),
    { numRuns: 3000 },
  );
});

test("what breaks off never runs with half a text or half a number in it", () => {
  const whole = { path: "/home/user/notes", count: 1234, list: ["alpha", "beta"], deep: { on: true } };
  const json = JSON.stringify(whole);
  const values = new Set(["/home/user/notes", 1234, "alpha", "beta", true]);
  for (let at = 0; at < json.length; at++) {
    const { args } = readToolArguments(json.slice(0, at));
    for (const leaf of leaves(args)) expect(values).toContain(leaf);
  }
});

function leaves(value: unknown): unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];
}
