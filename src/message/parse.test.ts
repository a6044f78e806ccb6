import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AgentMessage,
  AssistantMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  type Content,
  CustomMessage,
  HostMessage,
  ImageContent,
  parseMessage,
  parseMessages,
  parseStoredRow,
  type Role,
  SystemMessage,
  TextContent,
  ThinkingContent,
  ToolCallContent,
  ToolMessage,
  ToolResultContent,
  Usage,
  UserMessage,
} from "./index.js";

const PNG = "iVBORw0KGgo=";
const PNG_BYTES = Uint8Array.from(Buffer.from(PNG, "base64"));
const at = { id: "i", timestamp: 1_731_663_000_000 };
const cost = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, total: 3 };
const native = { api: "responses", data: { encrypted: "x", deep: [{ a: null }] } };
const result = ToolResultContent.of("t1", "42", {
  metadata: { exit_code: 0 },
  images: [PNG],
  audio: ["SUQz"],
});

const SAMPLES: Record<Content["type"], Content> = {
  text: { ...TextContent.of("hi"), native },
  image: { type: "image", images: [PNG, "https://example.org/a.png", `data:image/png;base64,${PNG}`] },
  audio: { type: "audio", audio: ["SUQz"] },
  thinking: { ...ThinkingContent.of("", "sig"), redacted: true, native },
  tool_call: { ...ToolCallContent.of("t1", "search", { "odd key": [1, { a: null }] }), kind: "web", native },
  tool_result: result,
};

const ALLOWED: Record<Role, Content["type"][]> = {
  system: ["text"],
  user: ["text", "image", "audio", "tool_result"],
  assistant: ["text", "thinking", "tool_call"],
  tool: ["tool_result"],
  custom: ["text", "image", "audio", "thinking", "tool_call", "tool_result"],
  branch_summary: ["text"],
  compaction_summary: ["text"],
  host: ["text"],
};

const answer = AssistantMessage.of([TextContent.of("so")], {
  ...at,
  usage: { ...Usage.none(), reasoningTokens: 4, cost },
  stopReason: "error",
  provider: "p",
  api: "a",
  model: "m",
  error: "went wrong",
  errorKind: "overloaded",
});
const metadata = {
  source: "web",
  sender_id: "web:1",
  sender_display_name: "O",
  sender_type: "human",
  extra: 1,
} as const;

const MESSAGES: Record<Role, AgentMessage> = {
  system: SystemMessage.text("be kind", at),
  user: UserMessage.text("hi", { ...at, sender: "web:1", metadata }),
  assistant: answer,
  tool: ToolMessage.fromResult(result, at),
  custom: CustomMessage.of("poll", [TextContent.of("?")], at),
  branch_summary: BranchSummaryMessage.text("s", at),
  compaction_summary: CompactionSummaryMessage.text("s", at),
  host: HostMessage.text("restarted", at),
};
const ROLES = Object.values(MESSAGES).map(({ role }) => role);

const outside = (value: unknown) => parseMessage(value, { from: "outside" });
const errorsIn = (value: unknown, from: "code" | "outside" = "outside") => {
  const parsed = parseMessage(value, { from });
  return parsed.ok ? [] : parsed.errors;
};

describe("a sound message is taken as it is", () => {
  test.each(ROLES)("%s", (role) => {
    const stored = JSON.parse(JSON.stringify(MESSAGES[role]));
    expect(outside(stored)).toStrictEqual({ ok: true, message: MESSAGES[role] });
    expect(parseMessage(MESSAGES[role], { from: "code" })).toStrictEqual({
      ok: true,
      message: MESSAGES[role],
    });
  });

  test("a time may be spelled as the API spells it", () => {
    const spelled = { ...MESSAGES.user, timestamp: new Date(at.timestamp).toISOString() };
    expect(outside(spelled)).toEqual({ ok: true, message: MESSAGES.user });
  });

  test("a field that is there but undefined is absent", () => {
    const careless = {
      ...SystemMessage.text("x", at),
      contents: [{ type: "text", content: "x", native: undefined }],
    };
    expect(parseMessage(careless, { from: "code" })).toStrictEqual({
      ok: true,
      message: SystemMessage.text("x", at),
    });
  });

  test("fields we do not know are left behind", () => {
    const parsed = outside({ ...SystemMessage.text("x", at), admin: true });
    expect(parsed).toStrictEqual({ ok: true, message: SystemMessage.text("x", at) });
  });

  test("arguments and provider data keep even the keys objects stumble over", () => {
    const args = JSON.parse('{"__proto__":{"a":1},"constructor":2,"":3}');
    const given = { ...answer, contents: [{ type: "tool_call", id: "t", name: "n", args }] };
    const parsed = outside(given);
    expect(parsed.ok && JSON.stringify(parsed.message.contents[0])).toContain(
      '{"__proto__":{"a":1},"constructor":2,"":3}',
    );
  });
});

