import { BUCKET } from "../indexer.js";

export const SEARCH_FUNCTION = `
CREATE FUNCTION longhand_index(of_chat bigint, of_jid text, of_bucket bigint, new_grams integer[], seen bigint, stale boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  /* Nobody writes to the chat meanwhile. */
  PERFORM 1 FROM chats WHERE number = of_chat FOR UPDATE;
  IF (SELECT coalesce(sum(revision), 0) FROM messages WHERE chat_jid = of_jid
      AND seq BETWEEN of_bucket * ${BUCKET} + 1 AND (of_bucket + 1) * ${BUCKET}) <> seen THEN RETURN; END IF;
  IF NOT stale AND (SELECT indexed_seq FROM chats WHERE number = of_chat) <> of_bucket * ${BUCKET} THEN RETURN; END IF;
  INSERT INTO search (chat, bucket, grams) VALUES (of_chat, of_bucket, new_grams)
    ON CONFLICT (chat, bucket) DO UPDATE SET grams = excluded.grams;
  IF stale THEN DELETE FROM search_stale WHERE chat = of_chat AND bucket = of_bucket;
  ELSE UPDATE chats SET indexed_seq = (of_bucket + 1) * ${BUCKET} WHERE number = of_chat;
  END IF;
END $$;
`;
