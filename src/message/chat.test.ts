import { describe, expect, test } from "vitest";
import { Chat, ChatPatch, chatWithDefaults, errorsOf, NewChat } from "./index.js";

const errors = (schema: typeof NewChat | typeof ChatPatch, body: unknown) => {
  const parsed = schema.safeParse(body);
  return parsed.success ? [] : errorsOf(parsed.error);
};

describe("registering a chat", () => {
  test("takes a jid and nothing else; the rest is filled in, soundly", () => {
    const chat = chatWithDefaults(NewChat.parse({ jid: "slack:C06" }), "Long Hand", ["lh"]);
    expect(chat).toMatchObject({
      jid: "slack:C06",
      name: "slack:C06",
      assistant_name: "Long Hand",
      bot_id: "long-hand",
      aliases: ["lh"],
      trigger: "mention",
      allow: "*",
      read: "*",
      while_busy: "steer",
      notices: "system",
      edits: "note",
      thread_context_role: "user",
      quiet_ms: null,
      bindings: [],
    });
    expect(Chat.parse(chat)).toEqual(chat);
  });

  test("keeps what is given, nulls and falsehoods too", () => {
    const given = {
      jid: "c",
      assistant_name: "Ada",
      trigger: { pattern: "^hey" },
      aliases: [],
      loop_limit: 9,
    };
    const chat = chatWithDefaults(NewChat.parse({ ...given, name: undefined, model: null }), "Longhand", [
      "lh",
    ]);
    expect(chat).toMatchObject({ ...given, bot_id: "ada", name: "c", model: null });
  });

  test("fills in what a binding leaves out", () => {
    const { bindings } = NewChat.parse({ jid: "c", bindings: [{ channel: "slack", address: "slack:C06" }] });
    expect(bindings).toEqual([
      { channel: "slack", address: "slack:C06", mode: "both", trace: "short", threads: "shared" },
    ]);
  });

  test.each([
    ["Ægir Ünal 2", "gir-unal-2"],
    ["  Long--Hand!  ", "long-hand"],
    ["助手", "assistant"],
    ["!!!", "assistant"],
  ])("the bot id of %s is %s", (name, slug) => {
    expect(chatWithDefaults({ jid: "c" }, name, []).bot_id).toBe(slug);
  });

  test("a name that swells when spelled plainly still gives a bot id a chat may have", () => {
    expect(Chat.safeParse(chatWithDefaults({ jid: "c" }, "㎯".repeat(64), [])).success).toBe(true);
  });

  test("a bad body says where and what", () => {
    expect(errors(NewChat, {})).toEqual([{ path: "jid", reason: "expected a string, got nothing" }]);
    expect(errors(NewChat, { jid: "a b" })).toEqual([
      { path: "jid", reason: "expected no spaces or control characters" },
    ]);
    expect(errors(NewChat, { jid: "c", trigger: "shout" })).toEqual([
      { path: "trigger", reason: 'expected "always", "mention" or "sticky", or an object' },
    ]);
    expect(errors(NewChat, { jid: "c", trigger: { pattern: 5 } })).toEqual([
      { path: "trigger.pattern", reason: "expected a string, got a number" },
    ]);
    expect(errors(NewChat, { jid: "c", allow: ["slack:U1", 5] })).toEqual([
      { path: "allow[1]", reason: "expected a string, got a number" },
    ]);
    expect(errors(NewChat, { jid: "c", allow: "everyone" })).toEqual([
      { path: "allow", reason: 'expected "*", or a list' },
    ]);
    expect(
      errors(NewChat, { jid: "c", bindings: [{ channel: "slack", address: "x", mode: "shout" }] }),
    ).toEqual([{ path: "bindings[0].mode", reason: 'expected "both", "listen" or "speak"' }]);
    const address = `slack:${"漢".repeat(400)}`;
    expect(
      errors(NewChat, { jid: "c", model: "m".repeat(513), bindings: [{ channel: "slack", address }] }),
    ).toEqual([
      { path: "model", reason: "expected at most 512 bytes" },
      { path: "bindings[0].address", reason: "expected at most 1024 bytes" },
    ]);
    expect(errors(NewChat, { jid: "c", time_zone: "Mars/Base" })).toEqual([
      { path: "time_zone", reason: "expected a time zone such as Europe/Copenhagen" },
    ]);
  });
});

describe("changing a chat", () => {
  test("takes any one setting", () => {
    expect(ChatPatch.parse({ trigger: "always" })).toEqual({ trigger: "always" });
  });

  test("a misspelt setting, and the jid itself, are refused by name", () => {
    expect(errors(ChatPatch, { tirgger: "always", jid: "x" })).toEqual([
      { path: "tirgger", reason: "no such field; check its spelling" },
      { path: "jid", reason: "no such field; check its spelling" },
    ]);
  });

  test("half a million wrong items are refused in a few words", () => {
    const many = Array.from({ length: 500_000 }, () => 1);
    expect(errors(ChatPatch, { aliases: many, allow: many, shell_allow: many })).toHaveLength(3);
  });
});
