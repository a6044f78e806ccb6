import { setImmediate } from "node:timers/promises";
import type { MessageRow } from "../../../message/index.js";
import type { MessageQuery, Revision, StoreReads } from "../../store.js";
import type { Prepare, Row, SqlValue } from "../driver.js";
import { findMessage, messagesOf } from "./lookup.js";
import { bytesOrNull, number, text, textOrNull } from "../../rows/columns.js";
import { erasureOf, inboundOf } from "../../rows/values.js";
import { MESSAGE } from "./rows.js";

type MessageReads = Pick<
  StoreReads,
  | "message"
  | "messages"
  | "messagesOfTurn"
  | "revisions"
  | "attachmentBytes"
  | "erasure"
  | "inbound"
  | "inbounds"
  | "lastAdmitted"
  | "untaken"
  | "untold"
>;

/** A filtered reading looks at this many messages, then lets others go first: the event loop is not ours alone. */
const SLICE = 2_000;
const UNTAKEN_SLICE = 100;

export function messageReads(prepare: Prepare): MessageReads {
  return {
    message: async (chat_jid, id) => findMessage(prepare, chat_jid, id),
    messages: (query) => readMessages(prepare, query),
    messagesOfTurn: async (chat_jid, turn_id) =>
      messagesOf(
        prepare,
        chat_jid,
        prepare(
          `SELECT ${MESSAGE} FROM messages m INDEXED BY messages_by_turn
           WHERE turn_id = ? AND chat_jid = ? ORDER BY seq`,
        ).all(turn_id, chat_jid),
      ),
    revisions: async (chat_jid, message_id) => readRevisions(prepare, chat_jid, message_id),
    attachmentBytes: async (sha256) =>
      bytesOrNull(prepare("SELECT bytes FROM attachment_bytes WHERE sha256 = ?").get(sha256)?.bytes),

    erasure: async (id) => {
      const row = prepare("SELECT * FROM erasures WHERE id = ?").get(id);
      return row ? erasureOf(row) : null;
    },

    inbound: async (chat_jid, message_id) => {
      const row = prepare(
        `SELECT i.* FROM messages m JOIN inbound i ON i.chat_jid = m.chat_jid AND i.seq = m.seq
         WHERE m.id = ? AND m.chat_jid = ?`,
      ).get(message_id, chat_jid);
      return row ? inboundOf(row) : null;
    },
    inbounds: (query) => readInbounds(prepare, query),
    lastAdmitted: async ({ chat_jid, thread_id, senders, since, reasons }) => {
      const row = prepare(
        `SELECT max(i.received_at) AS last FROM inbound i CROSS JOIN messages m ON m.chat_jid = i.chat_jid AND m.seq = i.seq
         WHERE i.chat_jid = ? AND i.received_at >= ?
           AND i.seq > coalesce((SELECT seq FROM inbound WHERE chat_jid = ? AND received_at < ? ORDER BY seq DESC LIMIT 1), 0)
           AND i.reason IN (SELECT value FROM json_each(?))
           AND m.thread_id = ? AND m.sender IN (SELECT value FROM json_each(?))`,
      ).get(chat_jid, since, chat_jid, since, JSON.stringify(reasons), thread_id, JSON.stringify(senders));
      return row?.last === null || row?.last === undefined ? null : number(row.last);
    },

    untaken: (chat_jid, thread_id, limit) => readUntaken(prepare, chat_jid, thread_id, limit),
    untold: async (chat_jid, thread_id, limit) =>
      messagesOf(
        prepare,
        chat_jid,
        prepare(
          `SELECT ${MESSAGE} FROM messages m INDEXED BY messages_untold
           WHERE chat_jid = ? AND thread_id = ? AND untold = 1 ORDER BY seq LIMIT ?`,
        ).all(chat_jid, thread_id, limit),
      ),
  };
}

/** Where a chat is flooded, others go first every so often. What comes in meanwhile stands behind what was read. */
async function readUntaken(
  prepare: Prepare,
  chat_jid: string,
  thread_id: string,
  limit: number,
): Promise<MessageRow[]> {
  const found: MessageRow[] = [];
  for (;;) {
    const page = Math.min(UNTAKEN_SLICE, limit - found.length);
    const rows = prepare(
      `SELECT ${MESSAGE} FROM messages m INDEXED BY messages_untaken
       WHERE chat_jid = ? AND thread_id = ? AND untaken = 1 AND seq > ? ORDER BY seq LIMIT ?`,
    ).all(chat_jid, thread_id, found.at(-1)?.seq ?? 0, page);
    found.push(...messagesOf(prepare, chat_jid, rows));
    if (rows.length < page || found.length >= limit) return found;
    await setImmediate();
  }
}

