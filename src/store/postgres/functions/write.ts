/**
 * Writing is one statement for a group of batches: the server takes the locks, checks, writes and commits without
 * waiting for us in between. A process that is stopped in the middle of it holds nobody up.
 *
 * Locks are taken in one order by everybody: settings, chats, lanes, accounts, and at the very end the log.
 */
export const WRITE_FUNCTIONS = `
CREATE FUNCTION longhand_now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

/* By how much two clocks are apart. Less than a second is the way between them: the same moment is told alike each time. */
CREATE FUNCTION longhand_apart(skew bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN abs(skew) >= 1000 THEN skew ELSE 0 END $$;

/* A refusal undoes its batch and nothing else: it ends the batch's own block, which is a savepoint. */
CREATE FUNCTION longhand_refuse(refusal jsonb) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION USING ERRCODE = 'LH001', MESSAGE = refusal::text; END $$;

CREATE FUNCTION longhand_conflict(why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM longhand_refuse(jsonb_build_object('status', 'conflict', 'expectation', NULL, 'why', why));
END $$;

CREATE FUNCTION longhand_lock(locks jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account_key bigint;
BEGIN
  IF (locks->>'settings')::boolean THEN
    PERFORM 1 FROM counters WHERE name = 'settings' FOR UPDATE;
  END IF;
  PERFORM 1 FROM chats WHERE jid = ANY (ARRAY(SELECT jsonb_array_elements_text(locks->'chats')))
    ORDER BY jid FOR UPDATE;
  IF jsonb_array_length(locks->'lanes') > 0 THEN
    INSERT INTO lanes (lane, kind, chat_jid)
      SELECT l.lane, l.kind, l.chat_jid
      FROM jsonb_to_recordset(locks->'lanes') AS l(lane text, kind text, chat_jid text)
      WHERE l.kind IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lanes known WHERE known.lane = l.lane)
      ORDER BY l.lane COLLATE "C" ON CONFLICT DO NOTHING;
    PERFORM 1 FROM lanes
      WHERE lane = ANY (ARRAY(SELECT l->>'lane' FROM jsonb_array_elements(locks->'lanes') AS l))
      ORDER BY lane FOR UPDATE;
  END IF;
  /* An account may have no row yet, so its name is locked. */
  FOR account_key IN SELECT DISTINCT hashtextextended(current_schema() || ' ' || a, 0) AS k
      FROM jsonb_array_elements_text(locks->'accounts') AS a ORDER BY k LOOP
    PERFORM pg_advisory_xact_lock(account_key);
  END LOOP;
END $$;

/*
 * ops: [{ expect, facts, events, settle }]; bytes: what facts point into; asked_at: the asker's clock, or null when its
 * times are to be taken as they are. The result of each: { status, … }, committed ones with their numbers.
 */
CREATE FUNCTION longhand_write(ops jsonb, locks jsonb, bytes bytea, asked_at bigint, channel text)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  op jsonb;
  result jsonb;
  results jsonb[] := '{}';
  skew bigint := coalesce(longhand_now() - asked_at, 0);
BEGIN
  PERFORM longhand_lock(locks);
  FOR op IN SELECT value FROM jsonb_array_elements(ops) LOOP
    BEGIN
      result := longhand_batch(op, bytes, skew);
    EXCEPTION
      WHEN SQLSTATE 'LH001' THEN
        result := SQLERRM::jsonb;
      WHEN OTHERS THEN
        /* Classes that speak of the server and not of the batch: the whole group is undone. */
        IF left(SQLSTATE, 2) IN ('08', '25', '40', '53', '55', '57', '58') THEN RAISE; END IF;
        result := jsonb_build_object('status', 'failed', 'why', SQLSTATE || ': ' || SQLERRM);
    END;
    results := results || result;
  END LOOP;
  PERFORM longhand_log(ops, results);
  PERFORM longhand_notify(ops, results, channel);
  RETURN to_jsonb(results);
END $$;

CREATE FUNCTION longhand_batch(op jsonb, bytes bytea, skew bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  fact jsonb;
  seqs jsonb := '[]';
  freed boolean := false;
BEGIN
  IF op ? 'settle' AND NOT longhand_holds(op->'settle'->'lease') THEN
    PERFORM longhand_refuse(jsonb_build_object('status', 'fenced', 'lane', op->'settle'->'lease'->>'lane'));
  END IF;
  PERFORM longhand_expect(op->'expect');
  FOR fact IN SELECT value FROM jsonb_array_elements(op->'facts') LOOP
    CASE fact->>'type'
      WHEN 'message' THEN seqs := seqs || to_jsonb(longhand_message(fact));
      WHEN 'inbound', 'outcome', 'revision', 'edit_told', 'attachment' THEN PERFORM longhand_about_message(fact, bytes, skew);
      WHEN 'work', 'lane_due', 'delivery', 'delivery_state' THEN PERFORM longhand_queue(fact, skew);
      WHEN 'turn_started', 'turn_ended', 'entry', 'head', 'label' THEN PERFORM longhand_tree(fact);
      WHEN 'call_started' THEN PERFORM longhand_call_started(fact, bytes);
      WHEN 'call_partial', 'call_ended', 'tool_done', 'tools_written', 'spent' THEN PERFORM longhand_call(fact);
      WHEN 'senders_erased' THEN PERFORM longhand_erase(fact);
      WHEN 'receipts_expired' THEN PERFORM longhand_receipts_expired(fact);
      ELSE PERFORM longhand_settings(fact);
    END CASE;
  END LOOP;
  IF op ? 'settle' THEN freed := longhand_finish(op->'settle', skew); END IF;
  RETURN jsonb_build_object('status', 'committed', 'seqs', seqs, 'freed', freed);
END $$;

/*
 * Numbers are handed out under a lock that is kept until the commit, so they become visible in their order. It is the
 * last lock, and nobody waits for anything but the disk while holding it.
 */
CREATE FUNCTION longhand_log(ops jsonb, results jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  added bigint;
  newest bigint;
BEGIN
  SELECT sum(jsonb_array_length(op->'events')) INTO added
    FROM jsonb_array_elements(ops) WITH ORDINALITY AS o(op, i) WHERE results[i]->>'status' = 'committed';
  IF coalesce(added, 0) = 0 THEN RETURN; END IF;
  UPDATE counters SET value = value + added WHERE name = 'events' RETURNING value INTO newest;
  INSERT INTO events (cursor, chat_jid, type, at, refs)
    SELECT newest - added + row_number() OVER (ORDER BY o.i, e.j), coalesce(e.event->>'chat_jid', d.chat_jid),
      e.event->>'type', e.event->>'at', coalesce(e.event->>'refs', e.event->>'before' || to_json(d.message_id)::text || '}')
    FROM jsonb_array_elements(ops) WITH ORDINALITY AS o(op, i)
    CROSS JOIN LATERAL jsonb_array_elements(o.op->'events') WITH ORDINALITY AS e(event, j)
    LEFT JOIN outbox d ON d.id = e.event->>'delivery_id'
    WHERE results[o.i]->>'status' = 'committed';
END $$;

/* One per group: whoever sends notifications commits one after the other. */
CREATE FUNCTION longhand_notify(ops jsonb, results jsonb[], channel text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kinds text;
  events boolean;
  settings boolean;
BEGIN
  SELECT string_agg(DISTINCT kind, ','), bool_or(logged), bool_or(changed) INTO kinds, events, settings FROM (
    SELECT kind, jsonb_array_length(op->'events') > 0 AS logged, (op->>'settings')::boolean AS changed
    FROM jsonb_array_elements(ops) WITH ORDINALITY AS o(op, i)
    LEFT JOIN LATERAL (
      SELECT jsonb_array_elements_text(op->'kinds') AS kind
      UNION SELECT unnest(ARRAY['turn', 'delivery']) WHERE (results[i]->>'freed')::boolean
    ) AS k ON true
    WHERE results[i]->>'status' = 'committed'
  ) AS told;
  IF kinds IS NULL AND NOT coalesce(events OR settings, false) THEN RETURN; END IF;
  PERFORM pg_notify(channel, concat_ws(' ', coalesce(nullif(kinds, ''), '-'),
    CASE WHEN events THEN 'events' END, CASE WHEN settings THEN 'settings' END));
END $$;
`;
