import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UserMessage } from "../message/index.js";
import { refuse } from "../testing/anthropicServer.js";
import { refuse as aws } from "../testing/bedrockServer.js";
import { CALL_CASES } from "../testing/callCases.js";
import { geminiChunk, geminiError, geminiStream } from "../testing/geminiServer.js";
import { type Heard, hear } from "../testing/heardCall.js";
import type { ModelServer } from "../testing/modelServer.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { call, isRetryable } from "./call.js";
import type { Model } from "./codec.js";
import { model } from "./model.js";

const DETAILS = "type.googleapis.com/google.rpc.";
const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
const waits = (retryDelay: string) => ({ "@type": `${DETAILS}RetryInfo`, retryDelay });
const violates = (quotaId: string) => ({ "@type": `${DETAILS}QuotaFailure`, violations: [{ quotaId }] });

const openai = (
  status: number,
  message: string,
  type: string,
  code: string | null,
  headers: Record<string, string> = {},
): ServerScript => ({
  status,
  headers,
  body: JSON.stringify({ error: { message, type, param: null, code } }),
});
const google = (status: number, word: string, message: string, details: unknown[] = []): ServerScript => {
  return { status, body: geminiError(status, word, message, details) };
};

/** In each vendor's own words: what it refuses, the kind that is, and for how long it asks us to wait. */
type Refusal = [script: ServerScript, kind: string, wait?: number];
const OPENAI: readonly Refusal[] = [
  [openai(401, "Incorrect API key provided: sk-no.", "invalid_request_error", "invalid_api_key"), "auth"],
  [openai(401, "You didn't provide an API key.", "invalid_request_error", null), "auth"],
  [openai(403, "Country, region, or territory not supported", "request_forbidden", null), "auth"],
  [openai(429, QUOTA, "insufficient_quota", "insufficient_quota", { "retry-after": "7" }), "quota", 7000],
  [
    openai(429, "Rate limit reached for gpt-5 on tokens per min (TPM).", "tokens", "rate_limit_exceeded", {
      "retry-after-ms": "1250",
    }),
    "rate_limit",
    1250,
  ],
  [
    openai(
      429,
      "Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.",
      "tokens",
      "rate_limit_exceeded",
    ),
    "overflow",
  ],
  [
    openai(
      400,
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "invalid_request_error",
      "context_length_exceeded",
    ),
    "overflow",
  ],
  [
    openai(404, "The model `x` does not exist", "invalid_request_error", "model_not_found"),
    "invalid_request",
  ],
  [
    openai(400, "The requested model 'x' does not exist.", "invalid_request_error", "model_not_found"),
    "invalid_request",
  ],
  [openai(400, "Invalid 'input[1]'", "invalid_request_error", "invalid_value"), "invalid_request"],
  [openai(400, "Your request was flagged.", "invalid_request_error", "content_policy_violation"), "refusal"],
  [openai(400, "The response was filtered", "invalid_request_error", "content_filter"), "refusal"],
  [openai(500, "The server had an error", "server_error", null), "overloaded"],
  [openai(503, "The engine is currently overloaded.", "server_error", null), "overloaded"],
];
const REFUSALS: Readonly<Record<string, readonly Refusal[]>> = {
  anthropic: [
    [refuse(401, "authentication_error", "invalid x-api-key"), "auth"],
    [refuse(403, "permission_error", "Your key may not use this"), "auth"],
    [
      refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
      "quota",
    ],
    [refuse(400, "invalid_request_error", "You have reached your specified API usage limits."), "quota"],
    [refuse(402, "billing_error", "Payment required"), "quota"],
    [refuse(404, "not_found_error", "model: claude-x"), "invalid_request"],
    [refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "overflow"],
    [
      refuse(
        400,
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      ),
      "overflow",
    ],
    [refuse(413, "request_too_large", "Request exceeds the maximum size"), "overflow"],
    [
      refuse(429, "rate_limit_error", "This request would exceed your rate limit", { "retry-after": "7" }),
      "rate_limit",
      7000,
    ],
    [refuse(500, "api_error", "Internal server error"), "overloaded"],
    [refuse(504, "timeout_error", "Request timed out"), "overloaded"],
    [refuse(529, "overloaded_error", "Overloaded"), "overloaded"],
  ],
  "openai-chat": OPENAI,
  "openai-responses": OPENAI,
  gemini: [
    [google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), "auth"],
    [
      google(400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", [
        { "@type": `${DETAILS}ErrorInfo`, reason: "API_KEY_INVALID" },
      ]),
      "auth",
    ],
    [google(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."), "auth"],
    [google(403, "PERMISSION_DENIED", "Your project has been denied access."), "auth"],
    [
      google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
      "invalid_request",
    ],
    [google(404, "NOT_FOUND", "models/x is not found for API version v1beta"), "invalid_request"],
    [
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
      ),
      "overflow",
    ],
    [
      google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because the input token count is 1200000 but the model only supports up to 1048576. Reduce the input token count and try again.",
      ),
      "overflow",
    ],
    [
      google(429, "RESOURCE_EXHAUSTED", QUOTA, [
        violates("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
        waits("34.07s"),
      ]),
      "rate_limit",
      34_070,
    ],
    [google(429, "RESOURCE_EXHAUSTED", QUOTA, [waits("7s")]), "rate_limit", 7000],
    [
      { ...google(429, "RESOURCE_EXHAUSTED", "slow down", [waits("7s")]), headers: { "retry-after": "2" } },
      "rate_limit",
      2000,
    ],
    [
      google(429, "RESOURCE_EXHAUSTED", QUOTA, [
        violates("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        waits("34s"),
      ]),
      "quota",
      34_000,
    ],
    [google(429, "RESOURCE_EXHAUSTED", QUOTA), "quota"],
    [google(429, "RESOURCE_EXHAUSTED", `${QUOTA} * Quota exceeded for metric: x, limit: 0`), "quota"],
    [google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "rate_limit"],
    [google(500, "INTERNAL", "An internal error has occurred."), "overloaded"],
    [google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "overloaded"],
    [google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."), "overloaded"],
  ],
  bedrock: [
    [aws(403, "AccessDeniedException", "You don't have access to the model."), "auth"],
    [aws(403, "UnrecognizedClientException", "The security token is invalid."), "auth"],
    [aws(403, "ExpiredTokenException", "The security token is expired"), "auth"],
    [aws(400, "IncompleteSignatureException", "Authorization header requires …"), "auth"],
    [{ status: 403, body: '{"Message":"User is not authorized"}' }, "auth"],
    [aws(400, "ValidationException", "Input is too long for requested model."), "overflow"],
    [aws(400, "ValidationException", "Input Tokens Exceeded: Number of input tokens is large."), "overflow"],
    [aws(400, "ValidationException", "prompt is too long: 210000 tokens > 200000 maximum"), "overflow"],
    [aws(400, "ValidationException", "The provided model identifier is invalid."), "invalid_request"],
    [aws(400, "ServiceQuotaExceededException", "Your request exceeds the service quota"), "quota"],
    [aws(404, "ResourceNotFoundException", "Model not found"), "invalid_request"],
    [aws(408, "ModelTimeoutException", "The request took too long to process."), "timeout"],
    [aws(424, "ModelErrorException", "An error while processing the model."), "overloaded"],
    [
      aws(429, "ThrottlingException", "Too many tokens, please wait.", { "retry-after": "7" }),
      "rate_limit",
      7000,
    ],
    [aws(429, "ThrottlingException", "Too many tokens per day, please wait."), "quota"],
    [
      {
        status: 400,
        body: '{"__type":"com.amazon.coral.service#ThrottlingException","message":"Rate exceeded"}',
      },
      "rate_limit",
    ],
    [aws(429, "ModelNotReadyException", "Model is not ready for inference."), "overloaded"],
    [aws(500, "InternalServerException", "The system encountered an unexpected error"), "overloaded"],
    [aws(503, "ServiceUnavailableException", "Unable to process your request."), "overloaded"],
    [{ status: 502, body: "<h1>Bad gateway</h1>" }, "overloaded"],
  ],
};
/** Kinds that may pass by themselves. */
const PASSING = ["rate_limit", "overloaded", "timeout"];

describe.each(CALL_CASES)("refused by $api", ({ api, id, start }) => {
  let server: ModelServer;
  let on: Model;
  beforeAll(async () => {
    server = await start();
    on = model({ api, id, baseUrl: server.baseUrl, apiKey: "k" });
  });
  afterAll(() => server.close());

  function ask(script: ServerScript): Promise<Heard> {
    server.next({ do: "send", script });
    return hear(call(on, { messages: [UserMessage.text("Hi")] }));
  }

  test.each(REFUSALS[api] ?? [])("%j is of the kind %s", async (script, errorKind, wait) => {
    const { message, retryAfterMs } = await ask(script);
    expect(message).toMatchObject({ stopReason: "error", errorKind, contents: [] });
    expect(message.error).toContain(`HTTP ${script.status}: `);
    expect(message).not.toHaveProperty("retryAfterMs");
    expect(retryAfterMs).toBe(wait ?? null);
    expect(isRetryable(message.errorKind ?? "unknown")).toBe(PASSING.includes(errorKind));
  });
});

test("Google's wait is heard in the middle of a stream too", async () => {
  const server = await CALL_CASES.find(({ api }) => api === "gemini")?.start();
  if (!server) throw new Error("there is no server");
  const on = model({ api: "gemini", id: "gemini-3-flash", baseUrl: server.baseUrl, apiKey: "k" });
  const error = JSON.parse(geminiError(429, "RESOURCE_EXHAUSTED", "Resource exhausted.", [waits("3s")]));
  server.next({ do: "send", script: { body: geminiStream([geminiChunk([{ text: "Hi" }]), error]) } });
  const heard = await hear(call(on, { messages: [UserMessage.text("Hi")] }));
  await server.close();
  expect(heard).toMatchObject({
    retryAfterMs: 3000,
    message: { errorKind: "rate_limit", contents: [{ content: "Hi" }] },
  });
});
