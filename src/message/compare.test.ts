import fc from "fast-check";
import { expect, it, test } from "vitest";
import { type Comparable, changesBetween, compareBlocks } from "./compare.js";

type Kind = Comparable["kind"];

const block = (text: string, sources: string[] = [], kind: Kind = "message"): Comparable => ({
  id: `id of ${text}`,
  kind,
  size: text.length,
  sources: sources.map((id) => ({ type: "message", id })),
  text,
});
const frame = block(",", [], "frame");
const prompt = (text: string): Comparable => ({
  ...block(text, [], "system"),
  sources: [{ type: "prompt", id: "home" }],
});
const told = (before: Comparable[], after: Comparable[]) =>
  changesBetween(before, after).map(({ change, before: from, after: to }) => [change, from?.text, to?.text]);

it.each<[string, Comparable[], Comparable[], unknown[]]>([
  ["nothing", [block("a"), frame, block("b")], [block("a"), block("b"), frame], []],
  ["what was said since", [block("a")], [block("a"), block("b", ["m2"])], [["added", undefined, "b"]]],
  [
    "a prompt that reads differently",
    [prompt("old"), block("a", ["m1"])],
    [prompt("new"), block("a", ["m1"])],
    [["changed", "old", "new"]],
  ],
  [
    "what is gone and what came, in their places",
    [block("a", ["m1"]), block("b", ["m2"]), block("c", ["m3"])],
    [block("a", ["m1"]), block("c", ["m3"]), block("d", ["m4"])],
    [
      ["removed", "b", undefined],
      ["added", undefined, "d"],
    ],
  ],
  [
    "a block that stands elsewhere",
    [block("n", [], "notice"), block("a"), block("b")],
    [block("a"), block("b"), block("n", [], "notice")],
    [["moved", "n", "n"]],
  ],
  ["one of two that read the same", [block("a"), block("a")], [block("a")], [["removed", "a", undefined]]],
])("%s is told", (_, before, after, changes) => {
  expect(told(before, after)).toEqual(changes);
});

test("blocks that are erased are compared by their ids", () => {
  const gone = { ...block("x"), text: null };
  expect(compareBlocks([gone], [gone]).extends).toBe(true);
  expect(told([gone], [{ ...gone, id: "another" }])).toEqual([["changed", null, null]]);
});

test("what was sent before and is sent again behind a difference is what the cache loses", () => {
  const {
    same,
    fresh,
    resent,
    extends: goesOn,
  } = compareBlocks(
    [block("tools"), prompt("old"), block("hello"), block("gone")],
    [block("tools"), prompt("new!"), block("hello"), block("new word")],
  );
  expect({ same, fresh, resent, goesOn }).toEqual({ same: 5, fresh: 17, resent: 5, goesOn: false });
});

const some = fc.array(
  fc.record({ text: fc.constantFrom("a", "b", "c", "d"), source: fc.constantFrom("m1", "m2", "m3") }),
  { maxLength: 12 },
);

test("the changes, made to the earlier request, give the later one", () => {
  fc.assert(
    fc.property(some, some, (first, second) => {
      const before = first.map(({ text, source }) => block(text, [source]));
      const after = second.map(({ text, source }) => block(text, [source]));
      const changes = changesBetween(before, after);
      const gone = new Set(changes.map((change) => change.before));
      const come = new Set(changes.map((change) => change.after));
      const words = (blocks: Comparable[]) => blocks.map(({ text }) => text);
      // What is not told of is the same in both, in the same order; and every block is told of once at most.
      expect(words(before.filter((kept) => !gone.has(kept)))).toEqual(
        words(after.filter((kept) => !come.has(kept))),
      );
      for (const { change, before: from, after: to } of changes) {
        if (change === "moved") expect(from?.text).toBe(to?.text);
        if (change === "changed") expect(from?.text).not.toBe(to?.text);
      }
      const { extends: goesOn, count } = compareBlocks(before, after);
      expect(goesOn).toBe(words(before).every((text, index) => words(after)[index] === text));
      if (goesOn) expect(changes.every(({ change }) => change === "added")).toBe(true);
      expect(words(before).slice(0, count)).toEqual(words(after).slice(0, count));
    }),
    { numRuns: 500 },
  );
});
