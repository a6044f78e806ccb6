import type { MessageRow } from "../../../message/index.js";
import { bytesOrNull, number, text, textOrNull } from "../../rows/columns.js";
import { erasureOf, inboundOf } from "../../rows/values.js";
import type { Inbound, MessageQuery, Revision, StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { first } from "./first.js";
import { MESSAGE, messagesOf } from "./rows.js";

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

export function messageReads(query: Query, clock: (() => number) | null): MessageReads {
  const asked = (): number | null => (clock ? Math.floor(clock()) : null);
  return {
    message: async (chat_jid, id) => {
      const rows = await query(
        `SELECT ${MESSAGE} FROM messages m WHERE chat_jid || '' = $1 AND id = $2`,
        chat_jid,
        id,
      );
      return (await messagesOf(query, chat_jid, rows))[0] ?? null;
    },
    messages: async (wanted) => messagesOf(query, wanted.chat_jid, await messageRows(query, wanted)),
    messagesOfTurn: async (chat_jid, turn_id) =>
      messagesOf(
        query,
        chat_jid,
        await query(
          `SELECT ${MESSAGE} FROM messages m WHERE turn_id = $1 AND chat_jid || '' = $2 ORDER BY seq`,
          turn_id,
          chat_jid,
        ),
      ),
    revisions: (chat_jid, message_id) => readRevisions(query, chat_jid, message_id),
    attachmentBytes: (sha256) =>
      first(query("SELECT bytes FROM attachment_bytes WHERE sha256 = $1", sha256), (row) =>
        bytesOrNull(row.bytes),
      ),

    inbound: (chat_jid, message_id) => {
      return first(
        query(
          `SELECT i.*, longhand_apart(longhand_now() - $3::bigint) AS skew FROM messages m JOIN inbound i ON i.chat_jid = m.chat_jid AND i.seq = m.seq
           WHERE m.chat_jid || '' = $1 AND m.id = $2`,
          chat_jid,
          message_id,
          asked(),
        ),
        inboundBy,
      );
    },
    inbounds: async ({ chat_jid, outcome, after_seq, limit }) => {
      const which =
        outcome === "pending" ? "outcome = 'pending' AND outcome = $4" : "outcome = coalesce($4, outcome)";
      const rows = await query(
        `SELECT *, longhand_apart(longhand_now() - $5::bigint) AS skew FROM inbound WHERE chat_jid = $1 AND seq > $2 AND ${which} ORDER BY seq LIMIT $3`,
        chat_jid,
        after_seq,
        limit,
        outcome,
        asked(),
      );
      return rows.map(inboundBy);
    },
    lastAdmitted: async ({ chat_jid, thread_id, senders, since, reasons }) => {
      // What came in is looked up one by one, because it is few: no guess of the planner's may go through the whole chat.
      const [row] = await query(
        `WITH moment AS MATERIALIZED (SELECT longhand_apart(longhand_now() - $3::bigint) AS skew)
         SELECT max(i.received_at) - (SELECT skew FROM moment) AS last FROM inbound i
         CROSS JOIN LATERAL (
           SELECT 1 FROM messages m WHERE m.chat_jid = i.chat_jid AND m.seq = i.seq
             AND m.thread_id = $4 AND m.sender = ANY ($5::text[]) LIMIT 1) AS said
         WHERE i.chat_jid = $1 AND i.received_at >= $2::bigint + (SELECT skew FROM moment)
           AND i.reason = ANY ($6::text[])
           AND i.seq > coalesce((SELECT seq FROM inbound WHERE chat_jid = $1
             AND received_at < $2::bigint + (SELECT skew FROM moment) ORDER BY seq DESC LIMIT 1), 0)`,
        chat_jid,
        Math.floor(since),
        asked(),
        thread_id,
        senders,
        reasons,
      );
      return typeof row?.last === "number" ? row.last : null;
    },

    erasure: (id) => first(query("SELECT * FROM erasures WHERE id = $1", id), erasureOf),

    untaken: (chat_jid, thread_id, limit) => markedRows(query, "untaken", chat_jid, thread_id, limit),
    untold: (chat_jid, thread_id, limit) => markedRows(query, "untold", chat_jid, thread_id, limit),
  };
}

/** Messages of a thread that wait for something a turn does with them. */
async function markedRows(
  query: Query,
  mark: "untaken" | "untold",
  chat_jid: string,
  thread_id: string,
  limit: number,
): Promise<MessageRow[]> {
  const rows = await query(
    `SELECT ${MESSAGE} FROM messages m WHERE chat_jid = $1 AND thread_id = $2 AND ${mark} = 1 ORDER BY seq LIMIT $3`,
    chat_jid,
    thread_id,
    limit,
  );
  return messagesOf(query, chat_jid, rows);
}

/** When it came in is kept by the database's clock and told by the asker's, who looked at it just before asking. */
function inboundBy(row: Row): Inbound {
  const inbound = inboundOf(row);
  if (inbound.received_at === 0) return inbound;
  return { ...inbound, received_at: inbound.received_at - number(row.skew) };
}

async function messageRows(query: Query, wanted: MessageQuery): Promise<Row[]> {
  const { chat_jid, after_seq, before_seq, message_type, sender, limit } = wanted;
  const values: unknown[] = [chat_jid];
  const filters = ["chat_jid = $1"];
  const filter = (sql: string, value: unknown): void => {
    if (value === null) return;
    filters.push(`${sql} $${values.push(value)}`);
  };
  filter("seq >", after_seq);
  filter("seq <", before_seq);
  // Said twice so that the index over everything that is not a person's can be used.
  filter(
    message_type === "user" ? "message_type =" : "message_type <> 'user' AND message_type =",
    message_type,
  );
  filter("sender =", sender);
  filter("timestamp >", wanted.since ?? null);
  const descending = after_seq === null && before_seq !== null;
  const rows = await query(
    `SELECT ${MESSAGE} FROM messages m WHERE ${filters.join(" AND ")}
     ORDER BY seq ${descending ? "DESC" : "ASC"} LIMIT $${values.push(limit)}`,
    ...values,
  );
  return descending ? rows.reverse() : rows;
}

/** All a message ever said, the newest last; null where it was deleted. */
async function readRevisions(query: Query, chat_jid: string, message_id: string): Promise<Revision[]> {
  const rows = await query(
    `SELECT revision, content, at FROM revisions WHERE chat_jid = $1 AND message_id = $2
     UNION ALL
     SELECT revision, CASE WHEN deleted_at IS NULL THEN content END, coalesce(deleted_at, edited_at, timestamp)
     FROM messages WHERE chat_jid || '' = $1 AND id = $2
     ORDER BY revision`,
    chat_jid,
    message_id,
  );
  return rows.map((row) => ({
    revision: number(row.revision),
    content: textOrNull(row.content),
    at: text(row.at),
  }));
}
