import type { MessageRow } from "../../message/row.js";

/**
 * The stretch of a chat that the page holds: contiguous rows, ascending by `seq`.
 * A chat may have a hundred thousand of them; the page keeps a few hundred around what is read.
 */
export type Transcript = {
  rows: readonly MessageRow[];
  /** Nothing was said before the first row. */
  atStart: boolean;
  /** Nothing was said after the last row: what comes next can be added. */
  atEnd: boolean;
};

/** Rows asked for at once. */
export const PAGE = 200;
/** Rows kept; beyond that the far end is let go, and asked for again when somebody scrolls there. */
const KEPT = 600;

export const EMPTY: Transcript = { rows: [], atStart: true, atEnd: true };

/** A transcript of one page of rows. */
export function transcriptOf(rows: readonly MessageRow[], atStart: boolean, atEnd: boolean): Transcript {
  return { rows, atStart, atEnd };
}

/** Adds the rows before the first; lets the far end go. */
export function withEarlier(old: Transcript, rows: readonly MessageRow[], atStart: boolean): Transcript {
  const first = old.rows[0]?.seq ?? Number.POSITIVE_INFINITY;
  const all = [...rows.filter((row) => row.seq < first), ...old.rows];
  return { rows: all.slice(0, KEPT), atStart, atEnd: old.atEnd && all.length <= KEPT };
}

/** Adds the rows after the last; lets the beginning go. */
export function withLater(old: Transcript, rows: readonly MessageRow[], atEnd: boolean): Transcript {
  const last = old.rows.at(-1)?.seq ?? Number.NEGATIVE_INFINITY;
  const all = [...old.rows, ...rows.filter((row) => row.seq > last)];
  return { rows: all.slice(-KEPT), atStart: old.atStart && all.length <= KEPT, atEnd };
}

/** What a new row does to the transcript. `gap`: rows between are missing, because `seq` has no holes. */
export function withNews(old: Transcript, row: MessageRow): { transcript: Transcript; gap: boolean } {
  if (!old.atEnd) return { transcript: old, gap: false };
  const last = old.rows.at(-1);
  if (last && row.seq <= last.seq) return { transcript: withRevised(old, row), gap: false };
  if (last && row.seq > last.seq + 1) return { transcript: old, gap: true };
  return { transcript: withLater(old, [row], true), gap: false };
}

/** Puts the newest wording of a row in its place. */
export function withRevised(old: Transcript, row: MessageRow): Transcript {
  const index = old.rows.findIndex((known) => known.id === row.id);
  if (index < 0 || (old.rows[index]?.revision ?? 0) > row.revision) return old;
  return { ...old, rows: old.rows.with(index, row) };
}
