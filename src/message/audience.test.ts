import { describe, expect, test } from "vitest";
import { AUDIENCE, audienceOf, isOwnSender, MESSAGE_TYPES, senderKind } from "./index.js";

const OWN = [
  "bot",
  "thinking",
  "tool_use",
  "tool_result",
  "command_output",
  "system",
  "deploy",
  "host",
  "result_meta",
];

describe("who sees what", () => {
  test.each([
    ["slack:U06STGBF4Q0", "user", "attributed", ""],
    ["tui-user", "user", "attributed", ""],
    ["bot", "assistant", "assistant", ""],
    ["thinking", "assistant", "assistant", "💭"],
    ["tool_use", "assistant", "assistant", "🔧"],
    ["tool_result", "tool_result", "tool", "🔧"],
    ["command_output", "tool_result", "user_text", "🔧"],
    ["system", "system", "system", "⚙️"],
    ["deploy", "system", "system", "⚙️"],
    ["host", "host", "never", "🏠"],
    ["result_meta", "host", "never", "📊"],
  ] as const)("a row of %s, typed %s, reaches the model: %s", (sender, message_type, toModel, glyph) => {
    const audience = audienceOf({ sender, message_type });
    expect(audience).toMatchObject({ messageType: message_type, toModel, shown: { glyph } });
  });

  test("the table has every sender and nothing else", () => {
    expect(Object.keys(AUDIENCE).sort()).toEqual(["person", ...OWN].sort());
  });

  test("only what is loud to read is folded away", () => {
    const folded = Object.entries(AUDIENCE).flatMap(([kind, { shown }]) => (shown.folded ? [kind] : []));
    expect(folded.sort()).toEqual(["command_output", "thinking", "tool_result", "tool_use"]);
  });
});

describe("where sender and type disagree, the row stays quiet", () => {
  test("every pair the table does not know stays away from models", () => {
    for (const sender of OWN) {
      for (const message_type of MESSAGE_TYPES) {
        const known = Object.entries(AUDIENCE).some(
          ([kind, { messageType }]) => kind === sender && messageType === message_type,
        );
        if (known) expect(senderKind({ sender, message_type })).toBe(sender);
        else expect(audienceOf({ sender, message_type }).toModel).toBe("never");
      }
    }
  });

  test("a person's row that is not typed user is nobody's word", () => {
    for (const message_type of MESSAGE_TYPES) {
      const { toModel } = audienceOf({ sender: "slack:U1", message_type });
      expect(toModel).toBe(message_type === "user" ? "attributed" : "never");
    }
  });

  test("a notice is never a row, so a row that claims to be one is not believed", () => {
    for (const message_type of MESSAGE_TYPES) {
      expect(audienceOf({ sender: "system_notice", message_type }).toModel).toBe("never");
    }
  });

  test("names that every object has are nobody special", () => {
    for (const sender of ["constructor", "__proto__", "toString", "person"]) {
      expect(isOwnSender(sender)).toBe(false);
      expect(senderKind({ sender, message_type: "user" })).toBe("person");
    }
  });
});

test("our own words are known as ours, in exactly our spelling", () => {
  for (const sender of [...OWN, "system_notice"]) expect(isOwnSender(sender)).toBe(true);
  for (const sender of ["Host", "host ", "slack:host", "tui-user", ""])
    expect(isOwnSender(sender)).toBe(false);
});
