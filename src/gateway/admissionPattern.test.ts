import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchesPattern, patternProblem } from "./admissionPattern.js";

describe("a trigger's pattern", () => {
  test.each([
    ["^hey bot", "hey bot, hi", true],
    ["^hey bot", "oh hey bot", false],
    ["hey bot", "oh hey bot", true],
    ["^hey", "Hey", false],
    ["(?i)^hey", "HEY you", true],
    ["\\?$", "is it raining?", true],
    ["^\\p{Cyrillic}+$", "привет", true],
  ])("%j says of %j: %j", (pattern, text, isMatch) => {
    expect(patternProblem(pattern)).toBeNull();
    expect(matchesPattern(pattern, text)).toBe(isMatch);
  });

  test.each(["(", "a**", "(?=x)", "(?<!a)b", "(a)\\1", "[z-a]", "a{1001}", "((a{10}){10}){10}"])(
    "%j is refused with a reason, and calls nobody",
    (pattern) => {
      expect(patternProblem(pattern)).toMatch(/.{20}/);
      expect(matchesPattern(pattern, "aaaaaaaaaa")).toBe(false);
    },
  );

  test("patterns made to hang a matcher take a mebibyte as they take a word", () => {
    const text = "a".repeat(2 ** 20);
    for (const pattern of ["(a+)+$b", "(a|a)*b", "(.*)*x", "^(a?){100}a{100}[bc]$"]) {
      expect(matchesPattern(pattern, text), pattern).toBe(false);
    }
  });

  test("whatever is written as a pattern is taken or refused, and never thrown back", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."()[]{}*+?|\\.^$a1,-:P<>=!iU") }),
        fc.string(),
        (pattern, text) => {
          const problem = patternProblem(pattern);
          const isMatch = matchesPattern(pattern, text);
          if (problem !== null) expect(isMatch).toBe(false);
        },
      ),
    );
  });
});
