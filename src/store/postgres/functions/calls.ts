import { ERASED } from "../../erased.js";
import { MAX_DEPTH } from "../../request.js";

export const CALL_FUNCTIONS = `
/*
 * A request is the blocks of an earlier call up to base_count, then its own. Where it takes no more of its base than
 * that one took of its own, the base's base will do; a chain that gets too long is written out in full again.
 */
CREATE FUNCTION longhand_call_started(f jsonb, bytes bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b jsonb;
  base calls;
  wanted bigint := coalesce((f->>'base_count')::bigint, 0);
  chain bigint := 0;
BEGIN
  PERFORM longhand_refuse_erased(f->>'chat_jid', f->'blocks');
  FOR b IN SELECT value FROM jsonb_array_elements(f->'blocks') LOOP
    IF b ? 'at' THEN
      INSERT INTO blocks (chat_jid, id, bytes)
        VALUES (f->>'chat_jid', b->>'id', substring(bytes FROM (b->>'at')::int + 1 FOR (b->>'length')::int))
        /* One that was erased may come again in other people's words: those are kept. */
        ON CONFLICT (chat_jid, id) DO UPDATE SET bytes = excluded.bytes WHERE blocks.bytes IS NULL;
    ELSIF NOT EXISTS (SELECT 1 FROM blocks WHERE chat_jid = f->>'chat_jid' AND id = b->>'id') THEN
      PERFORM longhand_conflict(format('block %s was never stored', b->>'id'));
    END IF;
  END LOOP;
  IF f->>'base' IS NOT NULL THEN
    SELECT * INTO base FROM calls WHERE id = f->>'base' AND chat_jid = f->>'chat_jid';
    IF base.id IS NULL OR wanted > base.block_count THEN
      PERFORM longhand_conflict(format('call %s has no %s blocks', f->>'base', wanted));
    END IF;
    WHILE base.base_call_id IS NOT NULL AND wanted <= base.base_count LOOP
      SELECT * INTO base FROM calls WHERE id = base.base_call_id;
    END LOOP;
    chain := base.depth + 1;
  END IF;
  IF wanted = 0 THEN
    base := NULL;
    chain := 0;
  END IF;
  INSERT INTO calls (id, chat_jid, turn_id, thread_id, started_at, status, base_call_id, base_count, block_count, depth,
      left_out, breaks, envelope)
    VALUES (f->>'id', f->>'chat_jid', f->>'turn_id', (SELECT thread_id FROM turns WHERE id = f->>'answers'),
      f->>'started_at', f->>'status', CASE WHEN chain <= ${MAX_DEPTH} THEN base.id END,
      CASE WHEN chain <= ${MAX_DEPTH} THEN wanted ELSE 0 END, wanted + jsonb_array_length(f->'blocks'),
      CASE WHEN chain <= ${MAX_DEPTH} THEN chain ELSE 0 END, f->>'left_out', f->>'breaks', f->>'envelope')
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN PERFORM longhand_conflict(format('there is already a call %s', f->>'id')); END IF;
  IF chain > ${MAX_DEPTH} THEN
    INSERT INTO call_blocks (call_id, position, block_id, kind, size, sources)
      SELECT f->>'id', position, block_id, kind, size, sources FROM longhand_links(base.id, wanted) AS l
      JOIN call_blocks c ON c.call_id = l.call_id AND c.position < l.until;
  END IF;
  INSERT INTO call_blocks (call_id, position, block_id, kind, size, sources)
    SELECT f->>'id', wanted + i - 1, block->>'id', block->>'kind', (block->>'size')::bigint, block->>'sources'
    FROM jsonb_array_elements(f->'blocks') WITH ORDINALITY AS own(block, i);
END $$;

/* The calls whose own blocks make up the first so many blocks of a call, the newest first. */
CREATE FUNCTION longhand_links(start_call text, how_many bigint)
RETURNS TABLE (step bigint, call_id text, until bigint) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE link (step, call_id, until, base, base_count) AS (
    SELECT 1::bigint, id::text, how_many, base_call_id::text, base_count FROM calls WHERE id = start_call AND how_many > 0
    UNION ALL
    SELECT link.step + 1, c.id::text, least(link.until, link.base_count), c.base_call_id::text, c.base_count
    FROM link JOIN calls c ON c.id = link.base WHERE least(link.until, link.base_count) > 0
  ) SELECT link.step, link.call_id, link.until FROM link
$$;

/* An envelope without what would tell of words that are erased. */
CREATE FUNCTION longhand_redacted(envelope text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT (envelope::jsonb || '{"redacted": true, "request_sha256": ""}'
    || CASE WHEN envelope::json->>'error' IS NULL THEN '{}' ELSE '{"error": "${ERASED}"}' END::jsonb)::text
$$;

CREATE FUNCTION longhand_call(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  CASE f->>'type'
    WHEN 'call_partial' THEN
      PERFORM 1 FROM calls WHERE id = f->>'call_id' AND status = 'running' FOR SHARE;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('call %s is not running', f->>'call_id')); END IF;
      INSERT INTO call_parts (call_id, part, type, content)
        SELECT f->>'call_id', p.part, p.type, p.content
        FROM jsonb_to_recordset(f->'parts') AS p(part bigint, type text, content text)
        ON CONFLICT (call_id, part) DO UPDATE SET type = excluded.type, content = excluded.content;
    WHEN 'call_ended' THEN
      /* Whoever ends it may not know that words of its request were erased meanwhile. */
      UPDATE calls SET status = f->>'status', envelope =
          CASE WHEN (envelope::json->>'redacted')::boolean THEN longhand_redacted(f->>'envelope')
            ELSE f->>'envelope' END
        WHERE id = f->>'id' AND chat_jid = f->>'chat_jid' AND expired = 0;
      IF NOT FOUND THEN PERFORM longhand_conflict(format('there is no call %s', f->>'id')); END IF;
      DELETE FROM call_parts WHERE call_id = f->>'id';
      INSERT INTO call_parts (call_id, part, leftover)
        SELECT f->>'id', p.part, p.leftover
        FROM jsonb_to_recordset(f->'leftovers') AS p(part bigint, leftover text);
    WHEN 'tool_done' THEN
      IF NOT EXISTS (SELECT 1 FROM calls WHERE id = f->>'call_id') THEN
        PERFORM longhand_conflict(format('there is no call %s', f->>'call_id'));
      END IF;
      INSERT INTO tool_results (call_id, position, result)
        VALUES (f->>'call_id', (f->>'index')::bigint, f->>'result')
        ON CONFLICT (call_id, position) DO UPDATE SET result = excluded.result;
    WHEN 'tools_written' THEN
      DELETE FROM tool_results WHERE call_id = f->>'call_id';
    WHEN 'spent' THEN
      INSERT INTO spent (account, day, calls, unpriced, input_tokens, output_tokens, cache_read_tokens,
          cache_write_tokens, usd)
        SELECT account, day, calls, unpriced, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, usd
        FROM jsonb_populate_record(NULL::spent, f)
        ON CONFLICT (account, day) DO UPDATE SET
          calls = spent.calls + excluded.calls,
          unpriced = spent.unpriced + excluded.unpriced,
          input_tokens = spent.input_tokens + excluded.input_tokens,
          output_tokens = spent.output_tokens + excluded.output_tokens,
          cache_read_tokens = spent.cache_read_tokens + excluded.cache_read_tokens,
          cache_write_tokens = spent.cache_write_tokens + excluded.cache_write_tokens,
          usd = spent.usd + excluded.usd;
  END CASE;
END $$;
`;
