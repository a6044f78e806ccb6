import { z } from "zod";
import type { Route } from "./route.js";

/** The API's description, made from the schemas that validate it. */
export function openApi(routes: readonly Route[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Longhand",
      version,
      description: "The message layer for AI assistants that live in people's chats.",
    },
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: schemaOf(ProblemShape) },
    },
    security: [{ token: [] }],
  };
}

const ProblemShape = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ path: z.string(), reason: z.string() })).optional(),
});

function operation(route: Route): Record<string, unknown> {
  const { status, schema } = route.answers;
  const answer = schema ? { content: { "application/json": { schema: schemaOf(schema, "output") } } } : {};
  const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  return {
    summary: route.summary,
    ...(route.scope === "open" ? { security: [] } : {}),
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body
      ? { requestBody: { required: true, content: { "application/json": { schema: schemaOf(route.body) } } } }
      : {}),
    responses: {
      [status]: { description: route.summary, ...answer },
      default: { description: "What is wrong, and what would be right", content: problem },
    },
  };
}

function pathParameters(path: string): Record<string, unknown>[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: z.ZodType | undefined): Record<string, unknown>[] {
  if (!(query instanceof z.ZodObject)) return [];
  return Object.entries(query.shape).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema: schemaOf(schema as z.ZodType),
  }));
}

/** What is filled in by default may be left out of what comes in, never of what goes out. */
function schemaOf(schema: z.ZodType, io: "input" | "output" = "input"): unknown {
  return z.toJSONSchema(schema, { io, unrepresentable: "any", target: "draft-2020-12" });
}
