import { describe, expect, test } from "vitest";
import {
  contentTooLarge,
  errorsOf,
  firstBadCharacter,
  IngestMessageMetadata,
  InjectBody,
  MAX_CONTENT_BYTES,
  MAX_METADATA_BYTES,
  replaceBadCharacters,
  SubmitBody,
} from "./index.js";

const metadata = {
  source: "slack",
  sender_id: "slack:U06STGBF4Q0",
  sender_display_name: "Olivia",
  sender_type: "human",
} as const;
const body = { content: "hi", msg_metadata: metadata };
const PNG = "iVBORw0KGgo=";

const errors = (given: unknown) => {
  const parsed = SubmitBody.safeParse(given);
  return parsed.success ? [] : errorsOf(parsed.error);
};
const paths = (given: unknown) => errors(given).map(({ path }) => path);
const inMetadata = (fields: Record<string, unknown>) =>
  errors({ content: "hi", msg_metadata: { ...metadata, ...fields } });

describe("what a sender must say about a message", () => {
  test("the four required fields are enough", () => {
    expect(SubmitBody.parse(body)).toEqual(body);
  });

  test.each(Object.keys(metadata))("%s missing is told by its path", (field) => {
    const { [field]: _, ...rest } = { ...metadata } as Record<string, unknown>;
    const [error, ...more] = errors({ content: "hi", msg_metadata: rest });
    expect(error?.path).toBe(`msg_metadata.${field}`);
    expect(error?.reason).toMatch(/^expected /);
    expect(more).toEqual([]);
  });

  test("everything missing is told at once", () => {
    expect(paths({ content: "hi", msg_metadata: {} })).toEqual(
      Object.keys(metadata).map((field) => `msg_metadata.${field}`),
    );
    expect(errors({})).toEqual([
      { path: "content", reason: "expected a string, got nothing" },
      { path: "msg_metadata", reason: "expected an object, got nothing" },
    ]);
    expect(errors(null)).toEqual([{ path: "", reason: "expected an object, got null" }]);
    expect(errors([])).toEqual([{ path: "", reason: "expected an object, got a list" }]);
  });

  test.each([
    ["source", 5],
    ["source", ""],
    ["source", "Slack Team"],
    ["sender_id", 5],
    ["sender_display_name", 5],
    ["sender_display_name", "x".repeat(1025)],
    ["sender_type", "cat"],
    ["sender_type", null],
    ["channel_external_id", 5],
    ["external_message_id", 5],
    ["external_message_id", ""],
    ["mention_token", {}],
    ["thread_context", ["a"]],
    ["thread_id", 5],
    ["thread_id", "é".repeat(257)],
    ["thread_id", "\u0001".repeat(100)],
    ["is_from_me", "yes"],
    ["passive", 1],
    ["trigger_rag", "false"],
    ["recipient_id", 5],
    ["reply_to", 5],
    ["entities", "x"],
    ["entities", {}],
  ])("%s of a wrong kind (%j) is told by its path", (field, value) => {
    expect(inMetadata({ [field]: value })).toEqual([
      { path: `msg_metadata.${field}`, reason: expect.stringMatching(/^expected /) },
    ]);
  });

  test("a wrong entity is told by its place in the list", () => {
    const entities = [
      { offset: 0, length: 3, type: "mention", id: "U1" },
      { offset: -1, length: 1.5, type: "" },
    ];
    expect(inMetadata({ entities })).toEqual([
      { path: "msg_metadata.entities[1].offset", reason: "expected at least 0" },
      { path: "msg_metadata.entities[1].length", reason: "expected a whole number, got a number" },
      { path: "msg_metadata.entities[1].type", reason: "expected a string that is not empty" },
    ]);
    expect(inMetadata({ entities: Array.from({ length: 400_000 }, () => 1) })).toEqual([
      { path: "msg_metadata.entities", reason: "expected at most 1000 items" },
    ]);
  });

  test("every optional field may be null, absent or right", () => {
    const optional = {
      channel_external_id: "C06",
      external_message_id: "17.1",
      mention_token: "<@U06STGBF4Q0>",
      thread_context: "Bo: yes\nOlivia: no",
      thread_id: "16.1",
      is_from_me: false,
      passive: true,
      trigger_rag: false,
      recipient_id: "bot:longhand",
      reply_to: "15.1",
      entities: [{ offset: 0, length: 2, type: "link", id: null }],
    };
    expect(inMetadata(optional)).toEqual([]);
    expect(inMetadata(Object.fromEntries(Object.keys(optional).map((field) => [field, null])))).toEqual([]);
    expect(IngestMessageMetadata.parse({ ...metadata, ...optional })).toEqual({ ...metadata, ...optional });
  });

  test("extra keys are kept as they came, in entities too", () => {
    const extra = {
      team: "T01",
      deep: { list: [1, null, { a: "b" }] },
      "odd key": "",
      entities: [{ offset: 0, length: 1, type: "x", url: "u" }],
    };
    expect(SubmitBody.parse({ ...body, msg_metadata: { ...metadata, ...extra } }).msg_metadata).toEqual({
      ...metadata,
      ...extra,
    });
  });

  test("a key that would poison an object poisons nothing", () => {
    const parsed = IngestMessageMetadata.parse(
      JSON.parse(`{"__proto__":{"admin":true},${JSON.stringify(metadata).slice(1)}`),
    );
    expect("admin" in parsed).toBe(false);
    expect("admin" in {}).toBe(false);
  });
});

