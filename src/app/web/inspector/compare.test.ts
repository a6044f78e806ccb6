import { expect, test } from "vitest";
import type { Block } from "../../../message/receipt.js";
import { compare } from "./compare.js";
import { seenOfPreview } from "./seen.js";

type Piece = [kind: Block["kind"], text: string];

const request = (...pieces: Piece[]) =>
  seenOfPreview({
    blocks: pieces.map(([kind, text]) => ({
      id: text,
      kind,
      size: new TextEncoder().encode(text).length,
      sources: [],
    })),
    left_out: [],
    body: pieces.map(([, text]) => text).join(""),
  });
const message = (content: string, more: object = {}): Piece => [
  "message",
  JSON.stringify({ role: "user", content: [{ type: "text", text: content, ...more }] }),
];
const prompt: Piece = ["system", "You are kind."];
const before = request(prompt, ["frame", "["], message("one"), ["frame", "]}"]);

test("the next request only goes on where the last one closed", () => {
  const seen = request(prompt, ["frame", "["], message("one"), ["frame", ","], message("two"), [
    "frame",
    "]}",
  ]);
  const { extends: goesOn, first, same, fresh } = compare(before, seen);
  expect(goesOn).toBe(true);
  expect(first?.text).toBe(message("two")[1]);
  expect([same, fresh]).toEqual([prompt[1].length + message("one")[1].length, message("two")[1].length]);
});

test("a changed prompt parts them at once, whatever follows", () => {
  const seen = request(["system", "You are stern."], ["frame", "["], message("one"), ["frame", "]}"]);
  expect(compare(before, seen)).toMatchObject({ extends: false, same: 0, first: { kind: "system" } });
});

test("a request is like itself", () => {
  expect(compare(before, before)).toMatchObject({ extends: true, first: null, fresh: 0 });
});

test("a shorter request does not go on", () => {
  expect(compare(before, request(prompt))).toMatchObject({ extends: false, first: null });
});

test("a cache marker that moved is no difference", () => {
  const marked = request(prompt, ["frame", "["], message("one", { cache_control: { type: "ephemeral" } }), [
    "frame",
    "]}",
  ]);
  expect(compare(marked, before)).toMatchObject({ extends: true, first: null });
});
