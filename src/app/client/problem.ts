/** One field of a refused request: where, and what would be right. */
export type FieldProblem = { path: string; reason: string };

/** What an `application/problem+json` answer says. */
export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors: FieldProblem[];
};

/** The server answered, and the answer is no. A server that cannot be reached is fetch's own `TypeError`. */
export class ApiProblem extends Error {
  override name = "ApiProblem";
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: FieldProblem[];
  /** Seconds to wait, when the server named them. */
  readonly retryAfter: number | null;

  constructor(body: ProblemBody, retryAfter: number | null = null) {
    super(body.detail ? `${body.title}: ${body.detail}` : body.title);
    this.status = body.status;
    this.type = body.type;
    this.title = body.title;
    this.detail = body.detail;
    this.errors = body.errors;
    this.retryAfter = retryAfter;
  }
}

/** The problem in an answer that was not ok, also when something in between answered with no problem document. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => "");
  const given = parseObject(text);
  return new ApiProblem(
    {
      type: textOr(given.type, "about:blank"),
      title: textOr(given.title, response.statusText || `HTTP ${response.status}`),
      status: response.status,
      detail: textOr(given.detail, ""),
      errors: Array.isArray(given.errors) ? given.errors.flatMap(fieldProblem) : [],
    },
    secondsToWait(response.headers.get("retry-after")),
  );
}

function fieldProblem(given: unknown): FieldProblem[] {
  if (typeof given !== "object" || given === null) return [];
  const { path, reason } = given as Record<string, unknown>;
  const where = Array.isArray(path) ? path.join(".") : textOr(path, "");
  return [{ path: where, reason: textOr(reason, "") }];
}

function secondsToWait(header: string | null): number | null {
  if (header === null) return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1000);
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
