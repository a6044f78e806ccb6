/** Chats, people and tokens: rare, so one lock for all of them. */
export const SETTINGS_FUNCTIONS = `
CREATE FUNCTION longhand_settings(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  taken text;
BEGIN
  CASE f->>'type'
    WHEN 'chat' THEN
      PERFORM longhand_keep_chat(f);
    WHEN 'chat_removed' THEN
      UPDATE chats SET removed_at = f->>'at' WHERE jid = f->>'jid' AND removed_at IS NULL;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('chat %s is not registered', f->>'jid')); END IF;
      DELETE FROM bindings WHERE chat_jid = f->>'jid';
    WHEN 'knock' THEN
      INSERT INTO addresses (address, channel, name, first_seen, last_seen, count)
        VALUES (f->>'address', f->>'channel', f->>'name', f->>'at', f->>'at', 1)
        ON CONFLICT (address) DO UPDATE SET channel = excluded.channel, name = excluded.name,
          last_seen = excluded.last_seen, count = addresses.count + 1;
    WHEN 'person' THEN
      IF EXISTS (SELECT 1 FROM people WHERE id = f->>'id' AND removed = 1) THEN
        PERFORM longhand_conflict(longhand_former_person(f->>'id'));
      END IF;
      INSERT INTO people (id, name, created_at) VALUES (f->>'id', f->>'name', f->>'created_at')
        ON CONFLICT (id) DO UPDATE SET name = excluded.name;
      DELETE FROM person_senders WHERE person_id = f->>'id';
      SELECT format('sender %s belongs to person %s', s.sender, s.person_id) INTO taken
        FROM person_senders s JOIN jsonb_array_elements_text(f->'senders') AS given(sender)
        ON s.sender = given.sender LIMIT 1;
      IF taken IS NOT NULL THEN PERFORM longhand_conflict(taken); END IF;
      INSERT INTO person_senders (sender, person_id, position)
        SELECT given.sender, f->>'id', i
        FROM jsonb_array_elements_text(f->'senders') WITH ORDINALITY AS given(sender, i) ON CONFLICT DO NOTHING;
    WHEN 'person_removed' THEN
      DELETE FROM person_senders WHERE person_id = f->>'id';
      DELETE FROM tokens WHERE person_id = f->>'id';
      DELETE FROM login_codes WHERE person_id = f->>'id';
      UPDATE people SET removed = 1, name = '' WHERE id = f->>'id';
    WHEN 'token' THEN
      INSERT INTO tokens (id, name, sha256, scopes, created_at, person_id)
        VALUES (f->>'id', f->>'name', f->>'sha256', f->>'scopes', f->>'created_at', f->>'person_id')
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        PERFORM longhand_conflict(
          format('there is already a token %s, or one with the same secret', f->>'id'));
      END IF;
    WHEN 'token_removed' THEN
      DELETE FROM tokens WHERE id = f->>'id';
    WHEN 'login_code' THEN
      DELETE FROM login_codes WHERE expires_at <= (f->>'now')::bigint;
      INSERT INTO login_codes (sha256, person_id, expires_at)
        VALUES (f->>'sha256', f->>'person_id', (f->>'expires_at')::bigint) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN PERFORM longhand_conflict('there is already such a login code'); END IF;
    WHEN 'login_code_used' THEN
      DELETE FROM login_codes WHERE sha256 = f->>'sha256';
      IF NOT FOUND THEN PERFORM longhand_conflict('there is no such login code, or it was used'); END IF;
  END CASE;
END $$;

/* A chat that comes back has its messages, its numbers and its key again. */
CREATE FUNCTION longhand_keep_chat(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b jsonb;
  i bigint;
  bound text;
BEGIN
  UPDATE chats SET settings = f->>'settings', removed_at = NULL WHERE jid = f->>'jid';
  IF NOT FOUND THEN
    INSERT INTO chats (jid, settings, block_key, registered_at)
      VALUES (f->>'jid', f->>'settings', decode(f->>'block_key', 'hex'), f->>'at');
  END IF;
  DELETE FROM bindings WHERE chat_jid = f->>'jid';
  FOR b, i IN SELECT value, ordinality - 1 FROM jsonb_array_elements(f->'bindings') WITH ORDINALITY LOOP
    INSERT INTO bindings (address, chat_jid, position, channel, mode, trace, threads)
      VALUES (b->>'address', f->>'jid', i, b->>'channel', b->>'mode', b->>'trace', b->>'threads')
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT chat_jid INTO bound FROM bindings WHERE address = b->>'address';
      PERFORM longhand_conflict(CASE WHEN bound = f->>'jid'
        THEN format('address %s is given twice', b->>'address')
        ELSE format('address %s is bound to chat %s', b->>'address', bound) END);
    END IF;
  END LOOP;
END $$;
`;
