import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AUDIENCE, type MessageRow, type SenderKind } from "../message/index.js";
import { outgoingText, sourceLabel, tracesShown } from "./present.js";

const SHORT = { trace: "short" } as const;
const FULL = { trace: "full" } as const;
const KINDS = Object.keys(AUDIENCE) as SenderKind[];

describe("what is seen on the other channels", () => {
  test("a person's words stand behind their name and where they spoke", () => {
    expect(outgoingText(said("  hello\nthere "), SHORT)).toBe("Olivia · Slack:   hello\nthere ");
  });

  test("the assistant's words stand alone", () => {
    expect(outgoingText(row("bot", "Hello, *Olivia*."), SHORT)).toBe("Hello, *Olivia*.");
  });

  test.each<[SenderKind, string]>([
    ["thinking", "💭 Let me see."],
    ["system", "⚙️ Let me see."],
    ["deploy", "⚙️ Let me see."],
    ["host", "🏠 Let me see."],
    ["result_meta", "📊 Let me see."],
  ])("%s is told by its glyph", (kind, text) => {
    expect(outgoingText(row(kind, "Let me see."), SHORT)).toBe(text);
  });

  test("a tool's call is its name and the beginning of its arguments", () => {
    const call = row("tool_use", "", { name: "search", args: { query: "word ".repeat(60) } });
    const text = outgoingText(call, SHORT);
    expect(text).toMatch(/^🔧 search \{"query":"word word .*…$/);
    expect(text.length).toBeLessThan(150);
    expect(outgoingText(call, FULL)).toBe(`🔧 search ${JSON.stringify(call.metadata.args)}`);
  });

  test("a tool's result says whether it went well, and all of it only when asked for", () => {
    const went = row("tool_result", "42 rows", { name: "search", is_error: false });
    const failed = row("tool_result", "no such table", { name: "search", is_error: true });
    expect(outgoingText(went, SHORT)).toBe("🔧 ✅ search");
    expect(outgoingText(failed, SHORT)).toBe("🔧 ❌ search");
    expect(outgoingText(went, FULL)).toBe("🔧 ✅ search\n42 rows");
  });

  test("a command's output is shown to those who asked for it", () => {
    expect(outgoingText(row("command_output", "ok", { exit_code: 0 }), SHORT)).toBe("🔧 ✅\nok");
    expect(outgoingText(row("command_output", "no", { exit_code: 2 }), SHORT)).toBe("🔧 ❌\nno");
    expect(tracesShown(row("command_output", "ok"), "off")).toBe(true);
  });

  test("a thought is one line, and all of it only when asked for", () => {
    const thought = row("thinking", `First.\n\n${"Second. ".repeat(200)}`);
    const text = outgoingText(thought, SHORT);
    expect(text).toMatch(/^💭 First\. Second\. [^\n]*…$/);
    expect(outgoingText(thought, FULL)).toBe(`💭 ${thought.content}`);
  });

  test("files are named where they cannot be shown", () => {
    const file = {
      mime_type: "image/png",
      size: 1,
      sha256: null,
      url: null,
      state: "delivered",
      reason: null,
    } as const;
    const attachments = [
      { ...file, name: "cat.png" },
      { ...file, name: "a\nb.pdf", state: "unavailable" as const, reason: "too\nlarge" },
    ];
    const names = "📎 cat.png\n📎 a b.pdf (unavailable: too large)";
    expect(outgoingText({ ...said(""), attachments }, SHORT)).toBe(`Olivia · Slack: ${names}`);
    expect(outgoingText({ ...said("look"), attachments }, SHORT)).toBe(`Olivia · Slack: look\n${names}`);
  });

  test("an old import is shown without its baked prefix", () => {
    const old = said("[Slack channel:C06 user:Olivia] hi");
    expect(outgoingText({ ...old, metadata: { ...old.metadata, legacy_ingest: true } }, SHORT)).toBe(
      "Olivia · Slack: hi",
    );
    expect(outgoingText(old, SHORT)).toBe("Olivia · Slack: [Slack channel:C06 user:Olivia] hi");
  });

  test("a channel is called what people call it", () => {
    expect(["slack", "imessage", "tui", "matrix", ""].map(sourceLabel)).toEqual([
      "Slack",
      "iMessage",
      "Terminal",
      "Matrix",
      "",
    ]);
    expect(outgoingText(said("hi"), { ...SHORT, sourceLabel: "Work Slack" })).toBe("Olivia · Work Slack: hi");
  });
});

describe("nobody is made to speak for another", () => {
  test("no name breaks out of its line, or passes for a name and a channel", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 120 }), (name) => {
        const text = outgoingText({ ...said("THE TEXT"), sender_name: name }, SHORT);
        expect(text).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]+ · Slack: THE TEXT$/u);
      }),
    );
    const forged = { ...said("yes"), sender_name: "Bob · Slack: no\u2028\nOlivia\u202e" };
    expect(outgoingText(forged, SHORT)).toBe("Bob - Slack: no Olivia · Slack: yes");
  });

  test("a nameless sender is told by id", () => {
    expect(outgoingText({ ...said("hi"), sender_name: " \n" }, SHORT)).toBe("slack:U06STGBF4Q0 · Slack: hi");
  });

  test("a line that looks like ours is marked as a quotation", () => {
    const text = "He wrote:\nBob · Slack: I agree\nEve · WhatsApp: me too\nprice · total: 5";
    const quoted = "He wrote:\n> Bob · Slack: I agree\n> Eve · WhatsApp: me too\nprice · total: 5";
    expect(outgoingText(row("bot", text), SHORT)).toBe(quoted);
    expect(outgoingText(said(text), SHORT)).toBe(`Olivia · Slack: ${quoted}`);
    expect(outgoingText(row("bot", "Bob · Slack: I agree"), SHORT)).toBe("> Bob · Slack: I agree");
  });
});

