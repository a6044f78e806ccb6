import { expect, test } from "vitest";
import type { Block, Call, MessageRow, Outcome } from "../../../message/index.js";
import type { TreeEntry } from "../../client/index.js";
import { transcriptOf } from "../transcript.js";
import { missedBy } from "./missed.js";
import { seenOfCall } from "./seen.js";

const row = (id: string, seq: number, more: Partial<MessageRow> = {}) =>
  ({ id, seq, message_type: "user", call_id: null, ...more }) as MessageRow;
const ignored = (message_id: string, outcome = "ignored") =>
  ({ message_id, outcome, reason: "sender_not_allowed" }) as Outcome;

const block: Block = { id: "b", kind: "message", size: 2, sources: [{ type: "message", id: "olivia" }] };
const call = { id: "c", blocks: [block] };
const left_out = [{ message_id: "note", reason: "host" }];
const seen = seenOfCall({ ...call, left_out } as Call, null, null);
const rows = [
  row("olivia", 1),
  row("sam", 2),
  row("note", 3),
  row("taken", 4),
  row("waits", 5),
  row("answer", 6, { call_id: "c", message_type: "assistant" }),
  row("later", 7),
];
const outcomes = Object.fromEntries(
  ["olivia", "sam", "note", "taken", "later"].map((id) => [id, ignored(id)]),
);
const tree = { jid: "j", head: null, whole: true, entries: [{ message_id: "taken" } as TreeEntry] };

test("what was turned away at the door before an answer is named beside what was left out, with the reason", () => {
  const missed = missedBy(seen, {
    transcript: transcriptOf(rows, true, true),
    outcomes: { ...outcomes, waits: ignored("waits", "pending") },
    tree,
  });
  expect(missed.map(({ message_id }) => message_id)).toEqual(["sam"]);
  expect(missed[0]?.reason).toBe("not read here: this sender may not call the assistant here");
});

test("of a request that was never sent, everything up to now counts", () => {
  const known = { transcript: transcriptOf(rows, true, true), outcomes, tree };
  expect(missedBy({ ...seen, call: null }, known).map(({ message_id }) => message_id)).toEqual([
    "sam",
    "later",
  ]);
});
