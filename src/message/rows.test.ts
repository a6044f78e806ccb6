import { deepStrictEqual } from "node:assert";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AssistantContent,
  AssistantMessage,
  assistantOfRows,
  type CallEnvelope,
  callEndOf,
  CallEnvelope as CallEnvelopeShape,
  ERROR_KINDS,
  type MessageRow,
  type NewRow,
  parseStoredRow,
  rowOfToolResult,
  rowsOfAssistant,
  STOP_REASONS,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolResultContent,
  toolResultOfRow,
  Usage,
} from "./index.js";

const place = { chat_jid: "home", turn_id: "turn-1", call_id: "call-1", assistant_name: "Longhand" };
const at = { id: "answer-1", timestamp: 1_731_663_000_123 };
const envelope = {
  usage: Usage.none(),
  stopReason: "stop",
  provider: "p",
  api: "a",
  model: "m",
  ...at,
} as const;
const running: CallEnvelope = {
  id: "call-1",
  chat_jid: "home",
  turn_id: "turn-1",
  attempt: 1,
  purpose: "turn",
  provider: "",
  api: "",
  model: "",
  status: "running",
  error_kind: null,
  error: null,
  stop_reason: null,
  started_at: "2024-11-15T09:29:59.000Z",
  first_token_ms: null,
  duration_ms: null,
  usage: null,
  cost: null,
  request_sha256: "",
  request_size: 0,
  redacted: false,
};

/** What a database does to a row: text as UTF-8 without U+0000, metadata as JSON text. */
function throughDatabase(row: NewRow, seq: number): MessageRow {
  expect(row.content).not.toContain("\u0000");
  const stored = {
    ...row,
    content: Buffer.from(row.content, "utf8").toString("utf8"),
    seq,
    is_from_me: row.is_from_me ? 1 : 0,
    metadata: JSON.stringify(row.metadata),
    attachments: [],
    revision: 0,
    edited_at: null,
    deleted_at: null,
  };
  const parsed = parseStoredRow(stored);
  if (!parsed.ok) return expect.fail(JSON.stringify(parsed.errors));
  return parsed.row;
}

function roundTrip(message: AssistantMessage): AssistantMessage {
  const { rows, leftovers } = rowsOfAssistant(message, place);
  const call = CallEnvelopeShape.parse(JSON.parse(JSON.stringify({ ...running, ...callEndOf(message) })));
  return assistantOfRows(rows.map(throughDatabase), call, JSON.parse(JSON.stringify(leftovers)));
}

const native = { api: "responses", data: { id: "rs_1", encrypted_content: "…" } };