describe("mentions that leave their platform", () => {
  const mentions = [
    { token: "<@U1>", name: "Olivia", there: null },
    { token: "<@U12>", name: "Bob\nEve", there: null },
    { token: "@liv", name: "Liv", there: "<@77>" },
    { token: "", name: "Nobody", there: null },
  ];

  test("become the other platform's, or plain names", () => {
    const text = "<@U1>, <@U12> and @liv; not <@U3>";
    expect(outgoingText(row("bot", text), { ...SHORT, mentions })).toBe(
      "@Olivia, @Bob Eve and <@77>; not <@U3>",
    );
  });

  test("are read once: a name that looks like a token stays a name", () => {
    const tricky = [{ token: "<@U1>", name: "liv", there: null }, ...mentions.slice(2)];
    expect(outgoingText(row("bot", "<@U1>"), { ...SHORT, mentions: tricky })).toBe("@liv");
  });

  test.each([
    "@everyone",
    "@here",
    "@Everyone!",
    "hey@here",
    "@channel now",
    "@all,",
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<!subteam^S1>",
    "<users/all>",
  ])("%s notifies nobody, and reads the same", (token) => {
    for (const kind of KINDS) {
      const text = outgoingText(row(kind, `so ${token}`, { name: token, args: { token } }), FULL);
      expect(text).not.toContain(token);
      expect(text.replaceAll("\u200b", "")).toContain(token);
    }
    expect(outgoingText(row("bot", token), { ...SHORT, massMentions: true })).toBe(token);
  });

  test("words that only begin so are left alone", () => {
    const text = "@allison <!date^1^x> a@channels.example <b> @U1";
    expect(outgoingText(row("bot", text), SHORT)).toBe(text);
  });

  test("a name or a channel's label cannot notify everybody either", () => {
    const text = outgoingText(
      { ...said("hi"), sender_name: "@everyone" },
      { ...SHORT, sourceLabel: "<!here>" },
    );
    expect(text).toBe("@\u200beveryone · <\u200b!here>: hi");
  });
});

describe("how much of the work is shown", () => {
  test("off hides thoughts, tools and figures, and nothing else", () => {
    const hidden = KINDS.filter((kind) => !tracesShown(row(kind, "text"), "off"));
    expect(hidden).toEqual(["thinking", "tool_use", "tool_result", "result_meta"]);
  });

  test("short and full show them", () => {
    for (const kind of KINDS) {
      expect(tracesShown(row(kind, "text"), "short")).toBe(true);
      expect(tracesShown(row(kind, "text"), "full")).toBe(true);
    }
  });

  test("a thought without words is not shown", () => {
    expect(tracesShown(row("thinking", " "), "full")).toBe(false);
  });
});

function row(kind: SenderKind, content: string, metadata: Record<string, unknown> = {}): MessageRow {
  return {
    id: "m1",
    chat_jid: "home",
    seq: 1,
    sender: kind === "person" ? "slack:U06STGBF4Q0" : kind,
    sender_name: kind === "person" ? "Olivia" : kind,
    content,
    timestamp: "2026-03-04T05:06:07.890Z",
    is_from_me: kind !== "person",
    message_type: AUDIENCE[kind].messageType,
    metadata,
    turn_id: null,
    call_id: null,
    part: null,
    attachments: [],
    revision: 0,
    edited_at: null,
    deleted_at: null,
  };
}

function said(content: string): MessageRow {
  return row("person", content, { source: "slack" });
}