describe("who a sender may be", () => {
  test.each(["slack:U06STGBF4Q0", "bb:+4512345678", "matrix:@olivia:example.org", "web:ø", "tui-user"])(
    "%s is taken",
    (sender_id) => expect(inMetadata({ sender_id })).toEqual([]),
  );

  test.each([
    "host",
    "bot",
    "system",
    "deploy",
    "thinking",
    "tool_use",
    "tool_result",
    "command_output",
    "result_meta",
    "system_notice",
  ])("our own word %s is refused, and the reason says why", (sender_id) => {
    expect(inMetadata({ sender_id })).toEqual([
      {
        path: "msg_metadata.sender_id",
        reason: `"${sender_id}" is one of our own sender words; expected "<namespace>:<external id>" without spaces, such as "slack:U06STGBF4Q0"`,
      },
    ]);
  });

  test.each(["", "olivia", "Host", "slack:", ":U06", "slack:U 06", "slack:U\u202e06", "tui-user2", "host\n"])(
    "%j is no sender",
    (sender_id) =>
      expect(inMetadata({ sender_id }).map(({ path }) => path)).toEqual(["msg_metadata.sender_id"]),
  );
});

describe("metadata that could not be kept is refused", () => {
  test("too large, by its bytes and not its letters", () => {
    const room = MAX_METADATA_BYTES - Buffer.byteLength(JSON.stringify({ ...metadata, extra: "" }));
    expect(inMetadata({ extra: "x".repeat(room) })).toEqual([]);
    const over = [{ path: "msg_metadata", reason: `expected at most ${MAX_METADATA_BYTES} bytes of JSON` }];
    expect(inMetadata({ extra: "x".repeat(room + 1) })).toEqual(over);
    expect(inMetadata({ extra: "ø".repeat(room / 2 + 1) })).toEqual(over);
    expect(inMetadata({ extra: Array.from({ length: 60_000 }, () => null) })).toEqual(over);
    expect(inMetadata({ extra: "\n".repeat(room / 2 + 1) })).toEqual(over);
  });

  test("too deep, without the parser falling over", () => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    expect(inMetadata({ extra: nested(31) })).toEqual([]);
    expect(inMetadata({ extra: nested(32) })[0]?.reason).toBe("nested deeper than 32 levels");
    expect(inMetadata({ extra: nested(100_000) })[0]?.reason).toBe("nested deeper than 32 levels");
  });

  test("characters no store can hold, wherever they hide", () => {
    expect(inMetadata({ sender_display_name: "Oli\u0000via" })).toEqual([
      { path: "msg_metadata.sender_display_name", reason: "holds U+0000 at offset 3, which cannot be kept" },
    ]);
    expect(inMetadata({ thread_context: "a\ud800" })[0]?.path).toBe("msg_metadata.thread_context");
    expect(inMetadata({ extra: [{ note: "\udc00" }] })[0]?.path).toBe("msg_metadata.extra[0].note");
    expect(inMetadata({ "a\u0000": 1 })[0]?.path).toBe('msg_metadata["a\\u0000"]');
  });
});

