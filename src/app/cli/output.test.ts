import { expect, it } from "vitest";
import { columns } from "./output.js";

it("keeps every row on its line, whatever a cell says", () => {
  const breaks = ["\n", "\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029"];
  const rows = breaks.map((lineBreak) => [`one${lineBreak}forged`, "two"]);
  const shown = columns(rows).split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/);
  expect(shown).toEqual(breaks.map(() => "one forged  two"));
});
