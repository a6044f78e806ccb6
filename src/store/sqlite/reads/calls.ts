import type { CallEnvelope } from "../../../message/index.js";
import type { StoredRequest, StoreReads } from "../../store.js";
import { linksOf } from "../calls.js";
import type { Prepare, Row, SqlValue } from "../driver.js";
import { number, text } from "../../rows/columns.js";
import { blockOf } from "../../rows/values.js";

type CallReads = Pick<
  StoreReads,
  | "call"
  | "calls"
  | "lastCall"
  | "lastCallOfTurn"
  | "callParts"
  | "partial"
  | "toolsDone"
  | "request"
  | "keptReceipts"
  | "receiptTotals"
>;

const BLOCKS_A_PAGE = 2000;

export function callReads(prepare: Prepare): CallReads {
  const one = (id: string) => prepare("SELECT * FROM calls WHERE id = ?").get(id);
  return {
    call: async (id) => {
      const row = one(id);
      return row ? envelopeOf(row) : null;
    },

    calls: async ({ chat_jid, turn_id, after, limit }) => {
      const from = after === null ? 0 : placeOf(one(after));
      const rows =
        turn_id === null
          ? prepare("SELECT * FROM calls WHERE chat_jid = ? AND n > ? ORDER BY n LIMIT ?").all(
              chat_jid,
              from,
              limit,
            )
          : prepare(
              "SELECT * FROM calls WHERE turn_id = ? AND chat_jid = ? AND n > ? ORDER BY n LIMIT ?",
            ).all(turn_id, chat_jid, from, limit);
      return rows.map(envelopeOf);
    },

    lastCall: async (chat_jid, thread_id) => {
      const row = prepare(
        "SELECT id FROM calls WHERE chat_jid = ? AND thread_id = ? ORDER BY n DESC LIMIT 1",
      ).get(chat_jid, thread_id);
      return row ? text(row.id) : null;
    },

    lastCallOfTurn: async (turn_id) => {
      const row = prepare("SELECT envelope FROM calls WHERE turn_id = ? ORDER BY n DESC LIMIT 1").get(
        turn_id,
      );
      return row ? envelopeOf(row) : null;
    },

    callParts: async (ids) => {
      const wanted = JSON.stringify(ids);
      const leftovers = prepare(
        `SELECT p.call_id, p.part, p.leftover FROM json_each(?) wanted CROSS JOIN call_parts p ON p.call_id = wanted.value
         WHERE p.leftover IS NOT NULL ORDER BY p.call_id, p.part`,
      ).all(wanted);
      const rows = prepare(
        "SELECT c.* FROM json_each(?) wanted CROSS JOIN calls c ON c.id = wanted.value ORDER BY wanted.key",
      ).all(wanted);
      return rows.map((row) => ({
        call: envelopeOf(row),
        leftovers: leftovers
          .filter((leftover) => leftover.call_id === row.id)
          .map((leftover) => ({ part: number(leftover.part), data: JSON.parse(text(leftover.leftover)) })),
      }));
    },

    partial: async (call_id) =>
      prepare(
        "SELECT part, type, content FROM call_parts WHERE call_id = ? AND type IS NOT NULL ORDER BY part",
      )
        .all(call_id)
        .map((row) => ({
          part: number(row.part),
          type: row.type === "thinking" ? "thinking" : "text",
          content: text(row.content),
        })),

    toolsDone: async (call_id) =>
      prepare("SELECT position, result FROM tool_results WHERE call_id = ? ORDER BY position")
        .all(call_id)
        .map((row) => ({ index: number(row.position), result: JSON.parse(text(row.result)) })),

    keptReceipts: async ({ before, limit }) =>
      prepare(
        `SELECT id, chat_jid FROM calls INDEXED BY calls_kept
         WHERE expired = 0 AND started_at < ? AND status <> 'running' ORDER BY started_at, n LIMIT ?`,
      )
        .all(before, limit)
        .map((row) => ({ id: text(row.id), chat_jid: text(row.chat_jid) })),

    receiptTotals: async (after) => {
      // A page at a time: nobody else reads here meanwhile.
      const page = prepare(
        `SELECT count(*) AS count, max(place) AS last, total(size) AS bytes FROM (
           SELECT rowid AS place, length(bytes) AS size FROM blocks WHERE rowid > ? ORDER BY rowid LIMIT ?)`,
      ).get(Number(after ?? 0), BLOCKS_A_PAGE);
      const counted =
        after === null ? prepare("SELECT count(*) AS count FROM calls WHERE expired = 0").get() : null;
      return {
        calls: counted ? number(counted.count) : 0,
        bytes: Number(page?.bytes ?? 0),
        next: page && number(page.count) === BLOCKS_A_PAGE ? String(page.last) : null,
      };
    },

    request: async (call_id) => {
      const row = one(call_id);
      if (!row || row.expired === 1) return null;
      return {
        blocks: blocksOf(prepare, call_id, number(row.block_count)),
        left_out: JSON.parse(text(row.left_out)),
        breaks: JSON.parse(text(row.breaks)),
      };
    },
  };
}

function blocksOf(prepare: Prepare, call_id: string, count: number): StoredRequest["blocks"] {
  const links = linksOf(prepare, call_id, count).reverse();
  return links.flatMap((link) =>
    prepare(
      `SELECT b.block_id, b.kind, b.size, b.sources, stored.bytes FROM call_blocks b
       JOIN calls c ON c.id = b.call_id
       LEFT JOIN blocks stored ON stored.chat_jid = c.chat_jid AND stored.id = b.block_id
       WHERE b.call_id = ? AND b.position < ? ORDER BY b.position`,
    )
      .all(link.call_id, link.until)
      .map(blockOf),
  );
}

function envelopeOf(row: Row): CallEnvelope {
  return JSON.parse(text(row.envelope));
}

/** The place of a row in its list. After one that is not there comes nothing. */
export function placeOf(row: Record<string, SqlValue> | undefined): number {
  return row ? number(row.n) : Number.MAX_SAFE_INTEGER;
}
