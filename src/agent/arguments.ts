import type { ErrorObject, ValidateFunction } from "ajv";
import { clip, type FieldError, pathText } from "../message/index.js";
import { describeValue } from "../message/problems.js";
import { bounded } from "./bounded.js";

/** Nobody corrects more at once. */
const MAX_PROBLEMS = 10;
/** Far more than any honest schema needs. What takes longer hangs, and is left to the tool itself. */
const COMPILE_MS = 2000;
const CHECK_MS = 250;
/** Set beside any schema: a keyword nobody knows is a note, and so is a format. */
const OPTIONS = {
  strict: false,
  validateFormats: false,
  validateSchema: false,
  allErrors: true,
  logger: false,
} as const;

const compiled = new WeakMap<object, Promise<ValidateFunction | null>>();

/** What is wrong with a model's arguments, held against a tool's JSON Schema; nothing, when they are right. */
export async function argumentProblems(
  schema: Record<string, unknown>,
  args: Record<string, unknown>,
): Promise<FieldError[]> {
  const known = compiled.get(schema) ?? compileSchema(schema).catch(() => null);
  compiled.set(schema, known);
  const validate = await known;
  // A schema we cannot read is left to the tool itself, which knows what it meant.
  if (!validate) return [];
  const checked = bounded(() => validate(args) === true, CHECK_MS);
  if (!checked) compiled.set(schema, Promise.resolve(null));
  if (!checked || checked.value) return [];
  return explained(validate.errors ?? [], args);
}

/** Throws when a schema cannot be used. */
async function compileSchema(schema: Record<string, unknown>): Promise<ValidateFunction> {
  const { $schema: dialect, $id: _, ...rest } = schema;
  // Loaded with the first tool call: a server that is only starting has no arguments to check.
  if (/draft-0[3-7]/.test(String(dialect))) {
    const { Ajv } = await import("ajv");
    return compiledInTime(() => new Ajv(OPTIONS).compile(rest));
  }
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  return compiledInTime(() => new Ajv2020(OPTIONS).compile(rest));
}

function compiledInTime(compile: () => ValidateFunction): ValidateFunction {
  const made = bounded(compile, COMPILE_MS);
  if (!made) throw new Error("the schema takes too long to read");
  return made.value;
}

/** The same in words a model can act on. */
export function wrongArguments(problems: readonly FieldError[]): string {
  const lines = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, reason }) => `- ${path || "the arguments"}: ${reason}`);
  if (problems.length > MAX_PROBLEMS) lines.push(`- and ${problems.length - MAX_PROBLEMS} more`);
  return `The arguments are not right, so the tool was not run. Call it again with these corrected:\n${lines.join("\n")}`;
}

/** What a choice of schemas says of itself adds nothing to what its branches say. */
const CHOICES = new Set(["anyOf", "oneOf", "if"]);

function explained(errors: readonly ErrorObject[], args: Record<string, unknown>): FieldError[] {
  const telling = errors.filter(({ keyword }) => !CHOICES.has(keyword));
  const found = (telling.length > 0 ? telling : errors).map((error) => explain(error, args));
  const seen = new Set<string>();
  return found.filter(({ path, reason }) => {
    const key = `${path}\n${reason}`;
    return !seen.has(key) && seen.add(key);
  });
}

function explain(error: ErrorObject, args: Record<string, unknown>): FieldError {
  const walked = walk(error.instancePath, args);
  const { params } = error;
  switch (error.keyword) {
    case "required":
      return at([...walked.path, String(params.missingProperty)], "is missing");
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty);
      return at([...walked.path, name], "there is no such argument; check its spelling or leave it out");
    }
    case "type":
      return at(walked.path, `expected ${typeWords(params.type)}, got ${describeValue(walked.value)}`);
    case "enum": {
      const values: unknown[] = Array.isArray(params.allowedValues) ? params.allowedValues : [];
      const choice = clip(values.map((value) => JSON.stringify(value)).join(", "), 300);
      return at(walked.path, `expected one of ${choice}, got ${describeValue(walked.value)}`);
    }
    case "const":
      return at(
        walked.path,
        `expected ${JSON.stringify(params.allowedValue)}, got ${describeValue(walked.value)}`,
      );
    default:
      return at(
        walked.path,
        `${clip(error.message ?? error.keyword, 300)}, got ${describeValue(walked.value)}`,
      );
  }
}

function at(path: readonly PropertyKey[], reason: string): FieldError {
  return { path: pathText(path), reason };
}

/** Follows a JSON Pointer, so that a list's index reads as one. */
function walk(pointer: string, root: unknown): { path: PropertyKey[]; value: unknown } {
  const path: PropertyKey[] = [];
  let value = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(value) ? Number(key) : key);
    value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  }
  return { path, value };
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

function typeWords(type: unknown): string {
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return types.map((name) => TYPE_WORDS[String(name)] ?? String(name)).join(" or ");
}
