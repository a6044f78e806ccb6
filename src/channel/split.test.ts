import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitText } from "./split.js";

const RUNS = process.env.LONGHAND_LONG ? 20_000 : 300;

/** Words, breaks, emoji made of many units, and long runs without any break. */
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "grapheme", maxLength: 30 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      " ",
      "\n",
      "\n\n",
      "\r\n",
      "word ",
      "a longer sentence. ",
      "👩‍👩‍👧‍👦",
      "🇩🇰",
      "שלום ",
    ),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 400 }).map((length) => "x".repeat(length)) },
);
const prose = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join("").replace(/[`~]/g, "'"));
const code = fc
  .record({
    marker: fc.constantFrom("```", "````", "~~~"),
    language: fc.constantFrom("", "ts", "python"),
    body: fc.array(prose, { minLength: 1, maxLength: 4 }),
  })
  .map(({ marker, language, body }) => `\n${marker}${language}\n${body.join("\n")}\n${marker}\n`);
const document = fc.array(fc.oneof(prose, code), { maxLength: 6 }).map((pieces) => pieces.join(""));

const letters = (text: string): string => text.replace(/\s/g, "");
const withoutFences = (text: string): string => text.replace(/^(?:```+|~~~+).*$/gm, "");

/** Read by itself, does the part leave its code open? */
function leavesCodeOpen(part: string): boolean {
  let open = "";
  for (const line of part.split("\n")) {
    const marker = /^(```+|~~~+)/.exec(line)?.[1] ?? "";
    if (open === "") open = marker;
    else if (marker !== "" && marker.startsWith(open) && line.trim() === marker) open = "";
  }
  return open !== "";
}

describe("a long answer sent in parts", () => {
  test("no part is longer than the platform takes, and none is blank", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 2, max: 300 }), (text, limit) => {
        const parts = splitText(text, limit);
        for (const part of parts) expect(part.length).toBeLessThanOrEqual(limit);
        if (text.length > limit) for (const part of parts) expect(part.trim()).not.toBe("");
      }),
      { numRuns: RUNS },
    );
  });

  test("no character is torn apart", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 2, max: 300 }), (text, limit) => {
        for (const part of splitText(text, limit)) expect(part).toBe(Buffer.from(part).toString());
      }),
      { numRuns: RUNS },
    );
  });

  test("prose put together again is the text, blank parts aside", () => {
    fc.assert(
      fc.property(prose, fc.integer({ min: 2, max: 300 }), (text, limit) => {
        const together = splitText(text, limit).join("");
        expect(letters(together)).toBe(letters(text));
        const couldBeBlank = limit < 20 || /\s{3,}/.test(text);
        if (!couldBeBlank) expect(together.trimEnd()).toBe(text.trimEnd());
      }),
      { numRuns: RUNS },
    );
  });

  test("code is closed in every part and loses no line", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 60, max: 300 }), (text, limit) => {
        const parts = splitText(text, limit);
        if (text.length > limit) for (const part of parts) expect(leavesCodeOpen(part)).toBe(false);
        const together = parts.map(withoutFences).join("");
        expect(letters(together)).toBe(letters(withoutFences(text)));
      }),
      { numRuns: RUNS },
    );
  });

  test("a cut falls after a paragraph, else after a line, else after a word", () => {
    const words = "aaaa bbbb cccc dddd";
    expect(splitText(`${words}\n${words}\n\n${words}\n${words}`, 60)).toEqual([
      `${words}\n${words}\n\n`,
      `${words}\n${words}`,
    ]);
    expect(splitText(`${words}\n${words}\n${words}`, 50)).toEqual([`${words}\n${words}\n`, words]);
    expect(splitText(words, 12)).toEqual(["aaaa bbbb ", "cccc dddd"]);
  });

  test("a paragraph near the beginning does not make a stub of a part", () => {
    const long = "word ".repeat(30).trimEnd();
    expect(splitText(`Hi\n\n${long}`, 100)[0]?.length).toBeGreaterThan(50);
  });

  test("code that would be cut goes whole into the next part where that leaves no stub", () => {
    const block = "```ts\nconst a = 1;\nconst b = 2;\n```\n";
    const text = `${"Some words before it. ".repeat(3)}\n\n${block}`;
    expect(splitText(text, 90)).toEqual([`${"Some words before it. ".repeat(3)}\n\n`, block]);
  });

  test("long code is closed, and opened again in its language", () => {
    const lines = Array.from({ length: 12 }, (_, index) => `line(${index});`);
    const parts = splitText(`\`\`\`ts\n${lines.join("\n")}\n\`\`\``, 80);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part).toMatch(/^```ts\nline[\s\S]*;\n```$/);
  });

  test("no part is left with an empty block of code", () => {
    const [a, b] = ["a".repeat(20), "b".repeat(20)];
    const text = `\`\`\`\n${a}\n${b}\n\`\`\`\nThe rest.`;
    expect(splitText(text, 49)).toEqual([`\`\`\`\n${a}\n\`\`\``, `\`\`\`\n${b}\n\`\`\`\nThe rest.`]);
  });

  test("a family or a flag is not broken up", () => {
    expect(splitText("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 12)).toEqual(["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]);
    expect(splitText("🇩🇰🇩🇰", 6)).toEqual(["🇩🇰", "🇩🇰"]);
  });

  test("what fits is left alone", () => {
    expect(splitText("", 10)).toEqual([""]);
    expect(splitText("  ten chars  ", 13)).toEqual(["  ten chars  "]);
  });

  test("a megabyte of anything is split in one go", () => {
    const text = `${"x".repeat(500_000)}\n${" ".repeat(300_000)}${"\n".repeat(200_000)}${"word ".repeat(50_000)}`;
    const parts = splitText(text, 2000);
    expect(letters(parts.join(""))).toBe(letters(text));
  });
});
