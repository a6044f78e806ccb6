import { describe, expect, test } from "vitest";
import { displayContent, stripLegacyIngestPrefix } from "./index.js";

describe("an old import is shown without what older systems baked into it", () => {
  test.each([
    [
      "slack",
      "[Slack channel:C06RY3YBSLE user:Olivia (<@U06STGBF4Q0>)] testing from slack",
      "testing from slack",
    ],
    ["slack", "[Slack channel:C06 user:Olivia] from before mentions", "from before mentions"],
    ["slack", "[Slack channel:C06 user:Olivia (she/her) (<@U06>)] hi", "hi"],
    ["slack", "[Slack channel:C06 user:Olivia [PM] (<@U06>)] hi", "hi"],
    ["slack", "[Slack channel:C06 user:Olivia [PM]] hi", "hi"],
    ["slack", "[Slack channel:C06 user:Olivia :] (<@U06>)] hi", "hi"],
    ["slack", "[Slack channel:C06 user:Olivia [ (<@U06>)] hi", "hi"],
    ["slack", "[Slack channel:C06 user:Olivia (<@U06>)] two\nlines", "two\nlines"],
    ["slack", "[Slack channel:C06 user:Olivia (<@U06>)]   spaces kept ", "  spaces kept "],
    ["slack", "[Slack channel:C06 user:Olivia (<@U06>)] ", ""],
    ["discord", "[Discord channel:123456 user:Olivia] testing from discord", "testing from discord"],
    ["discord", "[Discord channel:1 user:Olivia [mod] (afk)] hi", "hi"],
    ["imessage", "[Olivia]: testing from imessage", "testing from imessage"],
    ["bluebubbles", "[Olivia]: testing from imessage", "testing from imessage"],
    ["imessage", "[Olivia [work]]: hi", "hi"],
    ["imessage", "[+4512345678]: hi", "hi"],
  ])("%s: %s", (source, content, shown) => expect(stripLegacyIngestPrefix(content, source)).toBe(shown));
});

describe("nothing else is peeled", () => {
  test.each([
    ["slack", "[Olivia]: hi"],
    ["slack", "[Discord channel:1 user:Olivia] hi"],
    ["slack", " [Slack channel:C06 user:Olivia (<@U06>)] hi"],
    ["slack", "[slack channel:C06 user:Olivia (<@U06>)] hi"],
    ["slack", "[Slack channel:C06 user:Oli\nvia (<@U06>)] hi"],
    ["slack", "[Slack channel:C06 user:Olivia"],
    ["slack", `[Slack channel:C06 user:${"x".repeat(600)}] hi`],
    ["discord", "[Slack channel:C06 user:Olivia (<@U06>)] hi"],
    ["discord", "[Discord user:Olivia] hi"],
    ["imessage", "[Olivia] hi"],
    ["imessage", "[Olivia]:hi"],
    ["imessage", "[]: hi"],
    ["imessage", "Olivia: hi"],
    ["web", "[Olivia]: hi"],
    ["", "[Olivia]: hi"],
    ["__proto__", "[object Object] hi"],
    ["constructor", "[Olivia]: hi"],
  ])("%s: %s", (source, content) => expect(stripLegacyIngestPrefix(content, source)).toBe(content));

  test("only one prefix goes; what the person typed after it stays", () => {
    expect(stripLegacyIngestPrefix("[Olivia]: [TODO]: milk", "imessage")).toBe("[TODO]: milk");
    const quoted = "[Slack channel:C06 user:Olivia] ask Bo (<@U07>)] about it";
    expect(stripLegacyIngestPrefix(quoted, "slack")).toBe("ask Bo (<@U07>)] about it");
  });
});

describe("only rows marked as old imports are peeled", () => {
  test("a person who types a bracket keeps every character", () => {
    const content = "[TODO]: milk";
    expect(displayContent({ content, metadata: { source: "imessage" } })).toBe(content);
    expect(displayContent({ content, metadata: { source: "imessage", legacy_ingest: "true" } })).toBe(
      content,
    );
    expect(displayContent({ content, metadata: {} })).toBe(content);
  });

  test("a marked row is peeled by its source, and left alone without one", () => {
    const content = "[Olivia]: hi";
    expect(displayContent({ content, metadata: { source: "imessage", legacy_ingest: true } })).toBe("hi");
    expect(displayContent({ content, metadata: { legacy_ingest: true } })).toBe(content);
  });
});
