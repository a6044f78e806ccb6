export const TREE_FUNCTIONS = `
CREATE FUNCTION longhand_tree(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  CASE f->>'type'
    WHEN 'turn_started' THEN
      INSERT INTO turns (id, chat_jid, thread_id, trigger_id, started_at, status, ended_at, interruptions)
        SELECT id, chat_jid, thread_id, trigger_id, started_at, status, ended_at, interruptions
        FROM jsonb_populate_record(NULL::turns, f)
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('there is already a turn %s', f->>'id')); END IF;
    WHEN 'turn_ended' THEN
      UPDATE turns SET status = f->>'status', ended_at = f->>'at'
        WHERE id = f->>'turn_id' AND chat_jid = f->>'chat_jid' AND status = 'running';
      IF NOT FOUND THEN PERFORM longhand_conflict(format('turn %s is not running', f->>'turn_id')); END IF;
    WHEN 'entry' THEN
      PERFORM longhand_has_entry(f->>'chat_jid', f->>'parent');
      IF f->>'message_id' IS NOT NULL THEN
        /* A message on the tree waits no longer. */
        UPDATE messages SET untaken = 0
          WHERE chat_jid || '' = f->>'chat_jid' AND id = f->>'message_id' AND untaken = 1;
        IF NOT FOUND AND NOT EXISTS (
            SELECT 1 FROM messages WHERE chat_jid || '' = f->>'chat_jid' AND id = f->>'message_id') THEN
          PERFORM longhand_conflict(format('there is no message %s', f->>'message_id'));
        END IF;
      END IF;
      INSERT INTO entries (id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data)
        SELECT id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data
        FROM jsonb_populate_record(NULL::entries, f)
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('there is already an entry %s', f->>'id')); END IF;
    WHEN 'head' THEN
      PERFORM longhand_has_entry(f->>'chat_jid', f->>'entry_id');
      INSERT INTO head_moves (chat_jid, thread_id, from_entry, to_entry, reason, at)
        VALUES (f->>'chat_jid', f->>'thread_id',
          (SELECT head FROM threads WHERE chat_jid = f->>'chat_jid' AND thread_id = f->>'thread_id'),
          f->>'entry_id', f->>'reason', f->>'at');
      INSERT INTO threads (chat_jid, thread_id, head) VALUES (f->>'chat_jid', f->>'thread_id', f->>'entry_id')
        ON CONFLICT (chat_jid, thread_id) DO UPDATE SET head = excluded.head;
    WHEN 'label' THEN
      /* A name in a chat belongs to the first sender who bore it. */
      INSERT INTO labels (chat_jid, folded, label, sender)
        VALUES (f->>'chat_jid', f->>'folded', f->>'label', f->>'sender')
        ON CONFLICT (chat_jid, folded) DO UPDATE SET label = excluded.label WHERE labels.sender = excluded.sender;
      IF NOT FOUND THEN
        PERFORM longhand_conflict(format('the name %s is taken in this chat', f->>'label'));
      END IF;
  END CASE;
END $$;

CREATE FUNCTION longhand_has_entry(jid text, entry text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF entry IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entries WHERE chat_jid || '' = jid AND id = entry) THEN
    PERFORM longhand_conflict(format('there is no entry %s', entry));
  END IF;
END $$;
`;
