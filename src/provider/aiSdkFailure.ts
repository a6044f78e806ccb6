import type { ErrorKind } from "../message/index.js";
import { type Failure, failureFrom, readFailure } from "./failure.js";
import { isRecord } from "./json.js";
import { retryAfterMs } from "./retryAfter.js";

/** What a language model threw, or sent as an error, as plain data. */
export type DescribedError = {
  name: string;
  message: string;
  /** The vendor's answer, where there was one. */
  status: number | null;
  body: string;
  headers: Record<string, string>;
  isRetryable: boolean;
  /** A time limit or a connection, by the code of the system. */
  code: string;
  /** The stream of the answer broke with it. */
  broke: boolean;
};

const TELLS_WHEN = ["retry-after", "retry-after-ms", "date"];
const DEEPEST = 5;

/** An error of any kind as plain data: errors of the AI SDK are known by their fields, whichever copy made them. */
export function describeError(error: unknown, broke = false): DescribedError {
  if (!isRecord(error) && !(error instanceof Error)) return described({ message: String(error), broke });
  const fields: Record<string, unknown> = { ...error };
  const { message, name } = error;
  if (typeof message !== "string") return described({ message: JSON.stringify(error) ?? "", broke });
  const { statusCode, responseBody, responseHeaders, isRetryable } = fields;
  const headers = isRecord(responseHeaders) ? responseHeaders : {};
  return described({
    name: typeof name === "string" ? name : "",
    // An error sent as data may have a code beside its words, which says more of its kind.
    message: error instanceof Error ? message : JSON.stringify(error),
    status: typeof statusCode === "number" ? statusCode : null,
    body: typeof responseBody === "string" ? responseBody : "",
    headers: Object.fromEntries(
      TELLS_WHEN.flatMap((key) => (typeof headers[key] === "string" ? [[key, headers[key]]] : [])),
    ),
    isRetryable: isRetryable === true,
    code: codeIn(error, DEEPEST),
    broke,
  });
}

function described(known: Partial<DescribedError>): DescribedError {
  return {
    name: "",
    message: "",
    status: null,
    body: "",
    headers: {},
    isRetryable: false,
    code: "",
    broke: false,
    ...known,
  };
}

/** fetch says only that it failed; what happened is in its cause, and providers wrap that once more. */
function codeIn(error: unknown, depth: number): string {
  if (depth === 0 || typeof error !== "object" || error === null) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  return "cause" in error ? codeIn(error.cause, depth - 1) : "";
}

/** Mistakes that only the one who set up the model can mend. */
const BY_NAME: Readonly<Record<string, ErrorKind>> = {
  AI_LoadAPIKeyError: "auth",
  AI_LoadSettingError: "invalid_request",
  AI_InvalidArgumentError: "invalid_request",
  AI_InvalidPromptError: "invalid_request",
  AI_NoSuchModelError: "invalid_request",
  AI_UnsupportedFunctionalityError: "invalid_request",
  AI_EmptyResponseBodyError: "cut",
  AI_JSONParseError: "cut",
};

/** What went wrong, and when to try again, where the vendor said so. */
export function failureOfError(error: DescribedError): { failure: Failure; retryAfterMs: number | null } {
  return { failure: failureOf(error), retryAfterMs: retryAfterMs(new Headers(error.headers), undefined) };
}

function failureOf({ name, message, status, body, isRetryable, code, broke }: DescribedError): Failure {
  if (status !== null && status >= 300) return readFailure(status, body || message);
  const known = BY_NAME[name];
  if (known) return { kind: known, text: message };
  if (/ended without/i.test(message)) return { kind: "cut", text: message };
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return { kind: "timeout", text: message };
  if (broke) return { kind: "cut", text: `the connection broke off: ${message}` };
  if (isRetryable || /^E[A-Z]+$|^UND_ERR/.test(code)) return { kind: "network", text: message };
  return message.startsWith("{") ? readFailure(null, message) : failureFrom(null, message);
}
