import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { errorsOf, IngestMessageMetadata, InjectBody, NewChat, pathText, SubmitBody } from "./index.js";

const errors = (schema: z.ZodType, value: unknown, root?: string) => {
  const parsed = schema.safeParse(value);
  return parsed.success ? [] : errorsOf(parsed.error, root);
};

test("a path reads as one would write it in code", () => {
  expect(pathText(["contents", 2, "images", 0])).toBe("contents[2].images[0]");
  expect(pathText([3, "role"])).toBe("[3].role");
  expect(pathText(["a b", "c"], "metadata")).toBe('metadata["a b"].c');
  expect(pathText([], "body")).toBe("body");
  expect(pathText(["x".repeat(10_000)]).length).toBeLessThan(100);
});

test("the root's name stands before every path", () => {
  expect(errors(z.object({ a: z.string() }), { a: 1 }, "body")).toEqual([
    { path: "body.a", reason: "expected a string, got a number" },
  ]);
});

test("a reason says what was expected and what came", () => {
  const shape = z.object({
    text: z.string(),
    count: z.int(),
    flag: z.boolean(),
    list: z.array(z.string()),
    inner: z.object({}),
    few: z.array(z.int()).max(1),
  });
  expect(
    errors(shape, { text: null, count: Number.NaN, flag: "x", list: {}, inner: [], few: [1, 2] }),
  ).toEqual([
    { path: "text", reason: "expected a string, got null" },
    { path: "count", reason: "expected a number, got NaN" },
    { path: "flag", reason: "expected true or false, got a string" },
    { path: "list", reason: "expected a list, got an object" },
    { path: "inner", reason: "expected an object, got a list" },
    { path: "few", reason: "expected at most 1 item" },
  ]);
});

test("with the input at hand, a wrong choice is told as it came", () => {
  const shape = z.object({ mode: z.enum(["a", "b"]), kind: z.union([z.literal("*"), z.array(z.string())]) });
  const input = { mode: "c", kind: 7 };
  const parsed = shape.safeParse(input);
  expect(parsed.success ? [] : errorsOf(parsed.error, "", input)).toEqual([
    { path: "mode", reason: 'expected "a" or "b", got "c"' },
    { path: "kind", reason: 'expected "*", or a list, got 7' },
  ]);
});

test("a huge wrong body gets a short answer", () => {
  const keys = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`${"k".repeat(500)}${index}`, 1]),
  );
  const found = errors(z.strictObject({}), keys);
  expect(found).toHaveLength(50);
  expect(JSON.stringify(found).length).toBeLessThan(10_000);
  const long = { mode: "z".repeat(1_000_000) };
  const parsed = z.object({ mode: z.enum(["a"]) }).safeParse(long);
  expect(parsed.success ? [] : errorsOf(parsed.error, "", long)).toEqual([
    { path: "mode", reason: 'expected "a", got a string' },
  ]);
});

test("a field that is there but nullable and deep inside still has its path", () => {
  const shape = z.object({
    a: z.object({ b: z.array(z.object({ c: z.string().nullish() })).nullish() }).nullish(),
  });
  expect(errors(shape, { a: { b: [{}, { c: 5 }] } })).toEqual([
    { path: "a.b[1].c", reason: "expected a string, got a number" },
  ]);
});

test("whatever comes in, the answer is short, in words, and never a crash", () => {
  const schemas = [SubmitBody, InjectBody, NewChat, IngestMessageMetadata];
  const nearly = fc.record(
    {
      content: fc.anything(),
      jid: fc.anything(),
      trigger: fc.anything(),
      allow: fc.anything(),
      bindings: fc.anything(),
      msg_metadata: fc.anything(),
      source: fc.anything(),
      sender_id: fc.anything(),
      entities: fc.anything(),
      attachments: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.constantFrom(...schemas), fc.oneof(fc.anything(), nearly), (schema, value) => {
      for (const { path, reason } of errors(schema, value)) {
        expect(typeof path).toBe("string");
        expect(reason).toMatch(/\w/);
        expect(path.length + reason.length).toBeLessThan(2000);
      }
    }),
    { numRuns: process.env.LONGHAND_LONG ? 100_000 : 2000 },
  );
});
