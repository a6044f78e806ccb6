/**
 * The database, as a list of steps from nothing to now. A step that has been released is never changed: add one.
 * The first columns of `messages` are the ones every reader of the seeds knows.
 */
export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE chats (
  number INTEGER PRIMARY KEY,
  jid TEXT NOT NULL UNIQUE,
  last_seq INTEGER NOT NULL DEFAULT 0,
  indexed_seq INTEGER NOT NULL DEFAULT 0 /* searching needs no reading up to here */,
  block_key BLOB NOT NULL,
  registered_at TEXT NOT NULL,
  removed_at TEXT,
  settings TEXT NOT NULL /* JSON */
) STRICT;
CREATE INDEX chats_unindexed ON chats(number) WHERE last_seq - indexed_seq >= 64;

CREATE TABLE bindings (
  address TEXT PRIMARY KEY,
  chat_jid TEXT NOT NULL,
  position INTEGER NOT NULL,
  channel TEXT NOT NULL,
  mode TEXT NOT NULL,
  trace TEXT NOT NULL,
  threads TEXT NOT NULL
) STRICT;
CREATE INDEX bindings_by_chat ON bindings(chat_jid, position);

CREATE TABLE addresses (
  address TEXT PRIMARY KEY,
  channel TEXT NOT NULL,
  name TEXT NOT NULL,
  first_seen TEXT NOT NULL,
  last_seen TEXT NOT NULL,
  count INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
  id TEXT NOT NULL,
  chat_jid TEXT NOT NULL,
  sender TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  content TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  is_from_me INTEGER NOT NULL DEFAULT 0,
  message_type TEXT NOT NULL DEFAULT 'user',
  metadata TEXT NOT NULL DEFAULT '{}' /* JSON */,
  seq INTEGER NOT NULL,
  turn_id TEXT,
  call_id TEXT,
  part INTEGER,
  dedupe_key TEXT,
  thread_id TEXT NOT NULL DEFAULT '',
  untaken INTEGER NOT NULL DEFAULT 0,
  attached INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  edited_at TEXT,
  deleted_at TEXT,
  PRIMARY KEY (id, chat_jid)
) STRICT;
CREATE INDEX idx_messages_by_chat ON messages(chat_jid, timestamp);
CREATE UNIQUE INDEX messages_by_seq ON messages(chat_jid, seq);
CREATE UNIQUE INDEX messages_once ON messages(chat_jid, dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX messages_by_type ON messages(chat_jid, message_type, seq) WHERE message_type <> 'user';
CREATE INDEX messages_by_turn ON messages(turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX messages_untaken ON messages(chat_jid, thread_id, seq) WHERE untaken = 1;

CREATE TABLE revisions (
  chat_jid TEXT NOT NULL,
  message_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  content TEXT,
  at TEXT NOT NULL,
  PRIMARY KEY (chat_jid, message_id, revision)
) STRICT;

CREATE TABLE idempotency (
  chat_jid TEXT NOT NULL,
  key TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  message_id TEXT NOT NULL,
  PRIMARY KEY (chat_jid, key)
) STRICT;

CREATE TABLE inbound (
  chat_jid TEXT NOT NULL,
  seq INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  admission TEXT NOT NULL,
  reason TEXT NOT NULL,
  outcome TEXT NOT NULL,
  outcome_reason TEXT NOT NULL,
  turn_id TEXT,
  PRIMARY KEY (chat_jid, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbound_pending ON inbound(chat_jid, seq) WHERE outcome = 'pending';

CREATE TABLE attachments (
  chat_jid TEXT NOT NULL,
  message_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  url TEXT,
  PRIMARY KEY (chat_jid, message_id, position)
) STRICT;

CREATE TABLE attachment_bytes (
  sha256 TEXT PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE work (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  lane TEXT NOT NULL,
  chat_jid TEXT NOT NULL,
  ref TEXT NOT NULL,
  run_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX work_by_lane ON work(lane);

CREATE TABLE lanes (
  lane TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  chat_jid TEXT NOT NULL,
  free_at INTEGER,
  lease_until INTEGER,
  holder TEXT,
  fence INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX lanes_free ON lanes(kind, free_at) WHERE free_at IS NOT NULL;
CREATE INDEX lanes_held ON lanes(holder) WHERE holder IS NOT NULL;

CREATE TABLE outbox (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  chat_jid TEXT NOT NULL,
  message_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  part INTEGER NOT NULL,
  channel TEXT NOT NULL,
  address TEXT NOT NULL,
  thread_id TEXT,
  state TEXT NOT NULL,
  reason TEXT,
  external_id TEXT,
  attempts INTEGER NOT NULL,
  last_error TEXT,
  retry_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_by_chat ON outbox(chat_jid);
CREATE INDEX outbox_by_message ON outbox(message_id, chat_jid);
CREATE INDEX outbox_unsent ON outbox(state) WHERE state <> 'sent';
CREATE INDEX outbox_by_external_id ON outbox(address, external_id) WHERE external_id IS NOT NULL;

CREATE TABLE turns (
  id TEXT PRIMARY KEY,
  chat_jid TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  trigger_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  status TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX turns_running ON turns(chat_jid, thread_id) WHERE status = 'running';

CREATE TABLE entries (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  chat_jid TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  parent TEXT,
  kind TEXT NOT NULL,
  message_id TEXT,
  turn_id TEXT,
  at TEXT NOT NULL,
  data TEXT NOT NULL /* JSON */
) STRICT;
CREATE UNIQUE INDEX entries_by_id ON entries(id, chat_jid);
CREATE INDEX entries_by_chat ON entries(chat_jid);

CREATE TABLE threads (
  chat_jid TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  head TEXT,
  PRIMARY KEY (chat_jid, thread_id)
) STRICT;

CREATE TABLE head_moves (
  n INTEGER PRIMARY KEY,
  chat_jid TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  from_entry TEXT,
  to_entry TEXT,
  reason TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX head_moves_by_thread ON head_moves(chat_jid, thread_id);

CREATE TABLE labels (
  chat_jid TEXT NOT NULL,
  folded TEXT NOT NULL,
  label TEXT NOT NULL,
  sender TEXT NOT NULL,
  PRIMARY KEY (chat_jid, folded)
) STRICT;

CREATE TABLE calls (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  chat_jid TEXT NOT NULL,
  turn_id TEXT,
  thread_id TEXT /* of its turn, when it was made to answer */,
  started_at TEXT NOT NULL,
  status TEXT NOT NULL,
  base_call_id TEXT /* its request: the blocks of that call up to base_count, then call_blocks */,
  base_count INTEGER NOT NULL,
  block_count INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  left_out TEXT NOT NULL /* JSON */,
  breaks TEXT NOT NULL /* JSON */,
  envelope TEXT NOT NULL /* JSON */
) STRICT;
CREATE INDEX calls_by_chat ON calls(chat_jid);
CREATE INDEX calls_by_thread ON calls(chat_jid, thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX calls_by_turn ON calls(turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE call_blocks (
  call_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  block_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  size INTEGER NOT NULL,
  sources TEXT NOT NULL /* JSON */,
  PRIMARY KEY (call_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_parts (
  call_id TEXT NOT NULL,
  part INTEGER NOT NULL,
  type TEXT /* text or thinking, while it streams */,
  content TEXT /* so far, while it streams */,
  leftover TEXT /* JSON, once it ended */,
  PRIMARY KEY (call_id, part)
) STRICT;

CREATE TABLE blocks (
  chat_jid TEXT NOT NULL,
  id TEXT NOT NULL,
  bytes BLOB /* null: erased */,
  PRIMARY KEY (chat_jid, id)
) STRICT;

CREATE TABLE events (
  cursor INTEGER PRIMARY KEY /* one more than the newest, so whoever drops old events keeps the newest */,
  chat_jid TEXT NOT NULL,
  type TEXT NOT NULL,
  at TEXT NOT NULL,
  refs TEXT NOT NULL /* JSON */
) STRICT;
CREATE INDEX events_by_chat ON events(chat_jid);

CREATE TABLE people (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE person_senders (
  sender TEXT PRIMARY KEY,
  person_id TEXT NOT NULL
) STRICT;
CREATE INDEX person_senders_by_person ON person_senders(person_id);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL /* JSON */,
  created_at TEXT NOT NULL
) STRICT;

/* Which buckets of a chat's messages hold which stretches of characters: see indexer.ts. No text in it. */
CREATE VIRTUAL TABLE search USING fts5(
  grams, content = '', contentless_delete = 1, detail = none,
  tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Z* Cf Cn Co Cs'"
);
CREATE TABLE search_stale (
  chat INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  PRIMARY KEY (chat, bucket)
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE inbound ADD COLUMN received_at INTEGER NOT NULL DEFAULT 0 /* milliseconds by our clock; 0: not noted */;
ALTER TABLE turns ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN person_id TEXT;

ALTER TABLE lanes ADD COLUMN tries INTEGER NOT NULL DEFAULT 0 /* claims since it was last settled */;
ALTER TABLE lanes ADD COLUMN since INTEGER NOT NULL DEFAULT 0 /* grows each time a lane comes to wait */;
DROP INDEX lanes_free;
CREATE INDEX lanes_free ON lanes(kind, free_at, since) WHERE free_at IS NOT NULL;
CREATE INDEX lanes_since ON lanes(since);

CREATE TABLE tool_results (
  call_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  result TEXT NOT NULL /* JSON; gone once it is a message */,
  PRIMARY KEY (call_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE spent (
  account TEXT NOT NULL,
  day TEXT NOT NULL,
  calls INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  usd REAL NOT NULL,
  PRIMARY KEY (account, day)
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE people ADD COLUMN removed INTEGER NOT NULL DEFAULT 0 /* 1: only the id is kept, so that nobody gets it again */;

CREATE TABLE login_codes (
  sha256 TEXT PRIMARY KEY,
  person_id TEXT /* null: the operator's */,
  expires_at INTEGER NOT NULL /* milliseconds */
) STRICT, WITHOUT ROWID;
`,
  `
ALTER TABLE attachments ADD COLUMN seen_sha256 TEXT /* the bytes a model gets of it; null: no turn took it yet */;
ALTER TABLE attachments ADD COLUMN transcript TEXT;
`,
  `
ALTER TABLE messages ADD COLUMN untold INTEGER NOT NULL DEFAULT 0 /* 1: edited since a turn took it, and no entry says so */;
CREATE INDEX entries_summaries ON entries(chat_jid) WHERE kind IN ('compaction', 'branch_summary');
CREATE INDEX messages_untold ON messages(chat_jid, thread_id, seq) WHERE untold = 1;

ALTER TABLE chats ADD COLUMN erased INTEGER NOT NULL DEFAULT 0 /* how many of its messages were erased */;
CREATE TABLE erased_keys (
  chat_jid TEXT NOT NULL,
  sha256 TEXT NOT NULL /* of the chat's block_key and a dedupe or idempotency key: what was erased does not come back */,
  message_id TEXT NOT NULL,
  PRIMARY KEY (chat_jid, sha256)
) STRICT, WITHOUT ROWID;
CREATE TABLE erasures (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  messages INTEGER NOT NULL,
  attachments INTEGER NOT NULL,
  receipts INTEGER NOT NULL,
  summaries INTEGER NOT NULL,
  scrubbed INTEGER NOT NULL DEFAULT 0 /* 1: the file has been rewritten since */
) STRICT;
`,
  `
ALTER TABLE calls ADD COLUMN expired INTEGER NOT NULL DEFAULT 0 /* 1: its request is kept no longer */;
CREATE INDEX calls_kept ON calls(started_at) WHERE expired = 0;
`,
];
