import { createHash } from "node:crypto";
import type { IngestMessageMetadata, MessageRow } from "../message/index.js";
import type { NewMessage } from "../store/store.js";

type RowFields = Pick<
  MessageRow,
  "id" | "chat_jid" | "sender" | "sender_name" | "content" | "timestamp" | "message_type"
> &
  Partial<NewMessage>;

/** A row with everything not said at its quiet default. */
export function newRow(fields: RowFields): NewMessage {
  return {
    is_from_me: true,
    metadata: {},
    turn_id: null,
    call_id: null,
    part: null,
    dedupe_key: null,
    idempotency: null,
    untaken: false,
    thread_id: "",
    ...fields,
  };
}

/** Characters of a key that is kept as it is; of a longer one its hash is kept. */
const LONGEST_KEY = 200;

/** Equal for every redelivery of one platform message; null when the platform gave it no id. */
export function dedupeKey(metadata: IngestMessageMetadata): string | null {
  const external = metadata.external_message_id ?? null;
  if (external === null) return null;
  const key = JSON.stringify([metadata.source, metadata.channel_external_id ?? null, external]);
  // Not hashed, because most platforms count upwards: keys that grow are written side by side, hashes all over the index.
  return key.length <= LONGEST_KEY ? key : sha256(key);
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
