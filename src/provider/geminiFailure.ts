import type { ErrorKind } from "../message/index.js";
import { type Failure, failureFrom, readFailure } from "./failure.js";
import { isRecord, parseJson } from "./json.js";

/** A failure, and when the server says it may be tried again. */
export type TimedFailure = Failure & { retryAfterMs?: number };

/** What the API said went wrong. `status` is null for an error inside a stream that began well. */
export function readGeminiFailure(status: number | null, body: string): TimedFailure {
  const parsed = parseJson(body);
  return parsed === undefined ? readFailure(status, body) : geminiFailure(status, parsed);
}

/** The same for a body that is already parsed. */
export function geminiFailure(status: number | null, body: unknown): TimedFailure {
  const failure = failureFrom(status, body);
  const details = detailsOf(body);
  const retryAfterMs = retryDelay(details);
  const kind = kindOf(failure, details, retryAfterMs !== null);
  return { ...failure, kind, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
}

/**
 * Google says "you exceeded your current quota" of a limit per minute, too. Only one for a day, or of nothing at all,
 * is worth telling a person; the others pass while one waits.
 */
function kindOf(
  { kind, text }: Failure,
  details: readonly Record<string, unknown>[],
  waits: boolean,
): ErrorKind {
  if (details.some(({ reason }) => typeof reason === "string" && /^API_KEY_/.test(reason))) return "auth";
  if (kind !== "quota" && kind !== "rate_limit") return kind;
  const limits = details.flatMap(({ violations }) => (Array.isArray(violations) ? violations : []));
  const perDay = limits.some((limit) => isRecord(limit) && /PerDay/i.test(String(limit.quotaId)));
  if (perDay || /\blimit: 0\b/.test(text)) return "quota";
  return limits.length > 0 || waits ? "rate_limit" : kind;
}

function detailsOf(body: unknown): Record<string, unknown>[] {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  const error = isRecord(first) ? first.error : undefined;
  return isRecord(error) && Array.isArray(error.details) ? error.details.filter(isRecord) : [];
}

function retryDelay(details: readonly Record<string, unknown>[]): number | null {
  for (const { retryDelay: delay } of details) {
    const seconds = typeof delay === "string" ? /^(\d+(?:\.\d+)?)s$/.exec(delay)?.[1] : undefined;
    if (seconds !== undefined) return Math.round(Number.parseFloat(seconds) * 1000);
  }
  return null;
}
