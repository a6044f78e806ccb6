import { expiredCall, shortenedLists } from "../expired.js";
import { number, text, textOrNull } from "../rows/columns.js";
import type { Fact } from "../store.js";
import type { Prepare } from "./driver.js";

/** Lets go of these requests, and of blocks that no other one has. */
export function expireReceipts(
  prepare: Prepare,
  { chat_jid, call_ids, at, reason }: Extract<Fact, { type: "receipts_expired" }>,
): null {
  for (const id of call_ids) {
    const row = prepare(
      "SELECT envelope FROM calls WHERE id = ? AND chat_jid = ? AND expired = 0 AND status <> 'running'",
    ).get(id, chat_jid);
    if (!row) continue;
    prepare("UPDATE calls SET expired = 1, left_out = '[]', breaks = '[]', envelope = ? WHERE id = ?").run(
      JSON.stringify(expiredCall(JSON.parse(text(row.envelope)), { at, reason })),
      id,
    );
  }
  const lists = prepare(
    "SELECT id, base_call_id, base_count, block_count, expired FROM calls WHERE chat_jid = ? ORDER BY n",
  )
    .all(chat_jid)
    .map((row) => ({
      id: text(row.id),
      base: textOrNull(row.base_call_id),
      base_count: number(row.base_count),
      block_count: number(row.block_count),
      expired: row.expired === 1,
    }));
  for (const [id, count] of shortenedLists(lists)) {
    prepare("UPDATE calls SET block_count = ? WHERE id = ?").run(count, id);
    prepare("DELETE FROM call_blocks WHERE call_id = ? AND position >= ?").run(id, count);
  }
  prepare(
    `DELETE FROM blocks WHERE chat_jid = ? AND id NOT IN (
       SELECT b.block_id FROM calls c CROSS JOIN call_blocks b ON b.call_id = c.id WHERE c.chat_jid = ?)`,
  ).run(chat_jid, chat_jid);
  return null;
}
