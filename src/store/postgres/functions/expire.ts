import { EXPIRED } from "../../expired.js";

/** The chat's row is locked, as by whoever starts a call in it: nobody begins with a list that is being cut. */
export const EXPIRE_FUNCTION = `
CREATE FUNCTION longhand_receipts_expired(f jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  jid text := f->>'chat_jid';
BEGIN
  UPDATE calls SET expired = 1, left_out = '[]', breaks = '[]', envelope = (envelope::jsonb
      || jsonb_build_object('request_sha256', '', 'expired', jsonb_build_object('at', f->>'at', 'reason', f->>'reason'))
      || CASE WHEN envelope::json->>'error' IS NULL THEN '{}' ELSE '{"error": "${EXPIRED}"}' END::jsonb)::text
    WHERE chat_jid = jid AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(f->'call_ids')))
      AND expired = 0 AND status <> 'running';
  /* How many blocks of each list, from the first, living calls still begin with. */
  WITH RECURSIVE needed (call_id, count) AS (
    SELECT base_call_id, base_count FROM calls WHERE chat_jid = jid AND expired = 0 AND base_call_id IS NOT NULL
    UNION
    SELECT c.base_call_id, least(needed.count, c.base_count) FROM needed JOIN calls c ON c.id = needed.call_id
      WHERE c.expired = 1 AND c.base_call_id IS NOT NULL
  ), lists AS (
    SELECT c.id, coalesce(max(needed.count), 0) AS count FROM calls c LEFT JOIN needed ON needed.call_id = c.id
      WHERE c.chat_jid = jid AND c.expired = 1 GROUP BY c.id
  ), shortened AS (
    UPDATE calls c SET block_count = lists.count FROM lists WHERE c.id = lists.id AND c.block_count > lists.count
      RETURNING c.id, c.block_count
  )
  DELETE FROM call_blocks b USING shortened s WHERE b.call_id = s.id AND b.position >= s.block_count;
  DELETE FROM blocks WHERE chat_jid = jid AND NOT EXISTS (
    SELECT 1 FROM (SELECT b.block_id FROM calls c JOIN call_blocks b ON b.call_id = c.id WHERE c.chat_jid = jid) AS used
    WHERE used.block_id = blocks.id);
END $$;
`;