describe("each role holds its own contents and no others", () => {
  for (const role of ROLES) {
    test.each(Object.keys(SAMPLES) as Content["type"][])(`${role}: %s`, (type) => {
      const given = { ...MESSAGES[role], contents: [SAMPLES[type]] };
      if (ALLOWED[role].includes(type)) {
        expect(outside(given)).toStrictEqual({ ok: true, message: given });
        return;
      }
      const words = ALLOWED[role].map((word) => JSON.stringify(word));
      expect(errorsIn(given)).toEqual([
        { path: "contents[0].type", reason: `expected ${oneOf(words)}, got "${type}"` },
      ]);
    });
  }

  test("the contents a role may hold are told in order", () => {
    const [error] = errorsIn({ ...MESSAGES.user, contents: [TextContent.of("a"), { type: "frog" }] });
    expect(error).toEqual({
      path: "contents[1].type",
      reason: 'expected "text", "image", "audio" or "tool_result", got "frog"',
    });
  });
});

function oneOf(words: string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

describe("a file: is for code of this process only", () => {
  const DISGUISES = [
    "file:/etc/passwd",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "FiLe:/etc/passwd",
    " file:/etc/passwd",
    "\n\tfile:/etc/passwd",
    "\u00a0\ufefffile:/etc/passwd",
    "\u0000file:/etc/passwd",
    "fi\nle:/etc/passwd",
    "file\t:/etc/passwd",
    "\u200bfile:/etc/passwd",
    "file://localhost/etc/passwd",
    "file://elsewhere/share",
    `${" ".repeat(100_000)}file:/etc/passwd`,
  ];
  const places = (media: string): [string, AgentMessage][] => {
    const user = (content: Content) =>
      ({ ...MESSAGES.custom, contents: [TextContent.of(""), content] }) as AgentMessage;
    return [
      ["contents[1].images[1]", user({ type: "image", images: [PNG, media] })],
      ["contents[1].audio[0]", user({ type: "audio", audio: [media] })],
      ["contents[1].images[0]", user({ ...result, images: [media] })],
      ["contents[1].audio[1]", user({ ...result, audio: ["SUQz", media] })],
    ];
  };

  test.each(DISGUISES)("%j is refused from outside, wherever it stands", (media) => {
    for (const [path, message] of places(media)) {
      expect(errorsIn(message)).toEqual([
        { path, reason: expect.stringMatching(/^a file: path is taken only from code/) },
      ]);
    }
  });

  test("code may name a file", () => {
    for (const media of ["file:/tmp/a.png", "FILE:///tmp/a.png"]) {
      for (const [, message] of places(media)) expect(errorsIn(message, "code")).toEqual([]);
    }
  });
});

describe("media are looked at before they are taken", () => {
  const image = (...images: unknown[]) => ({ ...MESSAGES.user, contents: [{ type: "image", images }] });
  const audio = (...clips: unknown[]) => ({ ...MESSAGES.user, contents: [{ type: "audio", audio: clips }] });

  test("bytes are taken from code, and must be an image", () => {
    expect(errorsIn(image(PNG_BYTES, Buffer.from(PNG_BYTES)), "code")).toEqual([]);
    expect(errorsIn(image(Uint8Array.of(1, 2)), "code")).toEqual([
      { path: "contents[0].images[0]", reason: "not JPEG, PNG, GIF or WEBP; it starts with 01 02" },
    ]);
    expect(errorsIn(audio(new Uint8Array()), "code")).toEqual([
      { path: "contents[0].audio[0]", reason: "expected audio, got no bytes" },
    ]);
    expect(errorsIn(image(new Blob([PNG_BYTES])), "code")[0]?.reason).toContain("fromBlob");
  });

  test("whatever is taken can be turned into base64", () => {
    const parsed = outside(image(PNG, "https://example.org", `data:image/heic;base64,AAAA`));
    if (!parsed.ok || parsed.message.role !== "user") return expect.fail("not taken");
    const [content] = parsed.message.contents;
    if (content?.type !== "image") return expect.fail("no image");
    expect(ImageContent.toBase64(content)).toHaveLength(3);
  });

  test.each([
    [image("AAAA"), "contents[0].images[0]", "not JPEG, PNG, GIF or WEBP; it starts with 00 00 00"],
    [
      image(PNG, "a cat"),
      "contents[0].images[1]",
      "neither a URL, a data: URL nor base64; expected an http(s) URL, a data: URL or base64",
    ],
    [image(5), "contents[0].images[0]", "expected an http(s) URL, a data: URL or base64, or bytes, got 5"],
    [
      image({ type: "Buffer", data: [1] }),
      "contents[0].images[0]",
      "expected an http(s) URL, a data: URL or base64, or bytes, got an object",
    ],
    [audio("https://example.org/a.mp3"), "contents[0].audio[0]", "expected a data: URL or base64, got a URL"],
    [audio(null), "contents[0].audio[0]", "expected a data: URL or base64, or bytes, got null"],
    [
      audio("javascript:alert(1)"),
      "contents[0].audio[0]",
      "neither a URL, a data: URL nor base64; expected a data: URL or base64",
    ],
  ])("case %#", (message, path, reason) => expect(errorsIn(message)).toEqual([{ path, reason }]));
});

describe("what is wrong is told by its place", () => {
  test.each([
    [undefined, [["", "expected an object, got nothing"]]],
    [null, [["", "expected an object, got null"]]],
    ["hi", [["", 'expected an object, got "hi"']]],
    [[], [["", "expected an object, got a list"]]],
    [{}, [["role", expect.stringMatching(/^expected "system", .*, got nothing$/)]]],
    [{ ...MESSAGES.host, id: "" }, [["id", "expected a string that is not empty"]]],
    [{ ...MESSAGES.host, contents: {} }, [["contents", "expected a list, got an object"]]],
    [
      { ...MESSAGES.host, contents: [null, 5] },
      [
        ["contents[0]", "expected an object, got null"],
        ["contents[1]", "expected an object, got 5"],
      ],
    ],
    [
      { ...MESSAGES.host, timestamp: "noon" },
      [["timestamp", expect.stringContaining("such as 2026-11-15T09:30:00Z")]],
    ],
    [{ ...MESSAGES.host, timestamp: 1.5 }, [["timestamp", expect.stringContaining("a whole number")]]],
    [{ ...MESSAGES.host, timestamp: 9e15 }, [["timestamp", expect.stringContaining("at most")]]],
    [{ ...MESSAGES.custom, customType: 5 }, [["customType", "expected a string, got 5"]]],
    [
      { ...answer, stopReason: "bored" },
      [["stopReason", expect.stringMatching(/"aborted" or "error", got "bored"$/)]],
    ],
    [
      { ...answer, usage: { ...answer.usage, inputTokens: -1 } },
      [["usage.inputTokens", "expected at least 0"]],
    ],
    [
      { ...answer, usage: { ...answer.usage, cost: { ...cost, total: "1" } } },
      [["usage.cost.total", 'expected a number, got "1"']],
    ],
    [
      { ...answer, contents: [{ type: "tool_call", id: "t", name: "n", args: [] }] },
      [["contents[0].args", "expected an object, got a list"]],
    ],
    [
      { ...answer, contents: [{ type: "thinking", content: "x" }] },
      [["contents[0].signature", "expected a string, got nothing"]],
    ],
    [
      { ...answer, contents: [{ type: "text", content: "x", native: { data: 1 } }] },
      [["contents[0].native.api", "expected a string, got nothing"]],
    ],
    [
      { ...MESSAGES.tool, contents: [{ ...result, isError: 0 }] },
      [["contents[0].isError", "expected true or false, got 0"]],
    ],
    [
      { ...MESSAGES.user, metadata: { ...metadata, sender_id: "host" } },
      [["metadata.sender_id", expect.stringContaining("our own sender words")]],
    ],
  ] as [unknown, [string, unknown][]][])("case %#", (value, expected) => {
    expect(errorsIn(value)).toEqual(expected.map(([path, reason]) => ({ path, reason })));
  });

  test("a list of messages is sound as a whole or not at all, with the place in front", () => {
    expect(parseMessages([MESSAGES.user, answer], { from: "outside" })).toEqual({
      ok: true,
      messages: [MESSAGES.user, answer],
    });
    expect(
      parseMessages([MESSAGES.user, { ...answer, contents: [SAMPLES.text, SAMPLES.image] }, 7], {
        from: "outside",
      }),
    ).toEqual({
      ok: false,
      errors: [
        { path: "[1].contents[1].type", reason: 'expected "text", "thinking" or "tool_call", got "image"' },
        { path: "[2]", reason: "expected an object, got 7" },
      ],
    });
    expect(parseMessages("x", { from: "code" })).toEqual({
      ok: false,
      errors: [{ path: "", reason: 'expected a list, got "x"' }],
    });
    expect(
      parseMessages([{ ...MESSAGES.user, contents: [{ type: "image", images: ["file:/a"] }] }], {
        from: "outside",
      }),
    ).toMatchObject({
      errors: [{ path: "[0].contents[0].images[0]" }],
    });
  });
});

describe("no input makes the parser fall over", () => {
  const nested = (levels: number) => JSON.parse(`${'{"a":['.repeat(levels)}${"]}".repeat(levels)}`);

  test("arguments nested a hundred thousand deep are refused, a hundred taken", () => {
    const call = (args: unknown) => ({
      ...answer,
      contents: [{ type: "tool_call", id: "t", name: "n", args }],
    });
    expect(errorsIn(call(nested(100)))).toEqual([]);
    const [error] = errorsIn(call(nested(100_000)));
    expect(error?.reason).toBe("nested deeper than 256 levels");
    expect(error?.path.startsWith("contents[0].args.a[0].a[0]")).toBe(true);
    expect(errorsIn(nested(100_000))).toHaveLength(1);
  });

  test("data that goes round in a circle is refused", () => {
    const circle: Record<string, unknown> = {};
    circle.again = circle;
    expect(
      errorsIn({ ...MESSAGES.tool, contents: [{ ...result, metadata: circle }] }, "code")[0]?.reason,
    ).toBe("nested deeper than 256 levels");
  });

  test("what JSON cannot hold is refused", () => {
    for (const odd of [1n, () => 1, Symbol("s"), Number.NaN, new Date(), new Map(), PNG_BYTES]) {
      const given = { ...MESSAGES.tool, contents: [{ ...result, metadata: { odd } }] };
      expect(errorsIn(given, "code").map(({ path }) => path)).toEqual(["contents[0].metadata.odd"]);
    }
  });

  test("a million wrong items are refused in a few words", () => {
    const many = Array.from({ length: 1_000_000 }, () => 1);
    expect(errorsIn({ ...MESSAGES.user, contents: many })).toEqual([
      { path: "contents", reason: "expected at most 10000 items" },
    ]);
    expect(errorsIn({ ...MESSAGES.user, contents: many.slice(0, 10_000) })).toHaveLength(50);
    expect(errorsIn({ ...MESSAGES.user, contents: [{ type: "image", images: many }] })).toHaveLength(1);
    const parsed = parseMessages(many, { from: "outside" });
    expect(parsed.ok ? [] : parsed.errors).toHaveLength(50);
  });

  test("after fifty problems nobody looks at the rest", () => {
    let looked = 0;
    const contents = Array.from({ length: 5000 }, () => ({
      get type() {
        looked++;
        return "frog";
      },
    }));
    expect(errorsIn({ ...MESSAGES.user, contents })).toHaveLength(50);
    expect(looked).toBeLessThan(500);
  });

  const runs = { numRuns: process.env.LONGHAND_LONG ? 100_000 : 2000 };
  const anything = fc.anything({
    withNullPrototype: true,
    withBigInt: true,
    withTypedArray: true,
    withDate: true,
  });

  test("anything at all gives a message or errors with places", () => {
    fc.assert(
      fc.property(anything, fc.constantFrom("code" as const, "outside" as const), (value, from) => {
        const parsed = parseMessage(value, { from });
        expect(parsed.ok || parsed.errors.length > 0).toBe(true);
        parseMessages([value, value], { from });
        parseStoredRow(value);
      }),
      runs,
    );
  });

  test("a sound message with any one field spoilt gives a message or errors with places", () => {
    const spoilt = fc
      .tuple(
        fc.constantFrom(...ROLES),
        fc.constantFrom(...Object.values(SAMPLES)),
        fc.string(),
        anything,
        anything,
      )
      .chain(([role, content, key, inner, outer]) =>
        fc.record({
          message: fc.constant({ ...MESSAGES[role], contents: [content] }),
          field: fc.constantFrom(...Object.keys(MESSAGES[role]), key, "__proto__"),
          innerField: fc.constantFrom(...Object.keys(content), key, "__proto__"),
          inner: fc.constant(inner),
          outer: fc.constant(outer),
        }),
      );
    fc.assert(
      fc.property(spoilt, fc.boolean(), ({ message, field, innerField, inner, outer }, deep) => {
        const given = deep
          ? { ...message, contents: message.contents.map((content) => ({ ...content, [innerField]: inner })) }
          : { ...message, [field]: outer };
        const parsed = outside(given);
        if (parsed.ok) JSON.stringify(parsed.message);
        else for (const { reason } of parsed.errors) expect(reason).toMatch(/\w/);
      }),
      runs,
    );
  });
});