async function readMessages(prepare: Prepare, query: MessageQuery): Promise<MessageRow[]> {
  const { chat_jid, after_seq, before_seq, limit } = query;
  const descending = after_seq === null && before_seq !== null;
  const range: Range = {
    low: (after_seq ?? 0) + 1,
    high: Math.min(
      before_seq === null ? Number.MAX_SAFE_INTEGER : before_seq - 1,
      lastSeq(prepare, chat_jid),
    ),
    limit,
    descending,
  };
  const { where, values } = filterOf(query);
  const order = descending ? "DESC" : "ASC";
  const read = (from: string, low: number, high: number, left: number): Row[] =>
    prepare(
      `SELECT ${MESSAGE} FROM ${from} WHERE chat_jid = ? AND seq BETWEEN ? AND ? ${where}
       ORDER BY seq ${order} LIMIT ?`,
    ).all(chat_jid, low, high, ...values, left);
  const rows = fewSince(prepare, query)
    ? read("messages m INDEXED BY idx_messages_by_chat", range.low, range.high, limit)
    : await slices(range, stepFor(query), (low, high, left) => read("messages m", low, high, left));
  return messagesOf(prepare, chat_jid, descending ? rows.reverse() : rows);
}

function filterOf({ message_type, sender, since }: MessageQuery): { where: string; values: SqlValue[] } {
  const filters: [string, string | null][] = [
    // Said twice so that the index over everything that is not a person's can be used.
    [
      message_type === "user" ? "AND message_type = ?" : "AND message_type <> 'user' AND message_type = ?",
      message_type,
    ],
    ["AND sender = ?", sender],
    ["AND timestamp > ?", since ?? null],
  ];
  const given = filters.filter(([, value]) => value !== null);
  return { where: given.map(([sql]) => sql).join(" "), values: given.map(([, value]) => value) };
}

/** How many numbers to look at in one go: as many as are wanted, unless a filter without an index leaves some out. */
function stepFor({ message_type, sender, since, limit }: MessageQuery): number {
  if (sender !== null || (since ?? null) !== null || message_type === "user") return SLICE;
  return message_type === null ? Math.max(limit, 1) : Number.MAX_SAFE_INTEGER;
}

/** Only few messages are stamped later than asked, which is what most who ask for a time want: read just those. */
function fewSince(prepare: Prepare, { chat_jid, since }: MessageQuery): boolean {
  if ((since ?? null) === null) return false;
  const row = prepare(
    `SELECT count(*) AS found FROM (SELECT 1 FROM messages INDEXED BY idx_messages_by_chat
     WHERE chat_jid = ? AND timestamp > ? LIMIT ?)`,
  ).get(chat_jid, since ?? null, SLICE);
  return number(row?.found) < SLICE;
}

async function readInbounds(prepare: Prepare, query: Parameters<StoreReads["inbounds"]>[0]) {
  const { chat_jid, outcome, after_seq, limit } = query;
  if (outcome === "pending") {
    return prepare(
      "SELECT * FROM inbound WHERE chat_jid = ? AND outcome = 'pending' AND seq > ? ORDER BY seq LIMIT ?",
    )
      .all(chat_jid, after_seq, limit)
      .map(inboundOf);
  }
  const range: Range = { low: after_seq + 1, high: lastSeq(prepare, chat_jid), limit, descending: false };
  const rows = await slices(range, SLICE, (low, high, left) =>
    prepare(
      `SELECT * FROM inbound WHERE chat_jid = ? AND seq BETWEEN ? AND ? AND outcome = coalesce(?, outcome)
       ORDER BY seq LIMIT ?`,
    ).all(chat_jid, low, high, outcome, left),
  );
  return rows.map(inboundOf);
}

type Range = { low: number; high: number; limit: number; descending: boolean };

/** Read a range of numbers, `step` of them at a time, until enough is found. Numbers have no gaps. */
async function slices(
  range: Range,
  step: number,
  read: (low: number, high: number, left: number) => Row[],
): Promise<Row[]> {
  const found: Row[] = [];
  let { low, high } = range;
  while (low <= high && found.length < range.limit) {
    const from = range.descending ? Math.max(low, high - step + 1) : low;
    const to = range.descending ? high : Math.min(high, low + step - 1);
    for (const row of read(from, to, range.limit - found.length)) found.push(row);
    if (range.descending) high = from - 1;
    else low = to + 1;
    if (low <= high && found.length < range.limit) await setImmediate();
  }
  return found;
}

function lastSeq(prepare: Prepare, chat_jid: string): number {
  const row = prepare("SELECT last_seq FROM chats WHERE jid = ?").get(chat_jid);
  return row ? number(row.last_seq) : 0;
}

/** All a message ever said, the newest last; null where it was deleted. */
function readRevisions(prepare: Prepare, chat_jid: string, message_id: string): Revision[] {
  const newest = prepare(
    "SELECT revision, content, timestamp, edited_at, deleted_at FROM messages WHERE id = ? AND chat_jid = ?",
  ).get(message_id, chat_jid);
  if (!newest) return [];
  const earlier = prepare(
    "SELECT revision, content, at FROM revisions WHERE chat_jid = ? AND message_id = ? ORDER BY revision",
  ).all(chat_jid, message_id);
  return [
    ...earlier.map((row) => ({
      revision: number(row.revision),
      content: textOrNull(row.content),
      at: text(row.at),
    })),
    {
      revision: number(newest.revision),
      content: newest.deleted_at === null ? text(newest.content) : null,
      at: text(newest.deleted_at ?? newest.edited_at ?? newest.timestamp),
    },
  ];
}