describe("an answer is stored as the utterances it is made of", () => {
  const answer = AssistantMessage.of(
    [
      ThinkingContent.of("Boats, then.", "sig=="),
      TextContent.of("Let me look."),
      { ...ToolCallContent.of("toolu_1", "search", { q: "boats" }), kind: "web", native },
    ],
    { ...envelope, stopReason: "tool_use" },
  );
  const { rows, leftovers } = rowsOfAssistant(answer, place);

  test("a reader of the table reads the conversation", () => {
    expect(rows.map(({ sender, content }) => `${sender}|${content.slice(0, 60)}`)).toEqual([
      "thinking|Boats, then.",
      "bot|Let me look.",
      'tool_use|search {"q":"boats"}',
    ]);
  });

  test("each row says who, when, in which call and as which part", () => {
    expect(rows[1]).toEqual({
      id: "answer-1.1",
      chat_jid: "home",
      sender: "bot",
      sender_name: "Longhand",
      content: "Let me look.",
      timestamp: "2024-11-15T09:30:00.123Z",
      is_from_me: true,
      message_type: "assistant",
      metadata: {},
      turn_id: "turn-1",
      call_id: "call-1",
      part: 1,
    });
    expect(rows.map(({ part, id }) => [part, id])).toEqual([
      [0, "answer-1"],
      [1, "answer-1.1"],
      [2, "answer-1.2"],
    ]);
  });

  test("the truth about a thought and a call is in the row's metadata", () => {
    expect(rows[0]?.metadata).toEqual({ signature: "sig==" });
    expect(rows[2]?.metadata).toEqual({
      tool_use_id: "toolu_1",
      name: "search",
      args: { q: "boats" },
      kind: "web",
    });
  });

  test("what only the provider understands stays with the call, by part", () => {
    expect(leftovers).toEqual([{ part: 2, data: { native } }]);
    expect(JSON.stringify(rows)).not.toContain("encrypted_content");
  });

  test("a call with huge arguments has a short row and loses none of them", () => {
    const args = { text: `${"x".repeat(983)}🚤${"y".repeat(50_000)}` };
    const message = AssistantMessage.of([ToolCallContent.of("t", "write", args)], envelope);
    const [row] = rowsOfAssistant(message, place).rows;
    expect(row?.content.length).toBeLessThanOrEqual(1000);
    expect(row?.content).toMatch(/^write \{"text":"x+…$/);
    expect(roundTrip(message)).toStrictEqual(message);
  });
});

describe("rows and call give the answer back", () => {
  const cases: [string, AssistantContent[]][] = [
    ["an empty signed thought", [ThinkingContent.of("", "sig"), TextContent.of("so")]],
    ["a redacted thought", [{ ...ThinkingContent.of("", "opaque"), redacted: true }]],
    ["a thought said not to be redacted", [{ ...ThinkingContent.of("x"), redacted: false }]],
    [
      "an empty text that carries a signature",
      [{ ...TextContent.of(""), native: { api: "gemini", data: "sig" } }],
    ],
    ["nothing at all", []],
    ["two texts in a row", [TextContent.of("a"), TextContent.of("a")]],
    ["more than ten parts", Array.from({ length: 12 }, (_, index) => TextContent.of(`${index}`))],
    [
      "arguments with odd keys",
      [ToolCallContent.of("t", "n", JSON.parse('{"__proto__":{"a":1},"":2,"a.b":[null]}'))],
    ],
    ["characters no store can hold", [TextContent.of("a\u0000b\ud800c"), ThinkingContent.of("\udc00", "s")]],
    ["a call whose id and name are empty", [ToolCallContent.of("", "")]],
  ];
  test.each(cases)("%s", (_, contents) => {
    const message = AssistantMessage.of(contents, envelope);
    expect(roundTrip(message)).toStrictEqual(message);
  });

  test("the part about money, errors and models", () => {
    const usage = {
      inputTokens: 1,
      outputTokens: 2,
      cacheReadTokens: 3,
      cacheWriteTokens: 4,
      reasoningTokens: 0,
      cost: { input: 0.1, output: 0.2, cacheRead: 0.3, cacheWrite: 0.4, total: 1 },
    };
    const message = AssistantMessage.of([TextContent.of("par")], {
      ...envelope,
      usage,
      stopReason: "error",
      error: "",
      errorKind: "cut",
    });
    expect(callEndOf(message)).toMatchObject({
      status: "cut",
      stop_reason: "error",
      error_kind: "cut",
      error: "",
    });
    expect(roundTrip(message)).toStrictEqual(message);
  });

  test("any answer there can be", () => {
    fc.assert(
      fc.property(anyAnswer(), (message) => deepStrictEqual(roundTrip(message), message)),
      { numRuns: process.env.LONGHAND_LONG ? 20_000 : 1000 },
    );
  });

  test("whatever order the rows come in, and whatever lies between them", () => {
    const message = AssistantMessage.of(
      [TextContent.of("a"), TextContent.of("b"), TextContent.of("c")],
      envelope,
    );
    const { rows, leftovers } = rowsOfAssistant(message, place);
    const stored = rows.map(throughDatabase);
    const result = rowOfToolResult(ToolResultContent.of("t", "42"), {
      ...resultPlace,
      call_id: "call-1",
      part: 1,
    });
    const foreign = stored.map((row) => ({ ...row, call_id: "call-2" }));
    const call = { ...running, ...callEndOf(message) };
    const shuffled = [...foreign, ...stored.reverse(), throughDatabase(result, 9)];
    expect(assistantOfRows(shuffled, call, leftovers)).toStrictEqual(message);
  });
});

describe("rows that people changed", () => {
  const message = AssistantMessage.of(
    [{ ...TextContent.of("a\u0000"), native }, TextContent.of("b"), TextContent.of("c")],
    envelope,
  );
  const call = { ...running, ...callEndOf(message) };
  const { rows, leftovers } = rowsOfAssistant(message, place);
  const stored = rows.map(throughDatabase);

  test("an edited row says its new words, and nothing vouches for the old ones", () => {
    const edited = stored.map((row) => (row.part === 0 ? { ...row, content: "better", revision: 1 } : row));
    expect(assistantOfRows(edited, call, leftovers).contents[0]).toEqual({ type: "text", content: "better" });
  });

  test("a deleted row is gone, and the answer keeps its name", () => {
    const deleted = stored.map((row) =>
      row.part === 0 ? { ...row, deleted_at: "2026-01-01T00:00:00Z" } : row,
    );
    expect(assistantOfRows(deleted, call, leftovers)).toMatchObject({
      ...at,
      contents: [{ content: "b" }, { content: "c" }],
    });
  });

  test("a row without its metadata is still read", () => {
    const bare = stored.slice(0, 1).flatMap((row) => [
      { ...row, metadata: {}, sender: "thinking", part: 0 },
      { ...row, metadata: {}, sender: "tool_use", part: 1 },
    ]);
    expect(assistantOfRows(bare, call, []).contents).toEqual([
      { type: "thinking", content: "a\ufffd", signature: "" },
      { type: "tool_call", id: "", name: "", args: {} },
    ]);
  });

  test("a call that never ended is an answer that failed, or what its status says", () => {
    const stop = (status: CallEnvelope["status"]) => assistantOfRows([], { ...running, status }, []);
    expect(stop("running")).toMatchObject({
      id: "call-1",
      timestamp: Date.parse(running.started_at),
      stopReason: "error",
      usage: Usage.none(),
    });
    expect(stop("ok").stopReason).toBe("stop");
    expect(stop("aborted").stopReason).toBe("aborted");
    expect(stop("cut").stopReason).toBe("error");
    expect(stop("error").stopReason).toBe("error");
  });
});

const resultPlace = {
  id: "result-1",
  chat_jid: "home",
  turn_id: "turn-1",
  call_id: "call-1",
  part: null,
  tool_name: "shell",
  timestamp: at.timestamp,
};
const PNG = "iVBORw0KGgo=";

describe("a tool's result as a row", () => {
  test("reads like what the tool said, with the rest in metadata", () => {
    const result = ToolResultContent.of("toolu_1", "2 files", {
      isError: true,
      metadata: { exit_code: 3, ms: 20 },
      terminate: true,
      images: [PNG],
    });
    expect(rowOfToolResult(result, resultPlace)).toEqual({
      id: "result-1",
      chat_jid: "home",
      sender: "tool_result",
      sender_name: "shell",
      content: "2 files",
      timestamp: "2024-11-15T09:30:00.123Z",
      is_from_me: true,
      message_type: "tool_result",
      metadata: {
        tool_use_id: "toolu_1",
        name: "shell",
        is_error: true,
        exit_code: 3,
        terminate: true,
        metadata: { exit_code: 3, ms: 20 },
        images: [PNG],
      },
      turn_id: "turn-1",
      call_id: "call-1",
      part: null,
    });
  });

  test("gives any result back", () => {
    const media = fc.constantFrom(PNG, `data:image/png;base64,${PNG}`, "https://example.org/a.png");
    const results = fc.record(
      {
        type: fc.constant("tool_result" as const),
        id: oddText(),
        content: oddText(),
        isError: fc.boolean(),
        metadata: jsonObject(),
        terminate: fc.boolean(),
        images: fc.array(media),
        audio: fc.array(fc.constantFrom("SUQz", "data:audio/wav;base64,SUQz")),
      },
      { requiredKeys: ["type", "id", "content", "isError", "metadata", "terminate"], noNullPrototype: true },
    );
    fc.assert(
      fc.property(results, (result) => {
        const row = throughDatabase(rowOfToolResult(result, resultPlace), 1);
        deepStrictEqual(toolResultOfRow(row), result);
      }),
      { numRuns: process.env.LONGHAND_LONG ? 20_000 : 500 },
    );
  });

  test("bytes and files become base64; what cannot be read is named and left out", () => {
    const folder = mkdtempSync(join(tmpdir(), "longhand-rows-"));
    const file = join(folder, "a.png");
    writeFileSync(file, Buffer.from(PNG, "base64"));
    const images = [Buffer.from(PNG, "base64"), `file:${file}`, `file:${join(folder, "none.png")}`, "AAAA"];
    const row = throughDatabase(rowOfToolResult(ToolResultContent.of("t", "", { images }), resultPlace), 1);
    rmSync(folder, { recursive: true });
    expect(toolResultOfRow(row).images).toEqual([PNG, PNG]);
    expect(row.metadata.unavailable).toEqual([
      { path: "images[2]", reason: "the file could not be read" },
      { path: "images[3]", reason: "not JPEG, PNG, GIF or WEBP; it starts with 00 00 00" },
    ]);
  });

  test("a file: that somebody wrote into a row is never handed on", () => {
    const row = rowOfToolResult(ToolResultContent.of("t", "", { images: [PNG] }), resultPlace);
    const forged = {
      ...row,
      metadata: { ...row.metadata, images: [" FILE:/etc/passwd", PNG], audio: "file:/x" },
    };
    expect(toolResultOfRow(forged)).toMatchObject({ images: [PNG] });
    expect("audio" in toolResultOfRow(forged)).toBe(false);
  });

  test("a row without its metadata is still a result", () => {
    const row = { ...rowOfToolResult(ToolResultContent.of("t", "42"), resultPlace), metadata: {} };
    expect(toolResultOfRow(row)).toEqual(ToolResultContent.of("", "42"));
  });
});

function oddText(): fc.Arbitrary<string> {
  const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit));
  return fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc
      .array(fc.oneof(anyUnit, fc.constantFrom("\u0000", "\ud800", "\n", "é")))
      .map((units) => units.join("")),
  );
}

