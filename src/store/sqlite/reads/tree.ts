import type { PathEntry, StoreReads } from "../../store.js";
import type { Prepare, Row } from "../driver.js";
import { messagesOf } from "./lookup.js";
import { windowOf } from "../../path.js";
import { number, textOrNull } from "../../rows/columns.js";
import { turnOf } from "../../rows/values.js";
import { ENTRY, entryOf, MESSAGE } from "./rows.js";

type TreeReads = Pick<
  StoreReads,
  "head" | "path" | "entries" | "tree" | "entry" | "entryOf" | "turn" | "runningTurn" | "runningTurns"
>;

/** What the newest compaction kept first ("" when it kept nothing); null for any other entry, and for an erased one. */
const KEPT = (entry: string) =>
  `iif(${entry}.kind = 'compaction' AND ${entry}.data ->> '$.erased' IS NULL, coalesce(${entry}.data ->> '$.first_kept', ''), NULL)`;

/**
 * Walks parents until the first entry the newest compaction kept: `stop` is null until a compaction was met, then
 * names that entry ("" when it kept nothing).
 */
const WALK = `
WITH RECURSIVE walk (n, id, parent, stop, depth) AS (
  SELECT n, id, parent, ${KEPT("entries")}, 1
  FROM entries WHERE id = ?1 AND chat_jid = ?2
  UNION ALL
  SELECT e.n, e.id, e.parent,
    coalesce(walk.stop, ${KEPT("e")}), walk.depth + 1
  FROM walk JOIN entries e ON e.id = walk.parent AND e.chat_jid = ?2
  WHERE walk.depth < ?3 AND (walk.stop IS NULL OR walk.stop NOT IN ('', walk.id))
)
SELECT ${ENTRY}, iif(m.id IS NULL, NULL, 1) AS spoken, ${MESSAGE} FROM walk
JOIN entries e ON e.n = walk.n LEFT JOIN messages m ON m.id = e.message_id AND m.chat_jid = ?2
ORDER BY walk.depth DESC`;

export function treeReads(prepare: Prepare): TreeReads {
  return {
    head: async (chat_jid, thread_id) => {
      const row = prepare("SELECT head FROM threads WHERE chat_jid = ? AND thread_id = ?").get(
        chat_jid,
        thread_id,
      );
      return row ? textOrNull(row.head) : null;
    },

    path: async (chat_jid, entry_id, limit) => {
      return windowOf(withMessages(prepare, chat_jid, prepare(WALK).all(entry_id, chat_jid, limit)));
    },

    entries: async (chat_jid, limit) =>
      prepare(`SELECT ${ENTRY} FROM entries e WHERE chat_jid = ? ORDER BY n DESC LIMIT ?`)
        .all(chat_jid, limit)
        .map(entryOf)
        .reverse(),

    tree: async ({ chat_jid, after, limit }) => {
      const from =
        after === null
          ? 0
          : prepare("SELECT n FROM entries WHERE id = ? AND chat_jid = ?").get(after, chat_jid)?.n;
      if (from === undefined) return [];
      const rows = prepare(
        `SELECT ${ENTRY}, iif(m.id IS NULL, NULL, 1) AS spoken, ${MESSAGE} FROM entries e
         LEFT JOIN messages m ON m.id = e.message_id AND m.chat_jid = e.chat_jid
         WHERE e.chat_jid = ? AND e.n > ? ORDER BY e.n LIMIT ?`,
      ).all(chat_jid, number(from), limit);
      return withMessages(prepare, chat_jid, rows);
    },
    entry: async (chat_jid, id) => {
      const row = prepare(`SELECT ${ENTRY} FROM entries e WHERE id = ? AND chat_jid = ?`).get(id, chat_jid);
      return row ? entryOf(row) : null;
    },
    entryOf: async (chat_jid, message_id) => {
      const row = prepare(
        `SELECT ${ENTRY} FROM entries e WHERE chat_jid = ? AND message_id = ? AND kind = 'message'
         ORDER BY n DESC LIMIT 1`,
      ).get(chat_jid, message_id);
      return row ? entryOf(row) : null;
    },

    turn: async (id) => {
      const row = prepare("SELECT * FROM turns WHERE id = ?").get(id);
      return row ? turnOf(row) : null;
    },
    runningTurn: async (chat_jid, thread_id) => {
      const row = prepare(
        "SELECT * FROM turns WHERE chat_jid = ? AND thread_id = ? AND status = 'running' ORDER BY rowid DESC LIMIT 1",
      ).get(chat_jid, thread_id);
      return row ? turnOf(row) : null;
    },
    runningTurns: async (chat_jid) => {
      const rows =
        chat_jid === null
          ? prepare("SELECT * FROM turns WHERE status = 'running' ORDER BY rowid").all()
          : prepare("SELECT * FROM turns WHERE chat_jid = ? AND status = 'running' ORDER BY rowid").all(
              chat_jid,
            );
      return rows.map(turnOf);
    },
  };
}

/** Entries with the messages they stand for, where they stand for one. */
function withMessages(prepare: Prepare, chat_jid: string, rows: readonly Row[]): PathEntry[] {
  const spoken = rows.filter((row) => row.spoken !== null);
  const messages = messagesOf(prepare, chat_jid, spoken);
  let next = 0;
  return rows.map((row): PathEntry => {
    const message = row.spoken === null ? null : (messages[next++] ?? null);
    return { ...entryOf(row), message };
  });
}
