import binding from "./binding.cjs";

/**
 * What was said long ago, in bulk: SQL that fills the tables a window is read from (messages, their entries on the
 * tree, the receipts of the answers), because a million commits would take minutes. Search and the log stay empty.
 */

/** Ids that sort as they were made. @param {string} kind one hexadecimal digit @param {string} number as SQL */
const idSql = (kind, number) => `printf('0193${kind}000-0000-7000-8000-%012d', ${number})`;
const TIME = "strftime('%Y-%m-%dT%H:%M:%fZ', 1704067200 + i * 60, 'unixepoch')";
const IS_ANSWER = "i % 4 = 3";
const PERSON = "(i % 20)";

const MESSAGES = `
INSERT INTO messages (id, chat_jid, sender, sender_name, content, timestamp, is_from_me, message_type, metadata, seq,
  call_id, part, dedupe_key)
SELECT ${idSql("a", "i")}, ?1,
  iif(${IS_ANSWER}, 'bot', 'slack:U' || ${PERSON}), iif(${IS_ANSWER}, 'Longhand', 'Person ' || ${PERSON}),
  i || replace(hex(zeroblob(1 + i % 4)), '00', ': the figures from the north still do not add up, I looked at them again.'),
  ${TIME}, ${IS_ANSWER}, iif(${IS_ANSWER}, 'assistant', 'user'),
  iif(${IS_ANSWER}, '{}', json_object('source', 'slack', 'sender_id', 'slack:U' || ${PERSON},
    'sender_display_name', 'Person ' || ${PERSON}, 'sender_type', 'human')),
  i + 1, iif(${IS_ANSWER}, ${idSql("c", "i")}, NULL), iif(${IS_ANSWER}, 0, NULL),
  iif(${IS_ANSWER}, NULL, printf('%064d', i))
FROM number`;

const ENTRIES = `
INSERT INTO entries (id, chat_jid, thread_id, parent, kind, message_id, at, data)
SELECT ${idSql("b", "i")}, ?1, '', iif(i = 0, NULL, ${idSql("b", "i - 1")}), 'message', ${idSql("a", "i")}, ${TIME},
  iif(${IS_ANSWER}, '{}', json_object('label', 'Person ' || ${PERSON}, 'mention_token', NULL, 'time_line', NULL,
    'trigger_end', 0, 'revision', 0, 'attachments', json('[]')))
FROM number`;

/** @param {object} call what every receipt says, apart from its id */
const calls = (call) => `
INSERT INTO calls (id, chat_jid, started_at, status, base_count, block_count, depth, left_out, breaks, envelope)
SELECT ${idSql("c", "i")}, ?1, ${TIME}, 'ok', 0, 0, 0, '[]', '[]',
  json_set('${JSON.stringify(call)}', '$.id', ${idSql("c", "i")})
FROM number WHERE ${IS_ANSWER}`;

/**
 * @param {string} path of a database in which the chat is registered and nothing was said
 * @param {{ jid: string, messages: number, call: object }} history
 */
export function writeHistory(path, { jid, messages, call }) {
  const db = new binding.DatabaseSync(path);
  // Nothing here is worth saving from a crash.
  for (const pragma of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -400000"])
    db.exec(`PRAGMA ${pragma}`);
  db.exec("BEGIN");
  const numbers = `WITH RECURSIVE number (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM number WHERE i + 1 < ?2)`;
  for (const insert of [MESSAGES, ENTRIES, calls(call)]) {
    db.prepare(insert.replace(/\nSELECT/, `\n${numbers}\nSELECT`)).run(jid, messages);
  }
  db.prepare("UPDATE chats SET last_seq = ? WHERE jid = ?").run(messages, jid);
  db.exec("COMMIT");
  db.close();
}
