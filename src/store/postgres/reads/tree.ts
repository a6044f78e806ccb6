import { textOrNull } from "../../rows/columns.js";
import { turnOf } from "../../rows/values.js";
import { windowOf } from "../../path.js";
import type { PathEntry, StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { first } from "./first.js";
import { ENTRY, entryOf, MESSAGE, messagesOf } from "./rows.js";

type TreeReads = Pick<
  StoreReads,
  "head" | "path" | "entries" | "tree" | "entry" | "entryOf" | "turn" | "runningTurn" | "runningTurns"
>;

/** What the newest compaction kept first ("" when it kept nothing); null for any other entry, and for an erased one. */
const KEPT = (entry: string) =>
  `CASE WHEN ${entry}.kind = 'compaction' AND ${entry}.data::json ->> 'erased' IS NULL THEN coalesce(${entry}.data::json ->> 'first_kept', '') END`;

/**
 * Walks parents until the first entry the newest compaction kept: `stop` is null until a compaction was met, then
 * names that entry.
 */
const WALK = `
WITH RECURSIVE walk (n, id, parent, stop, depth) AS (
  SELECT e.n, e.id, e.parent, ${KEPT("e")}, 1 FROM entries e WHERE e.id = $1 AND e.chat_jid || '' = $2
  UNION ALL
  SELECT e.n, e.id, e.parent, coalesce(walk.stop, ${KEPT("e")}), walk.depth + 1
  FROM walk JOIN entries e ON e.id = walk.parent AND e.chat_jid || '' = $2
  WHERE walk.depth < $3 AND (walk.stop IS NULL OR walk.stop NOT IN ('', walk.id))
)
SELECT ${ENTRY}, ${MESSAGE} FROM walk
JOIN entries e ON e.n = walk.n LEFT JOIN messages m ON m.id = e.message_id AND m.chat_jid || '' = $2
ORDER BY walk.depth DESC`;

export function treeReads(query: Query): TreeReads {
  return {
    head: (chat_jid, thread_id) =>
      first(
        query("SELECT head FROM threads WHERE chat_jid = $1 AND thread_id = $2", chat_jid, thread_id),
        (row) => textOrNull(row.head),
      ),

    path: async (chat_jid, entry_id, limit) => {
      return windowOf(await withMessages(query, chat_jid, await query(WALK, entry_id, chat_jid, limit)));
    },

    entries: async (chat_jid, limit) => {
      const rows = await query(
        `SELECT ${ENTRY} FROM entries e WHERE chat_jid = $1 ORDER BY n DESC LIMIT $2`,
        chat_jid,
        limit,
      );
      return rows.map(entryOf).reverse();
    },

    tree: async ({ chat_jid, after, limit }) => {
      // After an entry that is not there comes nothing: no number is greater than null.
      const rows = await query(
        `SELECT ${ENTRY}, ${MESSAGE} FROM entries e
         LEFT JOIN messages m ON m.id = e.message_id AND m.chat_jid || '' = $1
         WHERE e.chat_jid = $1
           AND e.n > ${after === null ? "coalesce($2::bigint, 0)" : "(SELECT n FROM entries WHERE id = $2 AND chat_jid || '' = $1)"}
         ORDER BY e.n LIMIT $3`,
        chat_jid,
        after,
        limit,
      );
      return withMessages(query, chat_jid, rows);
    },
    entry: (chat_jid, id) =>
      first(
        query(`SELECT ${ENTRY} FROM entries e WHERE e.id = $1 AND e.chat_jid || '' = $2`, id, chat_jid),
        entryOf,
      ),
    entryOf: (chat_jid, message_id) =>
      first(
        query(
          `SELECT ${ENTRY} FROM entries e WHERE e.chat_jid = $1 AND e.message_id = $2 AND e.kind = 'message'
           ORDER BY e.n DESC LIMIT 1`,
          chat_jid,
          message_id,
        ),
        entryOf,
      ),

    turn: (id) => first(query("SELECT * FROM turns WHERE id = $1", id), turnOf),
    runningTurn: (chat_jid, thread_id) =>
      first(
        query(
          `SELECT * FROM turns WHERE chat_jid = $1 AND thread_id = $2 AND status = 'running'
           ORDER BY n DESC LIMIT 1`,
          chat_jid,
          thread_id,
        ),
        turnOf,
      ),
    runningTurns: async (chat_jid) =>
      (
        await query(
          "SELECT * FROM turns WHERE ($1::text IS NULL OR chat_jid = $1) AND status = 'running' ORDER BY n",
          chat_jid,
        )
      ).map(turnOf),
  };
}

/** Entries with the messages they stand for, where they stand for one. */
async function withMessages(query: Query, chat_jid: string, rows: readonly Row[]): Promise<PathEntry[]> {
  const spoken = rows.filter((row) => row.id !== null);
  const messages = await messagesOf(query, chat_jid, spoken);
  let next = 0;
  return rows.map((row): PathEntry => {
    const message = row.id === null ? null : (messages[next++] ?? null);
    return { ...entryOf(row), message };
  });
}
