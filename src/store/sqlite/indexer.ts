import { gramsOf } from "../search.js";
import { type Database, type Prepare, type Row, unavailability } from "./driver.js";
import { rollback } from "./migrate.js";
import { number, text } from "./columns.js";

/** A message's row in the index: its chat's number times this, plus its own number. */
export const CHAT_SPAN = 2 ** 32;

/** Between control characters, which no gram holds, the index takes grams as they are. */
const SEPARATOR = "\u0001";
const CHUNK_EVENTS = 200;
const CHUNK_CHARACTERS = 100_000;

/**
 * Index a stretch of the log. True when there is more. Reading the log instead of being told at the commit keeps
 * indexing out of the way of whoever waits for a message to be stored; edits and deletions come by the same road.
 */
export function indexChunk(db: Database): boolean {
  const { prepare } = db;
  const start = number(prepare("SELECT cursor FROM search_progress").get()?.cursor);
  const events = prepare(
    `SELECT e.cursor, c.number, m.seq, m.content FROM events e
     LEFT JOIN messages m ON e.type IN ('message', 'host', 'message.revised')
       AND m.id = e.refs ->> '$.message_id' AND m.chat_jid = e.chat_jid
     LEFT JOIN chats c ON c.jid = m.chat_jid
     WHERE e.cursor > ? ORDER BY e.cursor LIMIT ?`,
  ).all(start, CHUNK_EVENTS);
  if (events.length === 0) return false;
  try {
    // The index can be made again from the log, so it need not wait for the disk.
    db.exec("PRAGMA synchronous = NORMAL");
    prepare("BEGIN IMMEDIATE").run();
    const reached = indexSome(prepare, events);
    prepare("UPDATE search_progress SET cursor = ?").run(reached);
    prepare("COMMIT").run();
    return true;
  } catch (error) {
    rollback(db);
    if (unavailability(error) === null) throw error;
    return false;
  }
}

function indexSome(prepare: Prepare, events: readonly Row[]): number {
  let characters = 0;
  let reached = 0;
  for (const event of events) {
    reached = number(event.cursor);
    if (event.seq === null || event.number === null) continue;
    const content = text(event.content);
    characters += content.length;
    indexMessage(prepare, number(event.number) * CHAT_SPAN + number(event.seq), content);
    if (characters > CHUNK_CHARACTERS) break;
  }
  return reached;
}

function indexMessage(prepare: Prepare, rowid: number, content: string): void {
  // Searching finds the newest words only, so what a message said before is taken out.
  prepare("DELETE FROM search WHERE rowid = ?").run(rowid);
  if (content === "") return;
  prepare("INSERT INTO search (rowid, grams) VALUES (?, ?)").run(rowid, gramsOf(content).join(SEPARATOR));
}
