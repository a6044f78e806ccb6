import { ERASED_SENDER } from "../../../message/index.js";

export const MESSAGE_FUNCTIONS = `
/* The number of the message in its chat, whose row is locked: numbers have no gaps and are seen in their order. */
CREATE FUNCTION longhand_message(f jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  next_seq bigint;
  used idempotency;
  erased_here bigint;
  secret bytea;
  erased_id text;
BEGIN
  UPDATE chats SET last_seq = last_seq + 1 WHERE jid = f->>'chat_jid' AND removed_at IS NULL
    RETURNING last_seq, erased, block_key INTO next_seq, erased_here, secret;
  IF next_seq IS NULL THEN PERFORM longhand_conflict(format('chat %s is not registered', f->>'chat_jid')); END IF;
  IF erased_here > 0 THEN
    SELECT message_id INTO erased_id FROM erased_keys WHERE chat_jid = f->>'chat_jid' AND sha256 IN (
      longhand_erased_key(secret, 'idempotency', f->>'idempotency_key'),
      longhand_erased_key(secret, 'dedupe', f->>'dedupe_key')) LIMIT 1;
    IF erased_id IS NOT NULL THEN PERFORM longhand_duplicate(f->>'chat_jid', erased_id); END IF;
  END IF;
  IF f->>'idempotency_key' IS NOT NULL THEN
    INSERT INTO idempotency (chat_jid, key, body_sha256, message_id)
      VALUES (f->>'chat_jid', f->>'idempotency_key', f->>'body_sha256', f->>'id') ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT * INTO used FROM idempotency WHERE chat_jid = f->>'chat_jid' AND key = f->>'idempotency_key';
      IF used.body_sha256 <> f->>'body_sha256' THEN
        PERFORM longhand_conflict('this idempotency key was already used for another body');
      END IF;
      PERFORM longhand_duplicate(f->>'chat_jid', used.message_id);
    END IF;
  END IF;
  INSERT INTO messages (id, chat_jid, sender, sender_name, content, timestamp, is_from_me, message_type, metadata,
      turn_id, call_id, part, dedupe_key, thread_id, untaken, seq)
    VALUES (f->>'id', f->>'chat_jid', f->>'sender', f->>'sender_name', f->>'content', f->>'timestamp',
      (f->>'is_from_me')::bigint, f->>'message_type', f->>'metadata', f->>'turn_id', f->>'call_id',
      (f->>'part')::bigint, f->>'dedupe_key', f->>'thread_id', (f->>'untaken')::bigint, next_seq)
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    PERFORM longhand_duplicate(f->>'chat_jid', coalesce(
      (SELECT id FROM messages WHERE chat_jid || '' = f->>'chat_jid' AND dedupe_key = f->>'dedupe_key'), f->>'id'));
  END IF;
  RETURN next_seq;
END $$;

CREATE FUNCTION longhand_duplicate(jid text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM longhand_refuse(jsonb_build_object('status', 'duplicate', 'chat_jid', jid, 'message_id', message));
END $$;

CREATE FUNCTION longhand_about_message(f jsonb, bytes bytea, skew bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  m messages;
  outcome_so_far text;
BEGIN
  SELECT * INTO m FROM messages WHERE chat_jid || '' = f->>'chat_jid' AND id = f->>'message_id';
  CASE f->>'type'
    WHEN 'inbound' THEN
      INSERT INTO inbound (chat_jid, seq, message_id, admission, reason, outcome, outcome_reason, turn_id, received_at)
        SELECT m.chat_jid, m.seq, m.id, f->>'admission', f->>'reason', f->>'outcome', f->>'outcome_reason',
          f->>'turn_id', CASE (f->>'received_at')::bigint WHEN 0 THEN 0 ELSE (f->>'received_at')::bigint + longhand_apart(skew) END
        WHERE m.id IS NOT NULL
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        PERFORM longhand_conflict(format('there is no message %s, or it was already admitted', f->>'message_id'));
      END IF;
    WHEN 'outcome' THEN
      UPDATE inbound SET outcome = f->>'outcome', outcome_reason = f->>'reason', turn_id = f->>'turn_id'
        WHERE outcome = 'pending' AND chat_jid = f->>'chat_jid' AND seq = m.seq;
      IF NOT FOUND THEN
        outcome_so_far := longhand_outcome(f->>'chat_jid', f->>'message_id');
        PERFORM longhand_conflict(CASE WHEN outcome_so_far IS NULL
          THEN format('message %s is not an inbound message', f->>'message_id')
          ELSE format('message %s already ended: %s', f->>'message_id', outcome_so_far) END);
      END IF;
    WHEN 'revision' THEN
      IF m.id IS NULL THEN PERFORM longhand_conflict(format('there is no message %s', f->>'message_id')); END IF;
      IF m.deleted_at IS NOT NULL THEN
        PERFORM longhand_conflict(format('message %s is deleted', f->>'message_id'));
      END IF;
      INSERT INTO revisions (chat_jid, message_id, revision, content, at)
        VALUES (m.chat_jid, m.id, m.revision, m.content, coalesce(m.edited_at, m.timestamp));
      UPDATE messages SET content = coalesce(f->>'content', ''), revision = revision + 1,
          edited_at = CASE WHEN f->>'content' IS NULL THEN edited_at ELSE f->>'at' END,
          deleted_at = CASE WHEN f->>'content' IS NULL THEN f->>'at' END,
          /* Did a turn put what a person said on the tree? Commands, and what was ignored, never get there. */
          untold = (f->>'content' IS NOT NULL AND message_type = 'user' AND untaken = 0 AND NOT EXISTS (
            SELECT 1 FROM inbound i WHERE i.chat_jid = m.chat_jid AND i.seq = m.seq
              AND (i.admission = 'command' OR i.outcome = 'ignored')))::int
        WHERE chat_jid || '' = m.chat_jid AND id = m.id;
      INSERT INTO search_stale (chat, bucket)
        SELECT number, (m.seq - 1) / 64 FROM chats WHERE jid = m.chat_jid AND indexed_seq >= m.seq
        ON CONFLICT DO NOTHING;
      /* A summary that may say what is deleted is not read any more: what it covered is, without that. */
      IF f->>'content' IS NULL AND m.message_type NOT IN ('host', 'system') THEN
        UPDATE entries SET data = json_build_object('erased', f->>'at')::text
          WHERE chat_jid = m.chat_jid AND kind IN ('compaction', 'branch_summary')
            AND (m.message_type <> 'user' OR thread_id = m.thread_id)
            AND (data::json #>> '{covers,seq}')::bigint >= m.seq;
      END IF;
    WHEN 'edit_told' THEN
      UPDATE messages SET untold = 0
        WHERE chat_jid || '' = m.chat_jid AND id = m.id AND revision = (f->>'revision')::bigint;
    WHEN 'attachment' THEN
      IF m.id IS NULL THEN PERFORM longhand_conflict(format('there is no message %s', f->>'message_id')); END IF;
      /* Nothing is attached to a tombstone, though it was on its way. */
      IF m.sender = '${ERASED_SENDER}' THEN RETURN; END IF;
      IF m.attached = 0 THEN
        UPDATE messages SET attached = 1 WHERE chat_jid || '' = m.chat_jid AND id = m.id;
      END IF;
      INSERT INTO attachments (chat_jid, message_id, position, name, mime_type, size, sha256, state, reason, url,
          seen_sha256, transcript)
        SELECT chat_jid, message_id, position, name, mime_type, size, sha256, state, reason, url, seen_sha256, transcript
        FROM jsonb_populate_record(NULL::attachments, f)
        ON CONFLICT (chat_jid, message_id, position) DO UPDATE SET name = excluded.name,
          mime_type = excluded.mime_type, size = excluded.size, sha256 = excluded.sha256,
          state = excluded.state, reason = excluded.reason, url = excluded.url,
          seen_sha256 = excluded.seen_sha256, transcript = excluded.transcript;
      IF f ? 'at' AND coalesce(f->>'seen_sha256', f->>'sha256') IS NOT NULL THEN
        INSERT INTO attachment_bytes (sha256, bytes)
          VALUES (coalesce(f->>'seen_sha256', f->>'sha256'), substring(bytes FROM (f->>'at')::int + 1 FOR (f->>'length')::int))
          ON CONFLICT DO NOTHING;
      END IF;
  END CASE;
END $$;
`;
