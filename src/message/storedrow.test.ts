import { describe, expect, test } from "vitest";
import { parseStoredRow } from "./index.js";

const PNG = "iVBORw0KGgo=";

describe("a row read from a database", () => {
  const row = {
    id: "m1",
    chat_jid: "home",
    seq: 4,
    sender: "web:1",
    sender_name: "Olivia",
    content: "hi",
    timestamp: "2026-11-15T09:30:00.000Z",
    is_from_me: false,
    message_type: "user",
    metadata: { source: "web", images: ["file:/only/a/word/here"] },
    turn_id: null,
    call_id: null,
    part: null,
    attachments: [
      { name: "a", mime_type: "b/c", size: 1, sha256: null, state: "unavailable", reason: "gone", url: null },
    ],
    revision: 0,
    edited_at: null,
    deleted_at: null,
  };
  const rowErrors = (fields: Record<string, unknown>) => {
    const parsed = parseStoredRow({ ...row, ...fields });
    return parsed.ok ? [] : parsed.errors;
  };

  test("is taken as it is, and in its columns' own forms", () => {
    expect(parseStoredRow(row)).toStrictEqual({ ok: true, row });
    const columns = { ...row, is_from_me: 0, metadata: JSON.stringify(row.metadata) };
    expect(parseStoredRow(columns)).toStrictEqual({ ok: true, row });
    expect(parseStoredRow({ ...row, is_from_me: 1, metadata: null })).toMatchObject({
      row: { is_from_me: true, metadata: {} },
    });
  });

  test.each([
    [{ seq: "4" }, "seq", 'expected a number, got "4"'],
    [{ is_from_me: 2 }, "is_from_me", "expected true or false, got 2"],
    [
      { message_type: "loud" },
      "message_type",
      'expected "user", "assistant", "system", "tool_result" or "host", got "loud"',
    ],
    [{ metadata: "{broken" }, "metadata", 'expected an object, got "{broken"'],
    [{ metadata: "[1]" }, "metadata", "expected an object, got a list"],
    [{ timestamp: "noon" }, "timestamp", "expected an ISO-8601 date and time"],
    [
      { attachments: [{ ...row.attachments[0], state: "lost" }] },
      "attachments[0].state",
      'expected "delivered", "transcribed" or "unavailable", got "lost"',
    ],
    [{ content: null }, "content", "expected a string, got null"],
  ])("%j is told by its path", (fields, path, reason) =>
    expect(rowErrors(fields)).toEqual([{ path, reason }]),
  );

  test("a tool result that names a file is refused, whoever wrote it there", () => {
    const metadata = { images: [PNG, " FILE:/etc/passwd"], audio: ["file:/a"] };
    expect(
      rowErrors({ sender: "tool_result", message_type: "tool_result", metadata }).map(({ path }) => path),
    ).toEqual(["metadata.images[1]", "metadata.audio[0]"]);
  });

  test("half a million attachments, or none that make sense, are told in a few words", () => {
    expect(rowErrors({ attachments: Array.from({ length: 500_000 }, () => 1) })).toHaveLength(1);
    expect(parseStoredRow(7)).toEqual({
      ok: false,
      errors: [{ path: "", reason: "expected an object, got 7" }],
    });
  });
});
