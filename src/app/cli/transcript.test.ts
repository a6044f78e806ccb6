import { expect, it } from "vitest";
import type { MessageRow } from "../../message/index.js";
import { painter, transcriptLine } from "./transcript.js";

const ROW: MessageRow = {
  id: "m1",
  chat_jid: "home",
  seq: 1,
  sender: "bot",
  sender_name: "Longhand",
  content: "Half an ans",
  timestamp: "2026-11-15T20:00:00.000Z",
  is_from_me: true,
  message_type: "assistant",
  metadata: {},
  turn_id: null,
  call_id: null,
  part: null,
  attachments: [],
  revision: 1,
  edited_at: null,
  deleted_at: null,
};

it("marks what was cut off, an answer as well as a thought", () => {
  for (const sender of ["bot", "thinking"]) {
    const shown = (metadata: MessageRow["metadata"]) =>
      transcriptLine({ ...ROW, sender, metadata }, painter(false));
    expect(shown({}), sender).not.toContain("cut off");
    expect(shown({ cut: true }), sender).toContain("· cut off");
  }
});
