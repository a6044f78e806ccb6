import { type ErrorKind, Usage } from "../message/index.js";
import type { Decoded, Model } from "./codec.js";
import { isRecord, parseJson } from "./json.js";

/** What went wrong with a call: a kind for programs, words for people. */
export type Failure = { kind: ErrorKind; text: string };

const RETRYABLE: Readonly<Record<ErrorKind, boolean>> = {
  rate_limit: true,
  overloaded: true,
  network: true,
  timeout: true,
  cut: true,
  overflow: false,
  auth: false,
  quota: false,
  invalid_request: false,
  refusal: false,
  unknown: false,
};

/** May the same call succeed when made again, unchanged? */
export function isRetryable(kind: ErrorKind): boolean {
  return RETRYABLE[kind];
}

/** An answer that failed before anything of it came. */
export function failed(model: Model, { kind, text }: Failure): Decoded {
  return {
    contents: [],
    usage: Usage.none(),
    stopReason: "error",
    provider: model.provider,
    api: model.api,
    model: model.id,
    error: text,
    errorKind: kind,
  };
}

/** What a server said went wrong. `status` is null for an error inside a stream that began well. */
export function readFailure(status: number | null, body: string): Failure {
  const parsed = parseJson(body);
  if (parsed === undefined) return failureOf({ status, code: "", text: plainText(body) });
  return failureFrom(status, parsed);
}

/** The same for a body that is already parsed. */
export function failureFrom(status: number | null, body: unknown): Failure {
  const said = readError(Array.isArray(body) ? body[0] : body);
  return failureOf({ ...said, status: status ?? said.status });
}

type Said = { status: number | null; code: string; text: string };

/** Servers put the error in `error`, or are the error; some say only a string, in one of several fields. */
function readError(body: unknown): Said {
  if (typeof body === "string") return { status: null, code: "", text: body };
  if (!isRecord(body)) return { status: null, code: "", text: "" };
  const error = isRecord(body.error) ? body.error : body;
  const metadata = isRecord(error.metadata) ? error.metadata : {};
  const texts = [typeof body.error === "string" ? body.error : "", error.message, error.detail, metadata.raw];
  const codes = [error.code, error.type, error.status].filter((code) => typeof code === "string");
  const status = [error.code, error.status, body.status_code].find((code) => typeof code === "number");
  return {
    status: status ?? null,
    code: codes.join(" "),
    text: texts.map(wordsOf).filter(Boolean).join(" — "),
  };
}

function wordsOf(text: unknown): string {
  if (text === undefined || text === null) return "";
  return typeof text === "string" ? text : JSON.stringify(text);
}

const READ_OF_A_PAGE = 8192;

/** An error page is not for reading; its words are. */
function plainText(body: string): string {
  // Nobody reads further, and a page of nothing but brackets must not cost more than its first words.
  return body
    .slice(0, READ_OF_A_PAGE)
    .replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

const OVERFLOW_CODE = /context_length_exceeded|request_too_large|model_context_window_exceeded/i;
const OVERFLOW_TEXTS: readonly RegExp[] = [
  /context[ _]length[ _](is )?exceeded/i,
  /maximum (context|input|prompt|sequence) length/i,
  /max(imum)? context length/i,
  /(exceed\w*|larger than|longer than|over) (the |this )?(available |model'?s? |maximum )*context/i,
  /context (size|window|length) (has been |was |is )?(exceeded|overflow)/i,
  /(prompt|input|request|message)s? (is |are )?too long/i,
  /(input|prompt) token count.*exceeds the maximum/i,
  /input tokens? exceed/i,
  /reduce the length of the (messages|prompt|input)/i,
  /too many (input |prompt )?tokens(?! per)/i,
  /context the overflows/i,
  /context window exceeds/i,
  /but the configured context size is/i,
  /exceed\w* (the )?(model'?s? )?token limit/i,
  /(input|prompt) token count (of|is) \d+ (exceeds|but)/i,
  /(prompt|input) (exceeds|is longer than|is greater than)( the)? max/i,
  /(prompt|input) \([^)]*\) is longer than/i,
  /tokens to keep from the initial prompt is greater than/i,
  /range of input length should be/i,
  /`inputs` (tokens \+|must have less than)/i,
];
/** OpenAI says it with 429; but no wait makes a request smaller. */
const MUST_SHRINK = /tokens must be reduced in order to run/i;
const QUOTA =
  /insufficient[_ ](quota|balance|credits?|funds)|billing|exceeded your current quota|credit balance/i;
/** Anthropic answers an account without money, or one that may spend no more, with 400. */
const SPENT = /credit balance is too low|reached your specified API usage limits/i;
const RATE_LIMIT = /rate[_ -]?limit|too[_ ]many[_ ]requests|throttl|resource[_ ]exhausted/i;
const AUTH =
  /invalid[_ ](api[_ ])?key|invalid_authentication|authentication|unauthorized|permission|api key not valid/i;
const REFUSAL = /content[_ ](filter|policy)|moderation|flagged/i;
const OVERLOADED = /overloaded|server[_ ]error|unavailable|capacity|internal[_ ]error|bad gateway|upstream/i;

function failureOf(said: Said): Failure {
  const text = said.text || (isRedirect(said.status) ? REDIRECT : "the server gave no reason");
  const place = said.status === null ? "" : `HTTP ${said.status}: `;
  return { kind: kindOf(said), text: `${place}${text}` };
}

const REDIRECT = "the server redirects to another address; give that one as the base URL";

function isRedirect(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

function kindOf({ status, code, text }: Said): ErrorKind {
  if (OVERFLOW_CODE.test(code) || status === 413) return "overflow";
  if (QUOTA.test(code) || status === 402 || SPENT.test(text)) return "quota";
  if (MUST_SHRINK.test(text)) return "overflow";
  if (status === 429) return QUOTA.test(text) ? "quota" : "rate_limit";
  if (OVERFLOW_TEXTS.some((pattern) => pattern.test(text))) return "overflow";
  if (status !== null && status >= 300) return kindOfStatus(status, code, text);
  return kindOfWords(code) ?? kindOfWords(text) ?? "unknown";
}

function kindOfStatus(status: number, code: string, text: string): ErrorKind {
  if (status >= 500) return "overloaded";
  if (status === 408) return "timeout";
  if (REFUSAL.test(code) || (status === 403 && REFUSAL.test(text))) return "refusal";
  if (status === 401 || status === 403) return "auth";
  // Google answers a wrong key with 400.
  return /api[_ ]key[_ ]invalid|api key not valid/i.test(`${code} ${text}`) ? "auth" : "invalid_request";
}

function kindOfWords(words: string): ErrorKind | null {
  if (QUOTA.test(words)) return "quota";
  if (RATE_LIMIT.test(words)) return "rate_limit";
  if (REFUSAL.test(words)) return "refusal";
  if (OVERLOADED.test(words)) return "overloaded";
  if (AUTH.test(words)) return "auth";
  if (/timed? ?out|timeout_error/i.test(words)) return "timeout";
  return /invalid_request|bad_request|not_found/i.test(words) ? "invalid_request" : null;
}
