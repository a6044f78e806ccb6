import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { defineTool } from "./defineTool.js";
import type { StandardSchema } from "./standardSchema.js";
import type { ToolContext } from "./tool.js";

const context: ToolContext = {
  chat_jid: "web:home",
  turn_id: "t",
  call_id: "c",
  time_zone: "UTC",
  now: () => 0,
  signal: new AbortController().signal,
};

/** A schema of a library nobody has heard of: it wants a whole number of seats, and reads it as a number. */
const seats: StandardSchema<{ seats: number }> = {
  "~standard": {
    version: 1,
    vendor: "homemade",
    validate: async (value) => {
      const found = Number(Object.entries(value ?? {}).find(([key]) => key === "seats")?.[1]);
      if (Number.isInteger(found)) return { value: { seats: found } };
      return { issues: [{ message: "give a whole number", path: [{ key: "seats" }] }] };
    },
  },
};
const shown = { type: "object", properties: { seats: { type: "string" } }, required: ["seats"] };

describe("a tool defined with a schema", () => {
  const book = defineTool({
    name: "book",
    description: "Books a table.",
    parameters: z.object({ guests: z.number().int().max(8), at: z.string().default("noon") }),
    timeoutMs: 5000,
    run: (args) => {
      expectTypeOf(args).toEqualTypeOf<{ guests: number; at: string }>();
      return `${args.guests} at ${args.at}`;
    },
  });

  it("shows the model what to give, and gets it typed, with defaults", async () => {
    expect(book).toMatchObject({ name: "book", repeatable: false, timeoutMs: 5000 });
    expect(book.parameters).toEqual({
      type: "object",
      properties: {
        guests: { type: "integer", minimum: expect.any(Number), maximum: 8 },
        at: { type: "string", default: "noon" },
      },
      required: ["guests"],
    });
    expect(await book.run({ guests: 3 }, context)).toBe("3 at noon");
  });

  it("is not run when something else was given; the model is told where it is wrong", async () => {
    expect(await book.run({ guests: "three" }, context)).toMatchObject({
      isError: true,
      content: expect.stringMatching(/- guests: .*number/),
    });
  });

  it("takes any library that follows the standard, with its JSON Schema beside it", async () => {
    const tool = defineTool({
      name: "seat",
      description: "",
      parameters: seats,
      jsonSchema: shown,
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ seats: number }>();
        return `${args.seats + 1}`;
      },
    });
    expect(tool.parameters).toEqual(shown);
    expect(await tool.run({ seats: "4" }, context)).toBe("5");
    expect(await tool.run({}, context)).toMatchObject({
      isError: true,
      content: expect.stringContaining("- seats: give a whole number"),
    });
  });

  it("asks the library for its JSON Schema, in the form it can write", () => {
    const asked: string[] = [];
    const standard = {
      ...seats["~standard"],
      jsonSchema: {
        input: ({ target }: { target: string }) => {
          asked.push(target);
          if (target !== "draft-07") throw new Error("not that one");
          return { $schema: "http://json-schema.org/draft-07/schema#", ...shown };
        },
      },
    };
    const tool = defineTool({
      name: "s",
      description: "",
      parameters: { "~standard": standard },
      run: () => "",
    });
    expect(tool.parameters).toEqual(shown);
    expect(asked).toEqual(["draft-2020-12", "draft-07"]);
  });

  it("is refused at once when the model could not be told its fields, or could not say its name", () => {
    expect(() => defineTool({ name: "s", description: "", parameters: seats, run: () => "" })).toThrow(
      /jsonSchema/,
    );
    expect(() => defineTool({ name: "s", description: "", parameters: z.string(), run: () => "" })).toThrow(
      /object/,
    );
    expect(() => defineTool({ name: "two words", description: "", parameters: {}, run: () => "" })).toThrow(
      /"two words" is no name/,
    );
  });
});

describe("a tool defined with plain JSON Schema", () => {
  it("keeps that schema, and what it says of itself", async () => {
    const tool = defineTool({
      name: "read",
      description: "Reads.",
      parameters: shown,
      repeatable: true,
      sequential: true,
      run: (args) => {
        expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
        return String(args.seats);
      },
    });
    expect(tool).toMatchObject({ parameters: shown, repeatable: true, sequential: true });
    expect(await tool.run({ seats: "4" }, context)).toBe("4");
  });
});