/** JSON as it comes back from JSON: -0 is 0 there. */
function jsonObject(): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "exact")), fc.jsonValue(), {
      noNullPrototype: true,
    })
    .map((value) => JSON.parse(JSON.stringify(value)));
}

function anyAnswer(): fc.Arbitrary<AssistantMessage> {
  const nativeData = fc.record(
    { api: fc.string(), data: fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))) },
    { noNullPrototype: true },
  );
  const content: fc.Arbitrary<AssistantContent> = fc.oneof(
    fc.record(
      { type: fc.constant("text" as const), content: oddText(), native: nativeData },
      { requiredKeys: ["type", "content"], noNullPrototype: true },
    ),
    fc.record(
      {
        type: fc.constant("thinking" as const),
        content: oddText(),
        signature: fc.oneof(fc.constant(""), oddText()),
        redacted: fc.boolean(),
        native: nativeData,
      },
      { requiredKeys: ["type", "content", "signature"], noNullPrototype: true },
    ),
    fc.record(
      {
        type: fc.constant("tool_call" as const),
        id: oddText(),
        name: oddText(),
        args: jsonObject(),
        kind: fc.string(),
        native: nativeData,
      },
      { requiredKeys: ["type", "id", "name", "args"], noNullPrototype: true },
    ),
  );
  const money = fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => value + 0);
  const cost = fc.record(
    { input: money, output: money, cacheRead: money, cacheWrite: money, total: money },
    { noNullPrototype: true },
  );
  const usage = fc.record(
    {
      inputTokens: fc.nat(),
      outputTokens: fc.nat(),
      cacheReadTokens: fc.nat(),
      cacheWriteTokens: fc.nat(),
      reasoningTokens: fc.nat(),
      cost: fc.option(cost),
    },
    {
      requiredKeys: ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "cost"],
      noNullPrototype: true,
    },
  );
  return fc.record(
    {
      role: fc.constant("assistant" as const),
      contents: fc.array(content, { maxLength: 12 }),
      id: fc.oneof(fc.uuid(), fc.constantFrom("a.1", "x.1.1", ".")),
      timestamp: fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
      usage,
      stopReason: fc.constantFrom(...STOP_REASONS),
      provider: fc.string(),
      api: fc.string(),
      model: fc.string(),
      error: fc.string(),
      errorKind: fc.constantFrom(...ERROR_KINDS),
    },
    {
      requiredKeys: [
        "role",
        "contents",
        "id",
        "timestamp",
        "usage",
        "stopReason",
        "provider",
        "api",
        "model",
      ],
      noNullPrototype: true,
    },
  );
}
