import type { CallEnvelope } from "../../../message/index.js";
import { number, text } from "../../rows/columns.js";
import { blockOf } from "../../rows/values.js";
import type { StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { first } from "./first.js";

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

export function callReads(query: Query): CallReads {
  return {
    call: (id) => first(query("SELECT envelope FROM calls WHERE id = $1", id), envelopeOf),

    calls: async ({ chat_jid, turn_id, after, limit }) => {
      // After a call that is not there comes nothing: no number is greater than null.
      const rows = await query(
        `SELECT envelope FROM calls WHERE chat_jid = $1 ${turn_id === null ? "AND $2::text IS NULL" : "AND turn_id = $2"}
         AND n > ${after === null ? "coalesce($3::bigint, 0)" : "(SELECT n FROM calls WHERE id = $3)"}
         ORDER BY n LIMIT $4`,
        chat_jid,
        turn_id,
        after,
        limit,
      );
      return rows.map(envelopeOf);
    },

    lastCall: (chat_jid, thread_id) =>
      first(
        query(
          "SELECT id FROM calls WHERE chat_jid = $1 AND thread_id = $2 ORDER BY n DESC LIMIT 1",
          chat_jid,
          thread_id,
        ),
        (row) => text(row.id),
      ),

    lastCallOfTurn: (turn_id) =>
      first(
        query("SELECT envelope FROM calls WHERE turn_id = $1 ORDER BY n DESC LIMIT 1", turn_id),
        envelopeOf,
      ),

    callParts: async (ids) => {
      const rows = await query(
        `SELECT c.id, c.envelope, p.part, p.leftover
         FROM unnest($1::text[]) WITH ORDINALITY AS wanted(id, place) JOIN calls c ON c.id = wanted.id
         LEFT JOIN call_parts p ON p.call_id = c.id AND p.leftover IS NOT NULL
         ORDER BY wanted.place, p.part`,
        ids,
      );
      return [...byId(rows).values()].map((parts) => ({
        call: envelopeOf(parts[0]),
        leftovers: parts
          .filter((row) => row.part !== null)
          .map((row) => ({ part: number(row.part), data: JSON.parse(text(row.leftover)) })),
      }));
    },

    partial: async (call_id) => {
      const rows = await query(
        "SELECT part, type, content FROM call_parts WHERE call_id = $1 AND type IS NOT NULL ORDER BY part",
        call_id,
      );
      return rows.map((row) => ({
        part: number(row.part),
        type: row.type === "thinking" ? "thinking" : "text",
        content: text(row.content),
      }));
    },

    toolsDone: async (call_id) => {
      const rows = await query(
        "SELECT position, result FROM tool_results WHERE call_id = $1 ORDER BY position",
        call_id,
      );
      return rows.map((row) => ({ index: number(row.position), result: JSON.parse(text(row.result)) }));
    },

    keptReceipts: async ({ before, limit }) => {
      const rows = await query(
        `SELECT id, chat_jid FROM calls WHERE expired = 0 AND started_at < $1 AND status <> 'running'
         ORDER BY started_at, n LIMIT $2`,
        before,
        limit,
      );
      return rows.map((row) => ({ id: text(row.id), chat_jid: text(row.chat_jid) }));
    },

    receiptTotals: async () => {
      const [row] = await query(
        `SELECT (SELECT count(*) FROM calls WHERE expired = 0) AS calls,
           (SELECT coalesce(sum(octet_length(bytes)), 0)::bigint FROM blocks) AS bytes`,
      );
      return { calls: Number(row?.calls ?? 0), bytes: Number(row?.bytes ?? 0), next: null };
    },

    request: async (call_id) => {
      const [row] = await query(
        "SELECT left_out, breaks, block_count FROM calls WHERE id = $1 AND expired = 0",
        call_id,
      );
      if (!row) return null;
      const blocks = await query(
        `SELECT b.block_id, b.kind, b.size, b.sources, stored.bytes FROM longhand_links($1, $2) AS link
         JOIN call_blocks b ON b.call_id = link.call_id AND b.position < link.until
         JOIN calls c ON c.id = link.call_id
         LEFT JOIN blocks stored ON stored.chat_jid = c.chat_jid AND stored.id = b.block_id
         ORDER BY link.step DESC, b.position`,
        call_id,
        number(row.block_count),
      );
      // It may have expired in between.
      if (blocks.length !== number(row.block_count)) return null;
      return {
        blocks: blocks.map(blockOf),
        left_out: JSON.parse(text(row.left_out)),
        breaks: JSON.parse(text(row.breaks)),
      };
    },
  };
}

function envelopeOf(row: Row | undefined): CallEnvelope {
  return JSON.parse(text(row?.envelope));
}

function byId(rows: readonly Row[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of rows) found.set(text(row.id), [...(found.get(text(row.id)) ?? []), row]);
  return found;
}
