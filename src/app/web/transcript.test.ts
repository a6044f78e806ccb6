import fc from "fast-check";
import { expect, test } from "vitest";
import { MessageRow } from "../../message/row.js";
import { EMPTY, transcriptOf, withEarlier, withLater, withNews, withRevised } from "./transcript.js";

const row = (seq: number, content = `${seq}`, revision = 0): MessageRow => ({
  id: `m${seq}`,
  chat_jid: "home",
  seq,
  sender: "web:1",
  sender_name: "Me",
  content,
  timestamp: "2026-11-15T09:00:00Z",
  is_from_me: false,
  message_type: "user",
  metadata: {},
  turn_id: null,
  call_id: null,
  part: null,
  attachments: [],
  revision,
  edited_at: null,
  deleted_at: null,
});
const rows = (from: number, to: number): MessageRow[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => row(from + index));

test("a message that just came is added at the end", () => {
  const { transcript, gap } = withNews(transcriptOf(rows(1, 3), true, true), row(4));
  expect(transcript.rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  expect(gap).toBe(false);
});

test("a message that came twice stands there once", () => {
  const { transcript } = withNews(transcriptOf(rows(1, 3), true, true), row(3));
  expect(transcript.rows.map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test("a missed message is noticed, and not papered over", () => {
  const before = transcriptOf(rows(1, 3), true, true);
  expect(withNews(before, row(5))).toEqual({ transcript: before, gap: true });
});

test("the first message of a chat begins it", () => {
  expect(withNews(EMPTY, row(1)).transcript.rows).toHaveLength(1);
});

test("somebody who reads far back is not thrown to the end by news", () => {
  const reading = transcriptOf(rows(10, 20), false, false);
  expect(withNews(reading, row(21))).toEqual({ transcript: reading, gap: false });
});

test("an edit takes the place of the old wording, and an older one does not come back", () => {
  const edited = withRevised(transcriptOf(rows(1, 3), true, true), row(2, "better", 2));
  expect(edited.rows[1]?.content).toBe("better");
  expect(withRevised(edited, row(2, "late", 1)).rows[1]?.content).toBe("better");
});

test("however one scrolls, the rows stay in order, without holes, and few enough to be fast", () => {
  const LAST = 5000;
  const step = fc.constantFrom("up" as const, "down" as const, "news" as const);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let here = transcriptOf(rows(LAST - 199, LAST), false, true);
      let newest = LAST;
      for (const move of steps) {
        const first = here.rows[0]?.seq ?? 1;
        const last = here.rows.at(-1)?.seq ?? 0;
        if (move === "up") here = withEarlier(here, rows(Math.max(1, first - 200), first - 1), first <= 201);
        if (move === "down" && !here.atEnd) {
          here = withLater(here, rows(last + 1, Math.min(newest, last + 200)), last + 200 > newest);
        }
        if (move === "news") here = withNews(here, row(++newest)).transcript;
        const seqs = here.rows.map(({ seq }) => seq);
        expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
        expect(seqs.length).toBeLessThanOrEqual(600);
        if (here.atEnd) expect(seqs.at(-1)).toBe(newest);
        if (here.atStart) expect(seqs[0]).toBe(1);
      }
    }),
  );
});

test("the rows made here are rows the server would give", () => {
  expect(MessageRow.parse(row(1))).toEqual(row(1));
});
