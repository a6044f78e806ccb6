import { ERASED_SENDER } from "../../../message/index.js";
import { alreadyErased, ERASED, SOURCES_WITH_WORDS } from "../../erased.js";
import { BUCKET } from "../indexer.js";

const WITH_WORDS = `ARRAY['${SOURCES_WITH_WORDS.join("', '")}']`;

export const ERASE_FUNCTIONS = `
/* Leaves nothing of what these senders said. The dead rows that are left of it are vacuumed after the commit. */
CREATE FUNCTION longhand_erase(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  whom text[] := ARRAY(SELECT jsonb_array_elements_text(f->'senders'));
  called text[] := ARRAY(SELECT jsonb_array_elements_text(f->'names'));
  chat record;
  part erasures;
  total erasures;
BEGIN
  IF EXISTS (SELECT 1 FROM erasures WHERE id = f->>'id') THEN
    PERFORM longhand_conflict('${alreadyErased("")}' || (f->>'id'));
  END IF;
  total.messages := 0; total.attachments := 0; total.receipts := 0; total.summaries := 0;
  FOR chat IN
    SELECT m.chat_jid AS jid, array_agg(m.id::text) AS ids, array_agg(DISTINCT m.sender_name::text) AS names
    FROM messages m WHERE m.sender = ANY (whom)
      OR (m.sender IN ('system', 'deploy') AND m.metadata::json->>'sender_id' = ANY (whom))
    GROUP BY m.chat_jid ORDER BY m.chat_jid
  LOOP
    called := called || array_remove(chat.names, '');
    part := longhand_erase_in(chat.jid, chat.ids, f->>'at');
    total.messages := total.messages + part.messages;
    total.attachments := total.attachments + part.attachments;
    total.receipts := total.receipts + part.receipts;
    total.summaries := total.summaries + part.summaries;
  END LOOP;
  DELETE FROM attachment_bytes b WHERE NOT EXISTS (
    SELECT 1 FROM attachments a WHERE a.sha256 = b.sha256 OR a.seen_sha256 = b.sha256);
  DELETE FROM labels WHERE sender = ANY (whom);
  DELETE FROM addresses WHERE name = ANY (called) OR address = ANY (whom);
  DELETE FROM spent WHERE account = ANY (ARRAY(SELECT jsonb_array_elements_text(f->'accounts')));
  INSERT INTO erasures (id, at, messages, attachments, receipts, summaries)
    VALUES (f->>'id', f->>'at', total.messages, total.attachments, total.receipts, total.summaries);
END $$;

CREATE FUNCTION longhand_erase_in(jid text, said text[], erased_at text) RETURNS erasures LANGUAGE plpgsql AS $$
DECLARE
  found erasures;
  chat chats;
  gone text[];
  touched text[];
  summaries text[];
BEGIN
  SELECT * INTO chat FROM chats c WHERE c.jid = longhand_erase_in.jid FOR UPDATE;
  gone := ARRAY(SELECT id::text FROM messages WHERE chat_jid = chat.jid AND (id = ANY (said)
    OR (message_type IN ('host', 'tool_result') AND (metadata::json->>'answers' = ANY (said)
      OR (json_typeof(metadata::json->'quotes') = 'array' AND (metadata::jsonb->'quotes') ?| said)))) ORDER BY seq);
  /* Their keys stay taken, in a form that tells nobody what they were. */
  INSERT INTO erased_keys (chat_jid, sha256, message_id)
    SELECT chat_jid, longhand_erased_key(chat.block_key, 'dedupe', dedupe_key), id FROM messages
      WHERE chat_jid = chat.jid AND id = ANY (gone) AND dedupe_key IS NOT NULL
    UNION ALL
    SELECT chat_jid, longhand_erased_key(chat.block_key, 'idempotency', key), message_id FROM idempotency
      WHERE chat_jid = chat.jid AND message_id = ANY (gone)
    ON CONFLICT DO NOTHING;
  DELETE FROM idempotency WHERE chat_jid = chat.jid AND message_id = ANY (gone);
  INSERT INTO search_stale (chat, bucket)
    SELECT DISTINCT chat.number, (seq - 1) / ${BUCKET} FROM messages
      WHERE chat_jid = chat.jid AND id = ANY (gone) AND seq <= chat.indexed_seq
    ON CONFLICT DO NOTHING;
  UPDATE search s SET grams = '{}' FROM search_stale t
    WHERE t.chat = chat.number AND s.chat = t.chat AND s.bucket = t.bucket;
  DELETE FROM attachments WHERE chat_jid = chat.jid AND message_id = ANY (gone);
  GET DIAGNOSTICS found.attachments = ROW_COUNT;
  DELETE FROM revisions WHERE chat_jid = chat.jid AND message_id = ANY (gone);
  PERFORM longhand_log_about(chat.jid, 'outcome', ARRAY(SELECT message_id::text FROM inbound
    WHERE chat_jid = chat.jid AND outcome = 'pending' AND message_id = ANY (gone) ORDER BY seq), erased_at);
  UPDATE inbound SET outcome = CASE outcome WHEN 'pending' THEN 'ignored' ELSE outcome END, reason = '${ERASED}',
      outcome_reason = '${ERASED}'
    WHERE chat_jid = chat.jid AND seq IN (SELECT seq FROM messages WHERE chat_jid = chat.jid AND id = ANY (gone));
  UPDATE messages SET sender = '${ERASED_SENDER}', sender_name = '', content = '', metadata = '{}', dedupe_key = NULL,
      untaken = 0, untold = 0, attached = 0, revision = revision + 1, edited_at = NULL, deleted_at = erased_at
    WHERE chat_jid = chat.jid AND id = ANY (gone);
  UPDATE outbox SET reason = NULL, last_error = NULL WHERE chat_jid = chat.jid AND message_id = ANY (gone);
  WITH changed AS (
    UPDATE messages SET metadata =
        ((metadata::jsonb - 'thread_context') || '{"thread_context_erased": true}')::text
      WHERE chat_jid = chat.jid AND metadata LIKE '%thread_context%'
        AND json_typeof(metadata::json->'thread_context') = 'string'
      RETURNING id, seq
  ) SELECT gone || coalesce(array_agg(id::text ORDER BY seq), '{}') INTO touched FROM changed;
  PERFORM longhand_log_about(chat.jid, 'message.revised', touched, erased_at);
  UPDATE entries SET data = '{}' WHERE chat_jid = chat.jid AND message_id = ANY (gone);
  WITH emptied AS (
    UPDATE entries SET data = json_build_object('erased', erased_at)::text
      WHERE chat_jid = chat.jid AND kind IN ('compaction', 'branch_summary')
        AND n > (SELECT min(n) FROM entries WHERE chat_jid = chat.jid AND message_id = ANY (touched))
      RETURNING id
  ) SELECT coalesce(array_agg(id::text), '{}') INTO summaries FROM emptied;
  found.receipts := longhand_redact(chat.jid, touched || summaries);
  UPDATE chats c SET erased = erased + cardinality(touched) WHERE c.jid = chat.jid;
  /* Whoever holds a lane of the chat may have read what is gone. */
  UPDATE lanes SET fence = fence + 1, holder = NULL, lease_until = NULL, free_at = 0, tries = 0
    WHERE chat_jid = chat.jid AND kind = 'turn' AND holder IS NOT NULL;
  found.messages := cardinality(gone);
  found.summaries := cardinality(summaries);
  RETURN found;
END $$;

CREATE FUNCTION longhand_erased_key(block_key bytea, kind text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT encode(sha256(block_key || convert_to(kind || ':' || key, 'UTF8')), 'hex') $$;

CREATE FUNCTION longhand_log_about(jid text, kind text, ids text[], at text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  newest bigint;
BEGIN
  UPDATE counters SET value = value + cardinality(ids) WHERE name = 'events' RETURNING value INTO newest;
  INSERT INTO events (cursor, chat_jid, type, at, refs)
    SELECT newest - cardinality(ids) + i, jid, kind, at, '{"message_id":' || to_json(id)::text || '}'
    FROM unnest(ids) WITH ORDINALITY AS t(id, i);
END $$;

/*
 * Takes the bytes out of blocks that hold these words. A summary that was made in several goes names only what its last
 * one read, so all of it goes. How many receipts had one of the blocks.
 */
CREATE FUNCTION longhand_redact(jid text, ids text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  held text[];
  redacted text[];
BEGIN
  SELECT coalesce(array_agg(DISTINCT b.block_id::text), '{}') INTO held
    FROM calls c JOIN call_blocks b ON b.call_id = c.id CROSS JOIN LATERAL json_array_elements(b.sources::json) AS s
    WHERE c.chat_jid = jid AND s->>'type' = ANY (${WITH_WORDS})
      AND (s->>'id' = ANY (ids) OR c.envelope::json->>'purpose' IN ('compaction', 'branch_summary'));
  UPDATE blocks SET bytes = NULL WHERE chat_jid = jid AND id = ANY (held);
  WITH RECURSIVE hit (call_id, place) AS (
    SELECT b.call_id, min(b.position) FROM calls c JOIN call_blocks b ON b.call_id = c.id
      WHERE c.chat_jid = jid AND b.block_id = ANY (held) GROUP BY b.call_id
    UNION
    SELECT c.id, hit.place FROM hit JOIN calls c ON c.base_call_id = hit.call_id AND c.chat_jid = jid
      WHERE hit.place < c.base_count
  ) SELECT coalesce(array_agg(DISTINCT call_id::text), '{}') INTO redacted FROM hit;
  UPDATE calls SET envelope = longhand_redacted(envelope)
    WHERE id = ANY (redacted);
  DELETE FROM call_parts p USING calls c WHERE c.id = p.call_id AND p.call_id = ANY (redacted)
    AND (p.type IS NOT NULL OR c.envelope::json->>'purpose' IN ('compaction', 'branch_summary'));
  RETURN cardinality(redacted);
END $$;

/* Whose words a new block holds that are erased by now: the request was made before, and must not be kept. */
CREATE FUNCTION longhand_refuse_erased(jid text, blocks jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  known text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM chats c WHERE c.jid = longhand_refuse_erased.jid AND erased > 0) THEN RETURN; END IF;
  SELECT s->>'id' INTO known FROM jsonb_array_elements(blocks) AS b
    CROSS JOIN LATERAL json_array_elements((b->>'sources')::json) AS s
    WHERE s->>'type' = ANY (${WITH_WORDS}) AND (
      EXISTS (SELECT 1 FROM messages m WHERE m.chat_jid || '' = longhand_refuse_erased.jid AND m.id = s->>'id'
        AND m.sender = '${ERASED_SENDER}')
      OR EXISTS (SELECT 1 FROM entries e WHERE e.chat_jid || '' = longhand_refuse_erased.jid AND e.id = s->>'id'
        AND e.data::json->>'erased' IS NOT NULL))
    LIMIT 1;
  IF known IS NOT NULL THEN PERFORM longhand_conflict(format('message %s has been erased', known)); END IF;
END $$;
`;
