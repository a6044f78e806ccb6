import { brokenRules, type RuleSwitches } from "./chatCompletionsRules.js";
import {
  bearerIn,
  type Dialect,
  jsonAnswer,
  type ModelServer,
  type ServerLimits,
  startModelServer,
} from "./modelServer.js";
import type { ServerScript } from "./scriptedServer.js";

export type { ServerScript } from "./scriptedServer.js";

export type ChatCompletionsServer = ModelServer;

/** How strict the server is. */
export type ChatCompletionsServerOptions = RuleSwitches & ServerLimits;

/** A stream as the API sends it. */
export function eventStream(chunks: readonly unknown[], { newline = "\n", done = true } = {}): string {
  const events = chunks.map((chunk) => `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}`);
  return [...events, ...(done ? ["data: [DONE]"] : [])]
    .map((event) => `${event}${newline}${newline}`)
    .join("");
}

/** A chunk of a stream with one choice. */
export function chunk(delta: Record<string, unknown>, finish: string | null = null): Record<string, unknown> {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

/** A Chat Completions server for tests. Its base URL ends in `/v1`. */
export function startChatCompletionsServer(options: ChatCompletionsServerOptions = {}): Promise<ModelServer> {
  return startModelServer(dialect, options, ({ body }) => brokenRules(body.toString("utf8"), options));
}

/** How OpenAI, and whoever imitates it, tells which models there are. */
export const OPENAI_LISTING = {
  path: "/v1/models",
  body: (ids: readonly string[]) => ({
    object: "list",
    data: ids.map((id) => ({ id, object: "model", created: 0, owned_by: "tests" })),
  }),
};

const dialect: Dialect = {
  basePath: "/v1",
  serves: (url) => url === "/v1/chat/completions",
  keyIn: bearerIn,
  begin: (pieces) =>
    eventStream([chunk({ role: "assistant", content: "" }), ...pieces.map((content) => chunk({ content }))], {
      done: false,
    }),
  end: () => eventStream([chunk({}, "stop"), COUNTED]),
  call: ({ id, name, args }) => {
    const called = { name, arguments: JSON.stringify(args) };
    const calls = [{ index: 0, id, type: "function", function: called }];
    return eventStream([chunk({ role: "assistant", tool_calls: calls }), chunk({}, "tool_calls"), COUNTED]);
  },
  listing: OPENAI_LISTING,
  refusals: {
    notFound: (url) => refuse(404, "not_found", `no ${url} here`),
    wrongKey: () => refuse(401, "invalid_api_key", "Incorrect API key provided."),
    rateLimit: (seconds) =>
      refuse(429, "rate_limit_exceeded", "Rate limit reached on requests per min.", {
        "retry-after": String(seconds),
      }),
    overflow: (tokens, window) =>
      refuse(
        400,
        "context_length_exceeded",
        `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
      ),
    overload: () =>
      refuse(503, "server_error", "The engine is currently overloaded, please try again later."),
    invalid: (words) => refuse(400, "invalid_request_error", words),
  },
};

/** The last event of a stream, for those who asked for it. */
const COUNTED = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 },
};

function refuse(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): ServerScript {
  return jsonAnswer(status, { error: { message, type: "invalid_request_error", code } }, headers);
}
