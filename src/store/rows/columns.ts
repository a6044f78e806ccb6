import { type Spending, WORK_KINDS, type Work } from "../store.js";

/** A value as SQLite and Postgres hand it over. */
export type SqlValue = string | number | null | Uint8Array;
export type Row = Record<string, SqlValue>;

/** Columns as values. Also the SQLite writing thread's, so nothing here may load what would slow its start. */

export function workOf(row: Row): Work {
  return {
    id: text(row.id),
    kind: oneOf(WORK_KINDS, row.kind),
    lane: text(row.lane),
    chat_jid: text(row.chat_jid),
    ref: text(row.ref),
    run_at: number(row.run_at),
    attempts: number(row.attempts),
  };
}

export function spendingOf(row: Row): Spending {
  return {
    calls: number(row.calls),
    unpriced: number(row.unpriced),
    input_tokens: number(row.input_tokens),
    output_tokens: number(row.output_tokens),
    cache_read_tokens: number(row.cache_read_tokens),
    cache_write_tokens: number(row.cache_write_tokens),
    usd: number(row.usd),
  };
}

export function text(value: SqlValue | undefined): string {
  if (typeof value === "string") return value;
  throw damaged("text", value);
}

export function textOrNull(value: SqlValue | undefined): string | null {
  return value === null ? null : text(value);
}

export function number(value: SqlValue | undefined): number {
  if (typeof value === "number") return value;
  throw damaged("a number", value);
}

export function bytesOrNull(value: SqlValue | undefined): Uint8Array | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return value;
  throw damaged("bytes", value);
}

export function oneOf<T extends string>(known: readonly T[], value: SqlValue | undefined): T {
  const found = known.find((word) => word === value);
  if (found !== undefined) return found;
  throw damaged(known.join(", "), value);
}

function damaged(expected: string, value: SqlValue | undefined): Error {
  return new Error(`the database holds ${String(value)} where ${expected} was expected`);
}
