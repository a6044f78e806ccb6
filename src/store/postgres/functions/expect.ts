/** What must still be true. Everything looked at here is locked by then, or is changed only under a lock that is held. */
export const EXPECT_FUNCTION = `
CREATE FUNCTION longhand_expect(expectations jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  e jsonb;
  i bigint;
  why text;
BEGIN
  FOR e, i IN SELECT value, ordinality - 1 FROM jsonb_array_elements(expectations) WITH ORDINALITY LOOP
    IF e->>'type' = 'lease' THEN
      IF NOT longhand_holds(e) THEN
        PERFORM longhand_refuse(jsonb_build_object('status', 'fenced', 'lane', e->>'lane'));
      END IF;
      CONTINUE;
    END IF;
    why := longhand_why_not(e);
    IF why IS NOT NULL THEN
      PERFORM longhand_refuse(jsonb_build_object('status', 'conflict', 'expectation', i, 'why', why));
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION longhand_why_not(e jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  found_text text;
  found_number bigint;
  account spent;
BEGIN
  CASE e->>'type'
    WHEN 'chat_absent' THEN
      IF EXISTS (SELECT 1 FROM chats WHERE jid = e->>'jid' AND removed_at IS NULL) THEN
        RETURN format('chat %s is already registered', e->>'jid');
      END IF;
    WHEN 'chat_present' THEN
      IF NOT EXISTS (SELECT 1 FROM chats WHERE jid = e->>'jid' AND removed_at IS NULL) THEN
        RETURN format('chat %s is not registered', e->>'jid');
      END IF;
    WHEN 'chat_unchanged' THEN
      SELECT settings INTO found_text FROM chats WHERE jid = e->>'jid' AND removed_at IS NULL;
      IF found_text IS NULL THEN RETURN format('chat %s is not registered', e->>'jid'); END IF;
      IF found_text <> e->>'settings' OR e->'bindings' <> longhand_bindings(e->>'jid') THEN
        RETURN format('chat %s was changed meanwhile', e->>'jid');
      END IF;
    WHEN 'person' THEN
      SELECT removed INTO found_number FROM people WHERE id = e->>'id';
      IF e->>'was' IS NOT NULL THEN
        IF coalesce(found_number, 1) = 1 THEN RETURN format('there is no person %s', e->>'id'); END IF;
        IF e->'was' <> longhand_person(e->>'id') THEN
          RETURN format('person %s was changed meanwhile', e->>'id');
        END IF;
      ELSIF found_number = 0 THEN
        RETURN format('there is already a person %s', e->>'id');
      ELSIF found_number = 1 THEN
        RETURN longhand_former_person(e->>'id');
      END IF;
    WHEN 'head' THEN
      SELECT head INTO found_text FROM threads
        WHERE chat_jid = e->>'chat_jid' AND thread_id = e->>'thread_id' FOR UPDATE;
      IF found_text IS DISTINCT FROM e->>'entry_id' THEN RETURN 'the head has moved'; END IF;
    WHEN 'revision' THEN
      SELECT revision INTO found_number FROM messages
        WHERE chat_jid || '' = e->>'chat_jid' AND id = e->>'message_id';
      IF found_number IS NULL THEN RETURN format('there is no message %s', e->>'message_id'); END IF;
      IF found_number <> (e->>'revision')::bigint THEN
        RETURN format('the message is at revision %s', found_number);
      END IF;
    WHEN 'delivery' THEN
      SELECT state INTO found_text FROM outbox WHERE id = e->>'id' FOR UPDATE;
      IF found_text IS NULL THEN RETURN format('there is no delivery %s', e->>'id'); END IF;
      IF found_text <> e->>'state' THEN RETURN format('the delivery is %s', found_text); END IF;
    WHEN 'budget' THEN
      SELECT * INTO account FROM spent WHERE spent.account = e->>'account' AND spent.day = e->>'day';
      IF coalesce(account.usd, 0) + (e->'plus'->>'usd')::float8 > (e->>'usd')::float8 THEN
        RETURN format('%s would go over its limit of %s USD for %s', e->>'account', e->>'usd', e->>'day');
      END IF;
      IF coalesce(account.input_tokens + account.output_tokens + account.cache_read_tokens
          + account.cache_write_tokens, 0) + (e->'plus'->>'tokens')::float8 > (e->>'tokens')::float8 THEN
        RETURN format('%s would go over its limit of %s tokens for %s', e->>'account', e->>'tokens', e->>'day');
      END IF;
  END CASE;
  RETURN NULL;
END $$;

CREATE FUNCTION longhand_bindings(jid text) RETURNS jsonb LANGUAGE sql AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object('channel', channel, 'address', address, 'mode', mode, 'trace', trace,
    'threads', threads) ORDER BY position), '[]') FROM bindings WHERE chat_jid = jid
$$;

CREATE FUNCTION longhand_person(wanted text) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('id', p.id, 'name', p.name, 'created_at', p.created_at, 'senders',
    (SELECT coalesce(jsonb_agg(s.sender ORDER BY s.position), '[]') FROM person_senders s WHERE s.person_id = p.id))
  FROM people p WHERE p.id = wanted
$$;

CREATE FUNCTION longhand_former_person(id text) RETURNS text LANGUAGE sql AS $$
  SELECT format('%s was the id of a person who was removed, and is not given again', id)
$$;

CREATE FUNCTION longhand_outcome(jid text, message text) RETURNS text LANGUAGE sql AS $$
  SELECT i.outcome FROM messages m JOIN inbound i ON i.chat_jid = m.chat_jid AND i.seq = m.seq
  WHERE m.chat_jid || '' = jid AND m.id = message
$$;
`;
