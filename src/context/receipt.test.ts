import { describe, expect, test } from "vitest";
import type { Block, BlockKind } from "../message/index.js";
import { blockId, firstBreak, shareBlocks, sharedEntries } from "./receipt.js";

const block = (id: string, kind: BlockKind = "message", type = "message"): Block => ({
  id,
  kind,
  size: 10,
  sources: kind === "frame" ? [] : [{ type, id: id.split("/")[0] ?? id }],
});
/** A request as a codec lays it out: parameters, tools, prompt, then messages, with the JSON between. */
const request = (
  messages: Block[],
  { params = "p", tools = "t", system = "s", notices = [] as string[] } = {},
): Block[] => [
  block("{", "frame"),
  block(params, "params"),
  block(tools, "tools"),
  block(system, "system", "prompt"),
  ...notices.map((id) => block(id, "notice", "notice")),
  block(",", "frame"),
  ...messages.flatMap((message) => [block(",", "frame"), message]),
  block("]}", "frame"),
];

test("a block's address tells nothing without the chat's key", () => {
  const key = new Uint8Array(32).fill(1);
  expect(blockId(key, "yes")).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(blockId(key, "yes")).toBe(blockId(key, new TextEncoder().encode("yes")));
  expect(blockId(key, "yes")).not.toBe(blockId(new Uint8Array(32).fill(2), "yes"));
  // RFC 4231, test case 2.
  const known = Buffer.from("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "hex");
  expect(blockId(new TextEncoder().encode("Jefe"), "what do ya want for nothing?")).toBe(
    known.toString("base64url"),
  );
});

test("a request stores only what comes after what it shares with the last", () => {
  const next = [block("a"), block("b"), block("d"), block("c")];
  expect(shareBlocks(["a", "b", "c"], next)).toEqual({ count: 2, rest: next.slice(2) });
  expect(shareBlocks([], next)).toEqual({ count: 0, rest: next });
  expect(shareBlocks(["a", "b", "d", "c", "e"], next)).toEqual({ count: 4, rest: [] });
});

describe("why a request does not extend the one before", () => {
  const before = request([block("m1"), block("m2")]);
  const reasons = (next: Block[], hints = {}) =>
    firstBreak(before, next, hints).map(({ reason }) => reason.split(";")[0]);

  test("it does, when only messages were added", () => {
    expect(firstBreak(before, request([block("m1"), block("m2"), block("m3")]))).toEqual([]);
    expect(firstBreak(before, before)).toEqual([]);
    expect(firstBreak([], before)).not.toEqual([]);
  });

  test.each([
    ["the system prompt changed", request([block("m1"), block("m2")], { system: "s2" })],
    ["the tools changed", request([block("m1"), block("m2")], { tools: "t2" })],
    ["the model or its parameters changed", request([block("m1"), block("m2")], { params: "p2" })],
    ["the notices changed", request([block("m1"), block("m2")], { notices: ["n"] })],
    [
      "the conversation was compacted",
      request([block("c", "summary", "compaction"), block("m2"), block("m3")]),
    ],
    ["the conversation was forked", request([block("m1"), block("b", "summary", "branch_summary")])],
    ["the conversation went on from an earlier place", request([block("m1"), block("m9")])],
    ["an earlier message reads differently now", request([block("m1/2"), block("m2")])],
  ])("%s", (reason, next) => {
    expect(reasons(next)).toEqual([reason]);
  });

  test("a deletion is told from a fork, and a model by its name", () => {
    const next = request([block("m2"), block("m3")]);
    expect(reasons(next, { left_out: [{ message_id: "m1", reason: "deleted" }] })).toEqual([
      "an earlier message is left out: deleted",
    ]);
    const models = { previous: "demo/a", next: "demo/b" };
    expect(reasons(request([block("m1"), block("m2")], { params: "p2" }), { models })).toEqual([
      "the model changed from demo/a to demo/b",
    ]);
  });

  test("of two messages that read alike, the one that went is the one that is told", () => {
    const twice = request([block("yes/a"), { ...block("yes/a"), sources: [{ type: "message", id: "m9" }] }]);
    const once = request([{ ...block("yes/a"), sources: [{ type: "message", id: "m9" }] }]);
    expect(
      firstBreak(twice, once, { left_out: [{ message_id: "yes", reason: "deleted" }] })[0]?.reason,
    ).toContain("an earlier message is left out: deleted");
    expect(sharedEntries(twice, twice)).toBe(twice.length);
    expect(twice[sharedEntries(twice, once)]?.sources).toEqual([{ type: "message", id: "yes" }]);
  });

  test("rows that open a conversation come and go without a change of the prompt", () => {
    const opened = request([block("s"), block("m1"), block("m2")]).map((one) =>
      one.id === "s" && one.sources[0]?.type === "message" ? { ...one, kind: "system" as const } : one,
    );
    const said = (from: Block[], to: Block[]) => firstBreak(from, to)[0]?.reason.split(";")[0];
    expect(said(before, opened)).toBe("a system message opens the conversation now");
    expect(said(opened, before)).toBe("a system message no longer opens the conversation");
  });

  test("a summary that was there before is another branch's, not a new one", () => {
    const next = request([block("c5", "summary", "compaction"), block("m2")]);
    expect(reasons(next, { since: "c4" })).toEqual(["the conversation was compacted"]);
    expect(reasons(next, { since: "c6" })).toEqual(["the conversation went on from an earlier place"]);
  });

  test("a note about an edit that another branch lacks is no message that reads differently", () => {
    const sources = [
      { type: "edit", id: "e1" },
      { type: "message", id: "m1" },
    ];
    const edited = request([block("m1"), { ...block("e1"), sources }]);
    expect(firstBreak(edited, request([block("m1"), block("m2")]))[0]?.reason).toContain(
      "the conversation went on from an earlier place",
    );
  });

  test("a note about an edit that goes while all behind it stays is a message that reads differently", () => {
    const edited = request([block("e1", "message", "edit"), block("m2")]);
    expect(firstBreak(edited, request([block("m2"), block("m3")]))[0]?.reason).toContain(
      "an earlier message reads differently now",
    );
  });

  test("several at once are told in the order of their blocks, with what they cost", () => {
    const next = request([block("m9")], { tools: "t2" });
    expect(firstBreak(before, next)).toEqual([
      { block: 2, reason: "the tools changed; 80 bytes sent before could not be reused" },
      { block: 6, reason: "the conversation went on from an earlier place" },
    ]);
  });

  test("a notice at the tail moves with the newest turn", () => {
    const note = block("n", "notice", "notice");
    const first = request([block("m1"), note, block("m2")]);
    const next = request([block("m1"), block("m2"), block("m3"), note]);
    expect(firstBreak(first, next).map(({ reason }) => reason.split(";")[0])).toEqual([
      "a block moved to another place",
    ]);
  });

  test("parameters that a body carries behind its messages move without a break", () => {
    const tail = [block("p", "params"), block("}", "frame")];
    const open = block("{", "frame");
    expect(firstBreak([open, block("m1"), ...tail], [open, block("m1"), block("m2"), ...tail])).toEqual([]);
  });
});
