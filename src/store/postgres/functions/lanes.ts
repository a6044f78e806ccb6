export const LANE_FUNCTIONS = `
/* A lease that ran out still counts until somebody else claims the lane. The lane is locked by then. */
CREATE FUNCTION longhand_holds(lease jsonb) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (SELECT 1 FROM lanes
    WHERE lane = lease->>'lane' AND fence = (lease->>'fence')::bigint AND holder IS NOT NULL)
$$;

/* When the lane wants a holder: a delivery waits for the one before it, other work only for its time. */
CREATE FUNCTION longhand_due_at(of_kind text, of_lane text) RETURNS bigint LANGUAGE sql AS $$
  SELECT CASE WHEN of_kind = 'delivery' THEN (array_agg(run_at ORDER BY n))[1] ELSE min(run_at) END
  FROM (SELECT n, run_at FROM work WHERE lane = of_lane ORDER BY n LIMIT 100) AS pieces
$$;

CREATE FUNCTION longhand_add_work(w jsonb, skew bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  due bigint := (w->>'run_at')::bigint;
BEGIN
  IF due <> 0 THEN due := due + skew; END IF;
  INSERT INTO work (id, kind, lane, chat_jid, ref, run_at, attempts)
    VALUES (w->>'id', w->>'kind', w->>'lane', w->>'chat_jid', w->>'ref', due, (w->>'attempts')::bigint)
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN PERFORM longhand_conflict(format('there is already work %s', w->>'id')); END IF;
  /* Whoever holds the lane looks at its work again before giving it back, so a leased lane stays as it is. */
  UPDATE lanes SET free_at = due, since = nextval('longhand_waits') WHERE lane = w->>'lane' AND holder IS NULL
    AND (free_at IS NULL OR (free_at > due AND kind <> 'delivery'));
END $$;

CREATE FUNCTION longhand_queue(f jsonb, skew bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  due bigint;
BEGIN
  CASE f->>'type'
    WHEN 'work' THEN
      PERFORM longhand_add_work(f, skew);
    WHEN 'lane_due' THEN
      due := (f->>'run_at')::bigint;
      IF due <> 0 THEN due := due + skew; END IF;
      UPDATE work SET run_at = due WHERE lane = f->>'lane' AND run_at > due;
      UPDATE lanes SET free_at = due WHERE lane = f->>'lane' AND holder IS NULL AND free_at > due;
    WHEN 'delivery' THEN
      INSERT INTO outbox (id, chat_jid, message_id, revision, part, channel, address, thread_id, state, reason,
          external_id, attempts, last_error, retry_at, created_at)
        SELECT id, chat_jid, message_id, revision, part, channel, address, thread_id, state, reason,
          external_id, attempts, last_error, retry_at, created_at
        FROM jsonb_populate_record(NULL::outbox, f)
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('there is already a delivery %s', f->>'id')); END IF;
      PERFORM longhand_add_work(f->'work', skew);
    WHEN 'delivery_state' THEN
      UPDATE outbox SET state = f->>'state', reason = f->>'reason', external_id = f->>'external_id',
          attempts = (f->>'attempts')::bigint, last_error = f->>'last_error', retry_at = f->>'retry_at'
        WHERE id = f->>'id';
      IF NOT FOUND THEN PERFORM longhand_conflict(format('there is no delivery %s', f->>'id')); END IF;
  END CASE;
END $$;

/* Finish and postpone work, and give the lane back if asked. True when a lane given back still has work. */
CREATE FUNCTION longhand_finish(move jsonb, skew bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  held text := move->'lease'->>'lane';
  due bigint;
BEGIN
  DELETE FROM work WHERE lane = held AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(move->'done')));
  UPDATE work w SET run_at = CASE WHEN l.run_at = 0 THEN 0 ELSE l.run_at + skew END, attempts = l.attempts
    FROM jsonb_to_recordset(move->'later') AS l(id text, run_at bigint, attempts bigint)
    WHERE w.lane = held AND w.id = l.id;
  IF NOT (move->>'release')::boolean THEN
    UPDATE lanes SET tries = 0 WHERE lane = held AND tries <> 0;
    RETURN false;
  END IF;
  SELECT longhand_due_at(kind, lane) INTO due FROM lanes WHERE lane = held;
  UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = due, tries = 0, since = nextval('longhand_waits')
    WHERE lane = held;
  RETURN due IS NOT NULL;
END $$;

/* asked_at: the asker's clock; gone by where given, otherwise ours is. skew: how much ours is ahead of it. */
CREATE FUNCTION longhand_claim(
  of_kind text, by_holder text, asked_at bigint, given boolean, lease_ms bigint, how_many bigint)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  at bigint := CASE WHEN given THEN asked_at ELSE longhand_now() END;
  taken bigint := 0;
  looked bigint;
  due bigint;
  l lanes;
BEGIN
  WHILE taken < how_many LOOP
    looked := 0;
    FOR l IN SELECT * FROM lanes WHERE kind = of_kind AND free_at <= at ORDER BY free_at, since
        LIMIT how_many - taken FOR UPDATE SKIP LOCKED LOOP
      looked := looked + 1;
      due := longhand_due_at(l.kind, l.lane);
      IF due IS NULL OR due > at THEN
        /* Its holder is gone and left nothing to do, or nothing to do now. */
        UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = due, since = nextval('longhand_waits')
          WHERE lane = l.lane;
        CONTINUE;
      END IF;
      UPDATE lanes SET fence = fence + 1, tries = tries + 1, holder = by_holder, lease_until = at + lease_ms,
        free_at = at + lease_ms WHERE lane = l.lane;
      taken := taken + 1;
      RETURN NEXT jsonb_build_object('lane', l.lane, 'fence', l.fence + 1, 'kind', l.kind,
        'chat_jid', l.chat_jid, 'tries', l.tries + 1, 'now', at, 'skew', at - asked_at, 'work', (
          SELECT jsonb_agg(to_jsonb(pieces) - 'n' ORDER BY n)
          FROM (SELECT * FROM work WHERE lane = l.lane ORDER BY n LIMIT 100) AS pieces))::text;
    END LOOP;
    EXIT WHEN looked = 0;
  END LOOP;
END $$;

/* Keeps leases; gives those that were kept. */
CREATE FUNCTION longhand_renew(leases jsonb, given bigint, lease_ms bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  until bigint := coalesce(given, longhand_now()) + lease_ms;
  renewed jsonb;
BEGIN
  PERFORM 1 FROM lanes WHERE lane = ANY (ARRAY(SELECT l->>'lane' FROM jsonb_array_elements(leases) AS l))
    ORDER BY lane FOR UPDATE;
  WITH kept AS (
    UPDATE lanes SET lease_until = until, free_at = until
      FROM jsonb_to_recordset(leases) AS l(lane text, fence bigint)
      WHERE lanes.lane = l.lane AND lanes.fence = l.fence AND lanes.holder IS NOT NULL
      RETURNING lanes.lane, lanes.fence)
  SELECT coalesce(jsonb_agg(kept), '[]') INTO renewed FROM kept;
  RETURN renewed;
END $$;

CREATE FUNCTION longhand_release(of_holder text, given bigint, channel text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM lanes WHERE holder = of_holder ORDER BY lane FOR UPDATE;
  UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = coalesce(given, longhand_now())
    WHERE holder = of_holder;
  IF FOUND THEN PERFORM pg_notify(channel, 'turn,delivery'); END IF;
END $$;
`;
