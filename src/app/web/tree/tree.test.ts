import { expect, test } from "vitest";
import type { TreeEntry } from "../../client/index.js";
import { marksOf } from "./marks.js";
import { countBranches, type Tree, woodOf } from "./tree.js";

let made = 0;
const entry = (id: string, parent: string | null, more: Partial<TreeEntry> = {}): TreeEntry => ({
  id,
  parent,
  thread_id: "",
  kind: "message",
  message_id: `m-${id}`,
  turn_id: null,
  at: new Date(made++ * 1000).toISOString(),
  data: {},
  message: { sender: "slack:U1", sender_name: "Olivia", content: id, deleted: false },
  ...more,
});
const apart = (id: string, parent: string | null, kind: string, data: Record<string, unknown>) =>
  entry(id, parent, { kind, data, message_id: null, message: null });
const tree = (entries: TreeEntry[], head: string | null, whole = true): Tree => ({
  jid: "j",
  entries,
  head,
  whole,
});

/** a – b – c, and from b another way: d – e. */
const FORKED = [entry("a", null), entry("b", "a"), entry("c", "b"), entry("d", "b"), entry("e", "d")];

test("what stands on another branch is known, and what is read now", () => {
  const { readings } = woodOf(tree(FORKED, "e"));
  expect(Object.fromEntries(readings)).toEqual({
    "m-a": "now",
    "m-b": "now",
    "m-c": "elsewhere",
    "m-d": "now",
    "m-e": "now",
  });
});

test("where it forked, each way tells how it began, how long it is and where it ends", () => {
  const wood = woodOf(
    tree([...FORKED, apart("l", "c", "custom", { custom_type: "label", content: "plan A" })], "e"),
  );
  const { behind, goesOn } = marksOf(wood);
  expect([...behind.keys()]).toEqual(["m-b"]);
  const [mark] = behind.get("m-b") ?? [];
  expect(mark?.type === "fork" ? mark.branches : []).toMatchObject([
    { opening: { id: "c" }, leaf: { id: "c" }, remarks: 1, isCurrent: false, label: "plan A" },
    { opening: { id: "d" }, leaf: { id: "e" }, remarks: 2, isCurrent: true, label: null },
  ]);
  expect(goesOn.get("m-d")?.id).toBe("b");
  expect(countBranches(wood)).toBe(2);
});

test("thoughts and tools are no remarks, and threads of their own are no branches", () => {
  const thought = entry("t", "b", {
    message: { sender: "thinking", sender_name: "", content: "hm", deleted: false },
  });
  const elsewhere = entry("x", "b", { thread_id: "42" });
  const wood = woodOf(tree([...FORKED.slice(0, 2), thought, elsewhere], "t"));
  expect(wood.branchesFrom("b")).toMatchObject([{ first: { id: "t" }, remarks: 0 }]);
  expect(marksOf(wood).behind.size).toBe(0);
});

test("what a summary covers is read as a summary, but for what stays in view, and undoing it makes it read again", () => {
  const summary = apart("s", "c", "compaction", { summary: "…", first_kept: "c", standing: ["m-a"] });
  const entries = [...FORKED.slice(0, 3), summary, entry("f", "s")];
  const covered = woodOf(tree(entries, "f"));
  expect(covered.readings.get("m-a")).toBe("now");
  expect(covered.readings.get("m-b")).toBe("summary");
  expect(covered.readings.get("m-c")).toBe("now");
  expect(marksOf(covered).behind.get("m-c")).toMatchObject([{ type: "summary", state: "read" }]);
  const undone = woodOf(tree(entries, "c"));
  expect(undone.readings.get("m-b")).toBe("now");
  expect(marksOf(undone).behind.get("m-c")).toMatchObject([{ type: "summary", state: "elsewhere" }]);
});

test("of two summaries on the branch only the newer is read; an erased one covers nothing", () => {
  const first = apart("s1", "b", "compaction", { summary: "one", first_kept: "b" });
  const second = apart("s2", "c", "compaction", { summary: "two", first_kept: "c" });
  const entries = [entry("a", null), entry("b", "a"), first, entry("c", "s1"), second];
  const { behind } = marksOf(woodOf(tree(entries, "s2")));
  expect([...behind.values()].flat()).toMatchObject([{ state: "covered" }, { state: "read" }]);
  const erased = woodOf(tree([...entries.slice(0, 4), { ...second, data: { first_kept: "c" } }], "s2"));
  expect(erased.readings.get("m-b")).toBe("now");
});

test("a fresh start stands before everything, but not where the beginning was not read", () => {
  const two = [entry("a", null), entry("b", null)];
  expect(marksOf(woodOf(tree(two, "b"))).behind.get(null)).toHaveLength(1);
  expect(marksOf(woodOf(tree(two, "b", false))).behind.get(null)).toBeUndefined();
  expect(marksOf(woodOf(tree(two.slice(0, 1), null))).behind.get(null)).toHaveLength(1);
});
