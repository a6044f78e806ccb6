import { expect, test } from "vitest";
import { ERROR_KINDS } from "../message/index.js";
import { isRetryable, readFailure } from "./failure.js";

const error = (message: string, code: unknown = null, type = "invalid_request_error"): string =>
  JSON.stringify({ error: { message, type, param: null, code } });

test.each([
  [401, error("Incorrect API key provided", "invalid_api_key"), "auth"],
  [403, error("You are not allowed to sample from this model"), "auth"],
  [400, error("API key not valid. Please pass a valid API key."), "auth"],
  [403, error("Your input was flagged by moderation"), "refusal"],
  [400, error("The response was filtered", "content_filter"), "refusal"],
  [402, error("Insufficient credits"), "quota"],
  [429, error("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), "quota"],
  [429, error("Rate limit reached for gpt-4 on tokens per min (TPM)", "rate_limit_exceeded"), "rate_limit"],
  [429, error("Your credit balance is too low to access this API"), "quota"],
  [400, error("Your credit balance is too low to access the Anthropic API."), "quota"],
  [429, "", "rate_limit"],
  [404, error("The model `x` does not exist", "model_not_found"), "invalid_request"],
  [400, error("Invalid schema for function"), "invalid_request"],
  [422, '{"detail":[{"msg":"field required"}]}', "invalid_request"],
  [307, "", "invalid_request"],
  [400, error("too many messages", "context_length_exceeded"), "overflow"],
  [
    400,
    error(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    ),
    "overflow",
  ],
  [400, error("the request exceeds the available context size, try increasing it"), "overflow"],
  [400, '{"error":"prompt too long; exceeded max context length by 10 tokens"}', "overflow"],
  [400, error("This endpoint's maximum context length is 4096 tokens"), "overflow"],
  [
    400,
    '[{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]',
    "overflow",
  ],
  [413, "<html><h1>413 Request Entity Too Large</h1></html>", "overflow"],
  [408, "", "timeout"],
  [500, error("The server had an error", null, "server_error"), "overloaded"],
  [503, "upstream connect error", "overloaded"],
  [529, error("Overloaded", null, "overloaded_error"), "overloaded"],
])("HTTP %i with %s is %s", (status, body, kind) => {
  const failure = readFailure(status, body);
  expect(failure.kind).toBe(kind);
  expect(failure.text).toContain(`HTTP ${status}: `);
});

test("a person reads the server's own words", () => {
  expect(readFailure(400, error("Bad tool")).text).toBe("HTTP 400: Bad tool");
  expect(readFailure(502, "<html><script>x()</script><h1>Bad\n gateway</h1></html>").text).toBe(
    "HTTP 502: Bad gateway",
  );
  expect(
    readFailure(400, '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"tool x"}}}')
      .text,
  ).toBe("HTTP 400: Provider returned error — tool x");
  expect(readFailure(500, "{}").text).toBe("HTTP 500: the server gave no reason");
});

test("only what may pass by itself is tried again", () => {
  expect(ERROR_KINDS.filter(isRetryable)).toEqual(["rate_limit", "overloaded", "network", "timeout", "cut"]);
});
