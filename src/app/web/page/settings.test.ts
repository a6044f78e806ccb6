import { expect, test } from "vitest";
import { type ChatPatch, chatWithDefaults } from "../../../message/index.js";
import { settingsCommand, settingsInWords } from "./settings.js";

const words = (given: ChatPatch = {}): Record<string, string> =>
  Object.fromEntries(
    settingsInWords(chatWithDefaults({ jid: "family", ...given }, "Longhand", ["lh"]), "demo/demo"),
  );

test("a chat nobody set up tells how it behaves by itself", () => {
  expect(words()).toEqual({
    answers: "when called: @Longhand, @lh",
    "may call it": "everyone",
    "is read": "everyone",
    bots: "are not answered",
    "while it writes": "what is said joins the answer",
    model: "demo/demo (the server's)",
    "is told first": "a short word about where it is",
    budget: "no limit",
    "late answers": "are sent however late",
    shell: "closed",
    "its day": "begins at midnight in UTC",
    "also on": "nothing else; it lives on this page",
  });
});

test("what was set is told in words, limits and names included", () => {
  const told = words({
    trigger: { pattern: "^hey" },
    allow: ["person:olivia"],
    read: [],
    allow_bots: true,
    while_busy: "interrupt",
    model: "container/helper",
    fallback_model: "demo/demo",
    budget: { usd_per_day: 2, tokens_per_day: 900, usd_per_person_per_day: null },
    expire_after_s: 1,
    bindings: [{ channel: "slack", address: "slack:C1", mode: "listen", trace: "off", threads: "shared" }],
  });
  expect(told).toMatchObject({
    answers: "when called: @Longhand, @lh; and what matches ^hey",
    "may call it": "person:olivia",
    "is read": "nobody",
    bots: "are answered, at most 5 times in a row",
    "while it writes": "what is said interrupts it",
    model: "container/helper, or demo/demo when it cannot be reached",
    budget: "$2.00 a day, 900 tokens a day",
    "late answers": "are not sent after 1 second",
    "also on": "Slack slack:C1 (only heard)",
  });
});

test("the command to change a setting can be pasted, whatever the chat is called", () => {
  expect(settingsCommand({ jid: "slack:C06RY3YBSLE" })).toBe(
    "longhand settings slack:C06RY3YBSLE while_busy=queue",
  );
  expect(settingsCommand({ jid: "it's;rm" })).toBe("longhand settings 'it'\\''s;rm' while_busy=queue");
});
