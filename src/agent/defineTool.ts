import { wrongArguments } from "./arguments.js";
import { checked, isStandardSchema, jsonSchemaOf, type StandardSchema } from "./standardSchema.js";
import type { Tool, ToolContext, ToolOutput } from "./tool.js";

/** What all APIs take as a tool's name. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type About = {
  name: string;
  /** For the model: what it does, and when to use it. */
  description: string;
  /** Running it again for the same call does no harm. Not so unless said. */
  repeatable?: boolean;
  /** A batch with this tool in it runs one after another. */
  sequential?: boolean;
  /** Milliseconds it may take. */
  timeoutMs?: number;
};

export type SchemaTool<Schema extends StandardSchema> = About & {
  parameters: Schema;
  /** What the model is shown, where the schema's library cannot write JSON Schema itself. */
  jsonSchema?: Record<string, unknown>;
  run(args: OutputOf<Schema>, context: ToolContext): ToolOutput | Promise<ToolOutput>;
};

export type JsonSchemaTool = About & {
  /** JSON Schema; arguments are held against it before the tool runs. */
  parameters: Record<string, unknown>;
  run(args: Record<string, unknown>, context: ToolContext): ToolOutput | Promise<ToolOutput>;
};

type OutputOf<Schema extends StandardSchema> = Schema extends StandardSchema<infer Output> ? Output : never;

/**
 * A tool whose arguments are checked before it runs. With a Standard Schema (zod, Valibot, ArkType, …) `run` gets
 * them typed; with plain JSON Schema as a record.
 */
export function defineTool<Schema extends StandardSchema>(tool: SchemaTool<Schema>): Tool;
export function defineTool(tool: JsonSchemaTool): Tool;
export function defineTool(tool: SchemaTool<StandardSchema> | JsonSchemaTool): Tool {
  if (!NAME.test(tool.name)) {
    throw new TypeError(
      `"${tool.name}" is no name for a tool: take 1 to 64 of the letters a-z, A-Z, 0-9, _ and -`,
    );
  }
  const { name, description, repeatable = false } = tool;
  const about = {
    name,
    description,
    repeatable,
    ...(tool.sequential === undefined ? {} : { sequential: tool.sequential }),
    ...(tool.timeoutMs === undefined ? {} : { timeoutMs: tool.timeoutMs }),
  };
  if (!hasStandardSchema(tool)) {
    return { ...about, parameters: tool.parameters, run: async (args, context) => tool.run(args, context) };
  }
  return {
    ...about,
    parameters: shownSchema(tool),
    checksArguments: true,
    run: async (args, context) => {
      const result = await checked(tool.parameters, args);
      if (result.ok) return tool.run(result.value, context);
      return { content: wrongArguments(result.problems), isError: true };
    },
  };
}

function hasStandardSchema(
  tool: SchemaTool<StandardSchema> | JsonSchemaTool,
): tool is SchemaTool<StandardSchema> {
  return isStandardSchema(tool.parameters);
}

function shownSchema({ name, parameters, jsonSchema }: SchemaTool<StandardSchema>): Record<string, unknown> {
  const { $schema: _, ...schema } = jsonSchema ?? jsonSchemaOf(parameters) ?? {};
  if (schema.type === "object") return schema;
  throw new TypeError(
    `the arguments of the tool "${name}" must be an object, and the model must be told its fields: give a schema of an object, and \`jsonSchema\` beside it where the library cannot write one`,
  );
}
