import { describe, expect, test } from "vitest";
import { OUTCOMES } from "./outcome.js";
import { explainOutcome, whyNotAnswered } from "./why.js";

describe("why did it not answer?", () => {
  test("has one sentence for each outcome, also when nobody gave a reason", () => {
    for (const outcome of OUTCOMES) {
      expect(explainOutcome({ outcome, reason: "" }), outcome).toMatch(/^It [a-z][^.]+\.$/);
    }
  });

  test.each([
    ["ambient", "no trigger", "It was not answered: nobody called the assistant."],
    ["ignored", "sender_not_allowed", "It was not answered: this sender may not call the assistant here."],
    ["ignored", "bot", "It was not answered: it is from a bot, and bots are not answered here."],
    ["ignored", "other_recipient", "It was not answered: it was meant for another assistant."],
    ["over_budget", "over_budget", "It was not answered: the budget is used up."],
    ["over_budget", "this chat's budget is spent", "It was not answered: this chat's budget is spent."],
    ["failed", "the key was refused.", "It was not answered: the key was refused."],
    ["expired", "name", "It was not answered: the answer would have come too late."],
    ["stopped", "always", "It was not answered: somebody stopped the assistant."],
    ["ignored", "constructor", "It was not answered: constructor."],
    ["answered", "always", "It was answered, because every message is answered here."],
    ["answered", "name", "It was answered, because it begins with the assistant's name."],
    ["command", "reset context", "It was a command: reset context."],
    ["pending", "mention", "It is not answered yet; it will be, because it mentions the assistant."],
  ] as const)("%s, %s: %s", (outcome, reason, sentence) => {
    expect(explainOutcome({ outcome, reason })).toBe(sentence);
  });

  test("is nothing to ask of what was answered, by itself or with others", () => {
    for (const outcome of ["pending", "answered", "collected", "steered", "command"] as const) {
      expect(whyNotAnswered({ outcome, reason: "always" })).toBeNull();
    }
  });
});
