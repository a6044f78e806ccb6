import { chatWithDefaults } from "../dist/message/index.js";

/** What submitted messages leave behind: the batches that group commit is measured with. */

export const BATCHES = 16_000;
const AT = "2026-11-15T12:00:00.000Z";
const JID = "bench";

/** The chat they go to, before all of them. */
export const CHAT_BATCH = {
  facts: [{ type: "chat", chat: chatWithDefaults({ jid: JID }, "Longhand", []), at: AT }],
};

export const ingestBatches = () => Array.from({ length: BATCHES }, (_, index) => ingestBatch(index));

/** @param {number} index */
function ingestBatch(index) {
  const id = `01932f00-0000-7000-8000-${String(index).padStart(12, "0")}`;
  const metadata = {
    source: "slack",
    sender_id: `slack:U${index % 50}`,
    sender_display_name: `Person ${index % 50}`,
    sender_type: "human",
    channel_external_id: "C06RY3YBSLE",
    external_message_id: String(index),
  };
  const message = {
    id,
    chat_jid: JID,
    sender: metadata.sender_id,
    sender_name: metadata.sender_display_name,
    content: `Message ${index}: has anybody seen the figures of last week? I would like to have them before the meeting.`,
    timestamp: AT,
    is_from_me: false,
    message_type: "user",
    metadata,
    turn_id: null,
    call_id: null,
    part: null,
    dedupe_key: `["slack","C06RY3YBSLE","${String(index).padStart(12, "0")}"]`,
    idempotency: null,
    untaken: true,
    thread_id: "",
  };
  const inbound = {
    chat_jid: JID,
    message_id: id,
    admission: "ambient",
    reason: "no trigger",
    outcome: "ambient",
    outcome_reason: "no trigger",
    turn_id: null,
    received_at: 0,
  };
  return {
    facts: [
      { type: "message", message },
      { type: "inbound", inbound },
    ],
  };
}
