import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchTrigger, stripTrigger } from "./trigger.js";

const names = ["Longhand", "lh", "Dr. Who", "C++ (beta)", "Ølgod", "ассистент", "🤖"];

describe("a message that starts with the assistant's name calls it", () => {
  test.each([
    ["@Longhand hi", "hi"],
    ["@longhand, hi", "hi"],
    ["@LONGHAND: hi", "hi"],
    ["  \n\t@longhand hi", "hi"],
    ["@longhand", "(mention)"],
    ["@longhand, ", "(mention)"],
    ["@longhand!", "!"],
    ["@longhand? are you there", "? are you there"],
    ["@longhand... well", "... well"],
    ["@longhand:hi", "hi"],
    ["@longhand - hi", "- hi"],
    ["@longhand\nhi", "hi"],
    ["@longhand\r\nhi", "hi"],
    ["@longhand   keeps the rest", "  keeps the rest"],
    ["@longhand,, hi", ", hi"],
    ["@lh do it", "do it"],
    ["@dr. who, when?", "when?"],
    ["@c++ (BETA) compile", "compile"],
    ["@ØLGOD skål", "skål"],
    ["@ølgod skål", "skål"],
    ["@АССИСТЕНТ привет", "привет"],
    ["@🤖 beep", "beep"],
  ])("%j reads %j", (content, words) => {
    expect(matchTrigger(content, { names })).toMatchObject({ kind: "name" });
    expect(stripTrigger(content, { names })).toBe(words);
  });

  test("the longest name wins", () => {
    expect(stripTrigger("@Longhand Dev, hi", { names: ["Longhand", "Longhand Dev"] })).toBe("hi");
  });

  test("letters with accents match composed and decomposed", () => {
    expect(stripTrigger("@Zoe\u0308 hi", { names: ["Zoë"] })).toBe("hi");
    expect(stripTrigger("@Zoë hi", { names: ["Zoe\u0308"] })).toBe("hi");
  });
});

test.each([
  "longhand hi",
  "hi @longhand",
  "@longhand-dev hi",
  "@longhander",
  "@longhand_dev",
  "@longhand2",
  "@longhand.dev is down",
  "@longhand@example.org",
  "@longhand/core",
  "@longhand's answer",
  "@longhandé",
  "@longhand\u0301",
  "mail@longhand.dev",
  "> @longhand hi",
  "```\n@longhand\n```",
  "`@longhand`",
  "＠longhand hi",
  "@ｌonghand hi",
  "@lоnghand hi",
  "@long\u200bhand hi",
  "\u200b@longhand hi",
  "\ufeff@longhand hi",
  "@longhand\u200b",
  "@\u200blonghand",
  "@ longhand",
  "@",
  "",
])("%j does not call it", (content) => {
  expect(matchTrigger(content, { names })).toBeNull();
  expect(stripTrigger(content, { names })).toBe(content);
});

test("signs that only fold to a letter are not that letter", () => {
  expect(matchTrigger("@\u212Aai hi", { names: ["kai"] })).toBeNull();
  expect(matchTrigger("@\u017Fam hi", { names: ["sam"] })).toBeNull();
  expect(matchTrigger("@ıda hi", { names: ["ida"] })).toBeNull();
});

describe("the platform's own mention of us", () => {
  const mention = (content: string, token = "<@UBOT>", type = "mention", id = "UBOT") => ({
    names,
    botIds: ["UBOT", "slack:UBOT"],
    entities: [{ offset: content.indexOf(token), length: token.length, type, id }],
  });

  test.each([
    ["<@UBOT> hi", "hi"],
    ["<@UBOT>, hi", "hi"],
    [" <@UBOT>", "(mention)"],
    ["hi <@UBOT>, how are you", "hi <@UBOT>, how are you"],
    ["a `code` and <@UBOT>", "a `code` and <@UBOT>"],
    ["> quoted\n<@UBOT> what of it", "> quoted\n<@UBOT> what of it"],
  ])("%j calls us and reads %j", (content, words) => {
    expect(matchTrigger(content, mention(content))).toMatchObject({ kind: "mention" });
    expect(stripTrigger(content, mention(content))).toBe(words);
  });

  test.each(["> <@UBOT> hi", "```\n<@UBOT>\n```", "see `<@UBOT>`", "```\n<@UBOT>"])(
    "not inside %j",
    (content) => {
      expect(matchTrigger(content, mention(content))).toBeNull();
    },
  );

  test("not when someone else is meant, when it is typed by hand, or when it lies outside the text", () => {
    const content = "<@UBOT> hi";
    expect(matchTrigger(content, mention(content, "<@UBOT>", "mention", "UMAX"))).toBeNull();
    expect(matchTrigger(content, mention(content, "<@UBOT>", "link"))).toBeNull();
    expect(matchTrigger(content, { names, botIds: ["UBOT"] })).toBeNull();
    expect(matchTrigger("hi", mention("hi", "<@UBOT>"))).toBeNull();
  });

  test("not inside a stretch the platform marks as code or quote", () => {
    const options = mention("hi <@UBOT>");
    options.entities.push({ offset: 0, length: 10, type: "pre", id: "" });
    expect(matchTrigger("hi <@UBOT>", options)).toBeNull();
  });
});

test("whatever is typed, stripping takes away no more than the trigger, a sign and a space", () => {
  const typed = fc.array(
    fc.constantFrom("@longhand", "@LH", " ", "\n", ",", ":", "x", "-", "`", ">", "\u200b"),
    {
      maxLength: 8,
    },
  );
  fc.assert(
    fc.property(typed, (parts) => {
      const content = parts.join("");
      const words = stripTrigger(content, { names });
      if (words === "(mention)") expect(content.trim().toLowerCase()).toMatch(/^@(?:longhand|lh)[,:]?\s*$/);
      else {
        expect(content.endsWith(words)).toBe(true);
        expect(content.slice(0, content.length - words.length)).toMatch(
          /^(?:\s*@(?:longhand|lh)[,:]?\s?)?$/i,
        );
      }
    }),
  );
});

test("a mebibyte of code marks and a thousand mentions are read without a hitch", () => {
  for (const trick of ["`", "```", "> ", "\n>", "@longhand", " "]) {
    const content = trick.repeat(Math.ceil(2 ** 20 / trick.length));
    const entities = Array.from({ length: 1000 }, (_, index) => ({
      offset: index * 9,
      length: 9,
      type: "mention",
      id: "U",
    }));
    matchTrigger(content, { names, entities, botIds: ["U"] });
  }
});
