import type { z } from "zod";
import type { BodySize } from "./body.js";
import type { ModelListing } from "../../message/index.js";
import type { Gateway, Identity, Scope, Tokens } from "../../gateway/index.js";

/** What a handler works with. */
export type Served = { gateway: Gateway; tokens: Tokens; models: () => Promise<ModelListing[]> };

export type Asked<Query> = {
  params: Record<string, string>;
  query: Query;
  body: unknown;
  headers: Record<string, string | string[] | undefined>;
  identity: Identity;
};

export type Answer = { status: number; body?: unknown; bytes?: Uint8Array; headers?: Record<string, string> };

/** One call of the API. The same schemas validate the request and make the OpenAPI document. */
export type Route<Query = unknown> = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With `:name` for what stands in the path. */
  path: string;
  summary: string;
  /** `source`: the handler asks for `ingest:<source>`, by what the body names. `open`: no token needed. */
  scope: Exclude<Scope, "ingest"> | "source" | "open";
  query?: z.ZodType<Query>;
  body?: z.ZodType;
  /** How much may be sent; `settings` unless told. */
  bodySize?: BodySize;
  answers: { status: number; schema: z.ZodType | null };
  handle(served: Served, asked: Asked<Query>): Promise<Answer>;
};

/** Keeps a route's query typed from its own schema. */
export function route<Query>(definition: Route<Query>): Route {
  return definition as Route;
}

export const ok = (body: unknown, status = 200): Answer => ({ status, body });
