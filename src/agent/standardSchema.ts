import { z } from "zod";
import { clip, type FieldError, pathText } from "../message/index.js";
import { isRecord } from "../message/json.js";

/** A schema of any library that follows Standard Schema: zod, Valibot, ArkType, Effect, … Only what we use of it. */
export type StandardSchema<Output = unknown> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> };
  };
};

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };
type StandardIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

const TARGETS = ["draft-2020-12", "draft-07"];

export function isStandardSchema(given: object): given is StandardSchema {
  // Some libraries' schemas are functions.
  const standard: unknown = Reflect.get(given, "~standard");
  return isRecord(standard) && typeof standard.validate === "function";
}

/** The value as the schema gives it, or what is wrong with it. */
export async function checked<Output>(
  schema: StandardSchema<Output>,
  value: unknown,
): Promise<{ ok: true; value: Output } | { ok: false; problems: FieldError[] }> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return { ok: true, value: result.value };
  const problems = result.issues.map(({ message, path = [] }) => ({
    path: pathText(path.map((part) => (typeof part === "object" ? part.key : part))),
    reason: clip(message, 300),
  }));
  return { ok: false, problems };
}

/** The JSON Schema a model is shown for what this schema takes; null when its library cannot tell. */
export function jsonSchemaOf(schema: StandardSchema): Record<string, unknown> | null {
  const { jsonSchema } = schema["~standard"];
  for (const target of jsonSchema ? TARGETS : []) {
    try {
      return jsonSchema?.input({ target }) ?? null;
    } catch {
      // The next target, or another way.
    }
  }
  return isZod(schema) ? { ...z.toJSONSchema(schema, { io: "input" }) } : null;
}

function isZod(schema: object): schema is z.core.$ZodType {
  return "_zod" in schema;
}
