import { type FieldError, errorsOf } from "../../message/index.js";
import type { z } from "zod";

const TITLES: Readonly<Record<number, string>> = {
  400: "Not a request",
  401: "Token missing or wrong",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  408: "Too slow",
  409: "Conflict",
  410: "Gone",
  413: "Too large",
  414: "Path too long",
  415: "Not JSON",
  422: "Invalid",
  429: "Too many requests",
  431: "Headers too large",
  500: "Something went wrong on our side",
  503: "Cannot store now",
};

/** An answer that says what is wrong and what would be right (`application/problem+json`). */
export class Problem extends Error {
  override name = "Problem";
  constructor(
    readonly status: number,
    readonly detail: string,
    readonly errors: FieldError[] = [],
    readonly headers: Record<string, string> = {},
  ) {
    super(detail);
  }

  toJSON() {
    const title = TITLES[this.status] ?? "Error";
    return {
      type: "about:blank",
      title,
      status: this.status,
      detail: this.detail,
      ...(this.errors.length > 0 ? { errors: this.errors } : {}),
    };
  }
}

export const unknown = (what: string): Problem => new Problem(404, `There is no such ${what}.`);

/** What the gateway says in half a sentence, as a whole one. */
export function sentence(why: string): string {
  return `${why[0]?.toUpperCase() ?? ""}${why.slice(1)}.`;
}

/** Every refused field by its path. */
export function invalid(errors: FieldError[]): Problem {
  const named = errors.map(({ path, reason }) => (path ? `${path}: ${reason}` : reason));
  return new Problem(422, named.slice(0, 3).join("; "), errors);
}

/** The value as the schema reads it, or a 422 that names each field. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw invalid(errorsOf(result.error, "", value));
  return result.data;
}
