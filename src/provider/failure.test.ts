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
  [422, '{"detail":"no such field"}', "invalid_request"],
  [400, '{"object":"error","message":"Bad role","type":"invalid_request_error"}', "invalid_request"],
  [401, '{"message":"Unauthorized"}', "auth"],
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

/** How servers say that a request has more tokens than fit; wherever they can, with the status they say it with. */
test.each([
  [400, "prompt is too long: 213462 tokens > 200000 maximum"],
  [400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"],
  [400, "Input is too long for requested model."],
  [400, "Input Tokens Exceeded: Number of input tokens exceeds maximum length."],
  [400, "The model returned the following errors: Input is too long for requested model."],
  [400, "Your input exceeds the context window of this model. Please adjust your input and try again."],
  [400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"],
  [400, "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens"],
  [400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."],
  [400, "the request exceeds the available context size, try increasing it"],
  [
    500,
    "the request exceeds the available context size. try increasing the context size or enable context shift",
  ],
  [400, "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"],
  [400, "prompt too long; exceeded max context length by 10 tokens"],
  [400, "the input length exceeds the context length"],
  [400, "Please reduce the length of the messages or completion."],
  [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  [
    400,
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
  ],
  [400, "Your request exceeded model token limit: 262144 (requested: 300000)"],
  [400, "prompt token count of 70000 exceeds the limit of 64000"],
  [400, "invalid params, context window exceeds limit (2013)"],
  [400, "Prompt exceeds max length"],
  [400, "Prompt has 32769 tokens, but the configured context size is 32768 tokens"],
  [400, "Range of input length should be [1, 129024]"],
  [400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
  [400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  [400, "Requested token count exceeds the model's maximum context length of 4096 tokens."],
  [
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
  ],
  [422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"],
  [400, "The prompt is too long: 5000, model maximum context length: 4095"],
  [400, "too many tokens: size limit exceeded by 200 tokens. Try using shorter or fewer inputs."],
  [
    400,
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
  ],
  [400, "The number of tokens to keep from the initial prompt is greater than the context length."],
  [400, "litellm.ContextWindowExceededError: the model's context window was exceeded"],
])("HTTP %i %s is an overflow, also inside a stream", (status, text) => {
  expect(readFailure(status, error(text)).kind).toBe("overflow");
  expect(readFailure(null, error(text)).kind).toBe("overflow");
});

test.each([
  [429, "Rate limit reached: too many tokens per minute", "rate_limit"],
  [429, "Too many tokens, please wait before trying again.", "rate_limit"],
  [
    400,
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "invalid_request",
  ],
  [400, "messages: text content blocks must be non-empty", "invalid_request"],
  [400, "Invalid 'tools': array too long. Expected an array with maximum length 128", "invalid_request"],
  [
    400,
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40",
    "invalid_request",
  ],
  [500, "the length of the queue exceeds the maximum", "overloaded"],
])("HTTP %i %s is none, but %s", (status, text, kind) => {
  expect(readFailure(status, error(text)).kind).toBe(kind);
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
