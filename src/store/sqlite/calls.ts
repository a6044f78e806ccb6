import { type CallEnvelope, ERASED_SENDER } from "../../message/index.js";
import { redactedCall, SOURCES_WITH_WORDS } from "../erased.js";
import { MAX_DEPTH, shortest } from "../request.js";
import type { Fact, Leftover, PartialPart, RequestBlock, RequestList } from "../store.js";
import type { Prepare } from "./driver.js";
import { conflict } from "./facts.js";
import { number, text, textOrNull } from "../rows/columns.js";
import type { Refusal } from "./wire.js";

/** The list of a request: the first `count` blocks of `call_id` (if any), then its own. */
type List = { call_id: string; base: string | null; base_count: number; block_count: number; depth: number };

export function startCall(prepare: Prepare, call: CallEnvelope, request: RequestList): Refusal | null {
  const erased = erasedSource(prepare, call.chat_jid, request.blocks);
  if (erased !== null) return conflict(`message ${erased} has been erased`);
  const missing = keepBlocks(prepare, call.chat_jid, request.blocks);
  if (missing !== null) return conflict(`block ${missing} was never stored`);
  const base = request.base ? listOf(prepare, request.base.call_id, call.chat_jid) : null;
  if (request.base && (!base || request.base.count > base.block_count)) {
    return conflict(`call ${request.base.call_id} has no ${request.base.count} blocks`);
  }
  const start = shortest(request.base, (id) => listOf(prepare, id, call.chat_jid));
  const whole = start.depth > MAX_DEPTH;
  const { changes } = prepare(
    `INSERT INTO calls (id, chat_jid, turn_id, thread_id, started_at, status, base_call_id, base_count, block_count, depth,
       left_out, breaks, envelope)
     VALUES (?, ?, ?, (SELECT thread_id FROM turns WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(
    call.id,
    call.chat_jid,
    call.turn_id,
    call.purpose === "turn" ? call.turn_id : null,
    call.started_at,
    call.status,
    whole ? null : start.base,
    whole ? 0 : start.count,
    start.count + request.blocks.length,
    whole ? 0 : start.depth,
    JSON.stringify(request.left_out),
    JSON.stringify(request.breaks),
    JSON.stringify(call),
  );
  if (changes === 0) return conflict(`there is already a call ${call.id}`);
  if (whole && start.base !== null) copyBlocks(prepare, start.base, start.count, call.id);
  listBlocks(prepare, call.id, start.count, request.blocks);
  return null;
}

/** Whose words a new block holds that are erased by now: the request was made before, and must not be kept. */
function erasedSource(prepare: Prepare, chat_jid: string, blocks: readonly RequestBlock[]): string | null {
  if (!prepare("SELECT 1 AS found FROM chats WHERE jid = ? AND erased > 0").get(chat_jid)) return null;
  const ids = blocks.flatMap(({ sources }) =>
    sources.filter(({ type }) => SOURCES_WITH_WORDS.includes(type)).map(({ id }) => id),
  );
  const row = prepare(
    `SELECT value AS id FROM json_each(?) WHERE
       EXISTS (SELECT 1 FROM messages WHERE id = value AND chat_jid = ? AND sender = ?)
       OR EXISTS (SELECT 1 FROM entries WHERE id = value AND chat_jid = ? AND data ->> '$.erased' IS NOT NULL)
     LIMIT 1`,
  ).get(JSON.stringify(ids), chat_jid, ERASED_SENDER, chat_jid);
  return row ? text(row.id) : null;
}

/** Keep the bytes of blocks we do not have yet. The id of one that should be there and is not, or null. */
function keepBlocks(prepare: Prepare, chat_jid: string, blocks: readonly RequestBlock[]): string | null {
  for (const { id, bytes } of blocks) {
    if (bytes) {
      // One that was erased may come again in other people's words: those are kept.
      prepare(
        `INSERT INTO blocks (chat_jid, id, bytes) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes IS NULL`,
      ).run(chat_jid, id, bytes);
    } else if (!prepare("SELECT 1 AS found FROM blocks WHERE chat_jid = ? AND id = ?").get(chat_jid, id)) {
      return id;
    }
  }
  return null;
}

function listBlocks(prepare: Prepare, call_id: string, from: number, blocks: readonly RequestBlock[]): void {
  const insert = prepare(
    "INSERT INTO call_blocks (call_id, position, block_id, kind, size, sources) VALUES (?, ?, ?, ?, ?, ?)",
  );
  blocks.forEach(({ id, kind, size, sources }, index) => {
    insert.run(call_id, from + index, id, kind, size, JSON.stringify(sources));
  });
}

function copyBlocks(prepare: Prepare, from: string, count: number, to: string): void {
  for (const { call_id, until } of linksOf(prepare, from, count)) {
    prepare(
      `INSERT INTO call_blocks (call_id, position, block_id, kind, size, sources)
       SELECT ?, position, block_id, kind, size, sources FROM call_blocks WHERE call_id = ? AND position < ?`,
    ).run(to, call_id, until);
  }
}

/** The calls whose own blocks make up the first `count` blocks of a call, the newest first. */
export function linksOf(prepare: Prepare, from: string, count: number): { call_id: string; until: number }[] {
  const found: { call_id: string; until: number }[] = [];
  let list = listOf(prepare, from, null);
  let until = count;
  while (list && until > 0) {
    found.push({ call_id: list.call_id, until });
    until = Math.min(until, list.base_count);
    list = list.base === null ? null : listOf(prepare, list.base, null);
  }
  return found;
}

function listOf(prepare: Prepare, id: string, chat_jid: string | null): List | null {
  const row = prepare(
    "SELECT id, chat_jid, base_call_id, base_count, block_count, depth FROM calls WHERE id = ?",
  ).get(id);
  if (!row || (chat_jid !== null && row.chat_jid !== chat_jid)) return null;
  return {
    call_id: text(row.id),
    base: textOrNull(row.base_call_id),
    base_count: number(row.base_count),
    block_count: number(row.block_count),
    depth: number(row.depth),
  };
}

export function keepPartial(
  prepare: Prepare,
  call_id: string,
  parts: readonly PartialPart[],
): Refusal | null {
  const row = prepare("SELECT status FROM calls WHERE id = ?").get(call_id);
  if (row?.status !== "running") return conflict(`call ${call_id} is not running`);
  for (const { part, type, content } of parts) {
    prepare(
      `INSERT INTO call_parts (call_id, part, type, content) VALUES (?, ?, ?, ?)
       ON CONFLICT (call_id, part) DO UPDATE SET type = excluded.type, content = excluded.content`,
    ).run(call_id, part, type, content);
  }
  return null;
}

export function endCall(
  prepare: Prepare,
  call: CallEnvelope,
  leftovers: readonly Leftover[],
): Refusal | null {
  // Whoever ends it may not know that words of its request were erased meanwhile.
  const { redacted } = prepare("SELECT envelope ->> '$.redacted' AS redacted FROM calls WHERE id = ?").get(
    call.id,
  ) ?? { redacted: 0 };
  const { changes } = prepare(
    "UPDATE calls SET status = ?, envelope = ? WHERE id = ? AND chat_jid = ? AND expired = 0",
  ).run(call.status, JSON.stringify(redacted === 1 ? redactedCall(call) : call), call.id, call.chat_jid);
  if (changes === 0) return conflict(`there is no call ${call.id}`);
  prepare("DELETE FROM call_parts WHERE call_id = ?").run(call.id);
  for (const { part, data } of leftovers) {
    prepare("INSERT OR REPLACE INTO call_parts (call_id, part, leftover) VALUES (?, ?, ?)").run(
      call.id,
      part,
      JSON.stringify(data),
    );
  }
  return null;
}

export function keepTool(
  prepare: Prepare,
  { call_id, index, result }: Extract<Fact, { type: "tool_done" }>,
): Refusal | null {
  if (!listOf(prepare, call_id, null)) return conflict(`there is no call ${call_id}`);
  prepare("INSERT OR REPLACE INTO tool_results (call_id, position, result) VALUES (?, ?, ?)").run(
    call_id,
    index,
    JSON.stringify(result),
  );
  return null;
}

export function forgetTools(prepare: Prepare, call_id: string): null {
  prepare("DELETE FROM tool_results WHERE call_id = ?").run(call_id);
  return null;
}
