import { expect, test } from "vitest";
import type { Block, Call } from "../../../message/receipt.js";
import { seenOfCall, seenOfPreview, sha256 } from "./seen.js";
import { wordingOf } from "./wording.js";

const read = (value: unknown): string[] => {
  const { role, passages } = wordingOf("message", JSON.stringify(value));
  return [role ?? "-", ...passages.map(({ hand, text }) => `${hand}: ${text}`)];
};

test("what a person said reads as they said it, in every API's spelling", () => {
  const said = ["user", "words: [Ash]: hi\nthere"];
  expect(read({ role: "user", content: "[Ash]: hi\nthere" })).toEqual(said);
  expect(read({ role: "user", content: [{ type: "text", text: "[Ash]: hi\nthere" }] })).toEqual(said);
  expect(
    read({ type: "message", role: "user", content: [{ type: "input_text", text: "[Ash]: hi\nthere" }] }),
  ).toEqual(said);
  expect(read({ role: "user", parts: [{ text: "[Ash]: hi\nthere" }] })).toEqual(said);
  const told = {
    role: "user",
    id: "m",
    timestamp: 1,
    contents: [{ type: "text", content: "[Ash]: hi\nthere" }],
  };
  expect(read(told)).toEqual(said);
});

test("thoughts and tool calls are told apart, in every API's spelling", () => {
  const said = ["thinking: hm", 'tool: clock {"zone":"UTC"}'];
  const input = { zone: "UTC" };
  const text = JSON.stringify(input);
  const contents = [
    { type: "thinking", content: "hm", signature: "s" },
    { type: "tool_call", id: "1", name: "clock", args: input },
  ];
  expect(read({ role: "assistant", contents })).toEqual(["assistant", ...said]);
  expect(
    read({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "tool_use", id: "1", name: "clock", input },
      ],
    }),
  ).toEqual(["assistant", ...said]);
  expect(
    read({
      role: "assistant",
      content: null,
      reasoning_content: "hm",
      tool_calls: [{ id: "1", type: "function", function: { name: "clock", arguments: text } }],
    }),
  ).toEqual(["assistant", ...said]);
  expect(
    read({
      role: "assistant",
      content: "",
      reasoning_details: [{ type: "reasoning.text", text: "hm" }],
      tool_calls: [{ function: { name: "clock", arguments: text } }],
    }),
  ).toEqual(["assistant", said[0], "words: ", said[1]]);
  expect(
    read({
      role: "model",
      parts: [{ text: "hm", thought: true }, { functionCall: { name: "clock", args: input } }],
    }),
  ).toEqual(["model", ...said]);
  expect(read({ type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] })).toEqual([
    "-",
    said[0],
  ]);
  expect(read({ type: "function_call", call_id: "1", name: "clock", arguments: text })).toEqual([
    "-",
    said[1],
  ]);
});

test("what a tool answered is a tool's, in every API's spelling", () => {
  expect(
    read({ role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "noon" }] }),
  ).toEqual(["user", "tool: noon"]);
  expect(
    read({ role: "user", content: [{ type: "tool_result", content: [{ type: "text", text: "noon" }] }] }),
  ).toEqual(["user", "tool: noon"]);
  expect(read({ type: "function_call_output", call_id: "1", output: "noon" })).toEqual(["-", "tool: noon"]);
  expect(
    read({ role: "user", content: [{ toolResult: { toolUseId: "1", content: [{ text: "noon" }] } }] }),
  ).toEqual(["user", "tool: noon"]);
});

test("what is not recognised is shown, never left out", () => {
  expect(read({ role: "user", content: "hi", surprise: "later" })).toEqual([
    "user",
    "words: hi",
    'machine: surprise: "later"',
  ]);
  expect(read({ role: "user", content: [{ type: "hologram", beam: 7 }] }).join()).toContain("hologram");
  expect(wordingOf("message", "not json").passages).toEqual([{ hand: "machine", text: "not json" }]);
});

test("the system prompt is read out of the JSON string it stands in", () => {
  const text = 'He said "no".\nTab\tand ü.';
  expect(wordingOf("system", JSON.stringify(text).slice(1, -1)).passages).toEqual([{ hand: "words", text }]);
  // A fragment that ends inside an escape is shown as it is.
  expect(wordingOf("notice", "half\\").passages).toEqual([{ hand: "words", text: "half\\" }]);
});

test("a tool is listed with its purpose, alone or in a list", () => {
  const tool = { name: "clock", description: "Tells the time", input_schema: { type: "object" } };
  const line = 'clock: Tells the time\n{"input_schema":{"type":"object"}}';
  expect(wordingOf("tools", JSON.stringify([tool])).passages[0]?.text).toBe(line);
  expect(wordingOf("tools", JSON.stringify({ type: "function", function: tool })).passages[0]?.text).toBe(
    line,
  );
});

const block = (size: number): Block => ({ id: `b${size}`, kind: "message", size, sources: [] });

test("blocks are cut by bytes, not by letters", () => {
  const body = "{ü🥞}ok";
  const seen = seenOfPreview({ blocks: [block(1), block(2), block(4), block(3)], left_out: [], body });
  expect(seen.blocks.map(({ text }) => text)).toEqual(["{", "ü", "🥞", "}ok"]);
  expect(seen.covers).toBe(true);
});

test("blocks that do not add up are said not to", () => {
  expect(seenOfPreview({ blocks: [block(2)], left_out: [], body: "abc" }).covers).toBe(false);
});

test("a request whose words are gone still has its receipt", () => {
  const call = { blocks: [block(2)], left_out: [] as Call["left_out"] } as Call;
  expect(seenOfCall(call, null, "erased")).toMatchObject({
    gone: "erased",
    covers: true,
    blocks: [{ text: "" }],
  });
});

test("the fingerprint is the one everybody else computes", async () => {
  const known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  expect(await sha256(new TextEncoder().encode("abc"))).toBe(known);
});