describe("content is what the human typed", () => {
  test.each([
    "🚤👩‍👩‍👧‍👦",
    "שלום \u202e right to left \u200f",
    "  spaces \t kept \r\n\r\n ",
    "\u0001\u0007\u200b\ufeff\ufffd\uffff",
    "[Olivia]: pay me",
    "<@U06STGBF4Q0> &lt;",
    "e\u0301 not é",
  ])("%j comes back character for character", (content) => {
    expect(SubmitBody.parse({ ...body, content }).content).toBe(content);
  });

  test.each([
    ["\u0000", "U+0000", 0],
    ["ab\u0000c\u0000", "U+0000", 2],
    ["🚤\ud83d", "a lone surrogate", 2],
    ["\udea4🚤", "a lone surrogate", 0],
    ["x\ud83d\ud83d\udea4", "a lone surrogate", 1],
    ["\ud800\u0000", "a lone surrogate", 0],
  ])("%j is refused: %s at %i", (content, name, offset) => {
    expect(firstBadCharacter(content)).toEqual({ name, offset });
    expect(errors({ ...body, content })).toEqual([
      { path: "content", reason: `holds ${name} at offset ${offset}, which cannot be kept` },
    ]);
  });

  test("what cannot be kept can be replaced, one character for one", () => {
    expect(replaceBadCharacters("a\u0000b\ud800c🚤")).toBe("a\ufffdb\ufffdc🚤");
  });

  test("nothing said is refused; an attachment says something, and so does a space", () => {
    const attachments = [{ name: "a.png", mime_type: "image/png", data: PNG }];
    expect(errors({ ...body, content: "" })).toEqual([
      { path: "content", reason: "expected text, or an attachment" },
    ]);
    expect(paths({ ...body, content: "", attachments: [] })).toEqual(["content"]);
    expect(errors({ ...body, content: "", attachments })).toEqual([]);
    expect(errors({ ...body, content: " " })).toEqual([]);
  });

  test("too large is told apart from wrong, by bytes", () => {
    expect(contentTooLarge("")).toBe(false);
    expect(contentTooLarge("x".repeat(MAX_CONTENT_BYTES))).toBe(false);
    expect(contentTooLarge("x".repeat(MAX_CONTENT_BYTES + 1))).toBe(true);
    expect(contentTooLarge("ø".repeat(MAX_CONTENT_BYTES / 2))).toBe(false);
    expect(contentTooLarge(`${"ø".repeat(MAX_CONTENT_BYTES / 2)}x`)).toBe(true);
    expect(contentTooLarge("🚤".repeat(MAX_CONTENT_BYTES / 4))).toBe(false);
    expect(contentTooLarge("€".repeat(Math.ceil(MAX_CONTENT_BYTES / 3)))).toBe(true);
    expect(errors({ ...body, content: "x".repeat(MAX_CONTENT_BYTES + 1) })).toEqual([]);
  });
});

describe("attachments", () => {
  const attached = (attachment: unknown) => errors({ ...body, attachments: [attachment] });

  test.each([
    { name: "a.png", mime_type: "image/png", data: PNG },
    { name: "a.png", mime_type: "image/png", url: "https://example.org/a.png" },
    { name: "voice", mime_type: "audio/ogg; codecs=opus", data: PNG },
    { name: "empty.txt", mime_type: "text/plain;charset=utf-8", data: "" },
    {
      name: "ø🚤.docx",
      mime_type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
      data: PNG,
    },
  ])("%j is taken", (attachment) => expect(attached(attachment)).toEqual([]));

  test.each([
    [{ name: "", mime_type: "image/png", data: PNG }, "attachments[0].name"],
    [{ name: "a\u0000", mime_type: "image/png", data: PNG }, "attachments[0].name"],
    [{ name: "a", mime_type: "png", data: PNG }, "attachments[0].mime_type"],
    [{ name: "a", mime_type: "image/png\r\nx: y", data: PNG }, "attachments[0].mime_type"],
    [{ name: "a", mime_type: "image/png", data: "not base64" }, "attachments[0].data"],
    [{ name: "a", mime_type: "image/png", url: "file:///etc/passwd" }, "attachments[0].url"],
    [{ name: "a", mime_type: "image/png", url: "FILE:/etc/passwd" }, "attachments[0].url"],
    [{ name: "a", mime_type: "image/png", url: "ftp://example.org/a" }, "attachments[0].url"],
    [{ name: "a", mime_type: "image/png" }, "attachments[0]"],
    [{ name: "a", mime_type: "image/png", data: PNG, url: "https://example.org" }, "attachments[0]"],
  ])("%j is refused at %s", (attachment, path) => {
    expect(attached(attachment).map((error) => error.path)).toEqual([path]);
  });

  test("ten million characters of data are looked through, not stumbled over", () => {
    const data = "A".repeat(10_000_000);
    expect(attached({ name: "a", mime_type: "image/png", data })).toEqual([]);
    expect(attached({ name: "a", mime_type: "image/png", data: `${data}!!!!` })).toEqual([
      { path: "attachments[0].data", reason: "expected base64" },
    ]);
  });
});

describe("the rest of the body", () => {
  test("id and time may be given, or null", () => {
    expect(errors({ ...body, message_id: "m-1", timestamp: "2026-11-15T09:30:00+01:00" })).toEqual([]);
    expect(errors({ ...body, message_id: null, timestamp: null, attachments: null })).toEqual([]);
    expect(paths({ ...body, message_id: "a b" })).toEqual(["message_id"]);
    expect(errors({ ...body, timestamp: "yesterday" })).toEqual([
      { path: "timestamp", reason: "expected a date and time with its zone, such as 2026-11-15T09:30:00Z" },
    ]);
  });

  test("inject is a user's word that neither runs nor notifies, unless it says so", () => {
    expect(InjectBody.parse(body)).toMatchObject({ role: "user", run: false, notify: false });
    expect(InjectBody.parse({ ...body, role: "system", run: true, notify: true })).toMatchObject({
      role: "system",
      run: true,
      notify: true,
    });
    const refused = InjectBody.safeParse({ ...body, role: "assistant", run: "yes" });
    expect(refused.success ? [] : errorsOf(refused.error)).toEqual([
      { path: "role", reason: 'expected "user" or "system"' },
      { path: "run", reason: "expected true or false, got a string" },
    ]);
  });
});
