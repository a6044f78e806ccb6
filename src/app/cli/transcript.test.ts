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

it("shows what came with a message, what was heard in it, and why something is missing", () => {
  const file = { mime_type: "audio/ogg", size: 1, sha256: "0", reason: null, url: null };
  const attachments: MessageRow["attachments"] = [
    { ...file, name: "a\n\x1b[2J.ogg", state: "transcribed", transcript: "buy milk\nand bread" },
    { ...file, name: "cat.png", state: "unavailable", reason: "the server answered 404" },
  ];
  const row: MessageRow = {
    ...ROW,
    sender: "slack:U1",
    sender_name: "Olivia",
    message_type: "user",
    attachments,
  };
  const lines = transcriptLine({ ...row, content: "" }, painter(false))
    .split("\n")
    .slice(1);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/📎 a .*\.ogg: “buy milk”$/);
  expect(lines[0]).not.toContain("\x1b");
  expect(lines[1]).toContain("📎 cat.png (unavailable: the server answered 404)");
});
