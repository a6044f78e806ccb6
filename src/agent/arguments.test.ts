import { describe, expect, it } from "vitest";
import { argumentProblems } from "./arguments.js";

describe("a tool's schema", () => {
  it("whose pattern would take years stops nobody: its tool looks at the arguments itself", async () => {
    const schema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    expect(await argumentProblems(schema, { a: "b" })).toHaveLength(1);
    expect(await argumentProblems(schema, { a: `${"a".repeat(60)}!` })).toEqual([]);
    expect(await argumentProblems(schema, { a: "b" })).toEqual([]);
  });

  it("whose references multiply stops nobody either", async () => {
    const $defs: Record<string, unknown> = { a60: { type: "object" } };
    for (let depth = 0; depth < 60; depth++) {
      const next = { $ref: `#/$defs/a${depth + 1}` };
      $defs[`a${depth}`] = { allOf: [next, next] };
    }
    expect(await argumentProblems({ type: "object", $defs, $ref: "#/$defs/a0" }, {})).toEqual([]);
  });
});
