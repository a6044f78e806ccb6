import { brokenRules, type GeminiRuleSwitches } from "./geminiRules.js";
import { type Dialect, type ModelServer, type ServerLimits, startModelServer } from "./modelServer.js";
import type { ServerScript } from "./scriptedServer.js";

/** How strict the server is. */
export type GeminiServerOptions = GeminiRuleSwitches & ServerLimits;

/** A stream as the API sends it: its lines end in CRLF, and no word says that it is over. */
export function geminiStream(chunks: readonly unknown[], newline = "\r\n"): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}${newline}${newline}`).join("");
}

/** A chunk of a stream with one candidate. */
export function geminiChunk(
  parts: readonly Record<string, unknown>[],
  finishReason?: string,
  usageMetadata?: Record<string, unknown>,
): Record<string, unknown> {
  const content = parts.length > 0 ? { content: { parts, role: "model" } } : {};
  return {
    candidates: [{ ...content, ...(finishReason ? { finishReason } : {}), index: 0 }],
    ...(usageMetadata ? { usageMetadata } : {}),
  };
}

/** The body of an error as the API writes it. */
export function geminiError(code: number, status: string, message: string, details: unknown[] = []): string {
  return JSON.stringify({ error: { code, message, status, ...(details.length > 0 ? { details } : {}) } });
}

const PATH = /^\/v1beta\/models\/[^/?]+:(streamGenerateContent\?alt=sse|generateContent)$/;

/** A Gemini server for tests. Its base URL ends in `/v1beta`. */
export function startGeminiServer(options: GeminiServerOptions = {}): Promise<ModelServer> {
  return startModelServer(dialect, options, ({ body }) => brokenRules(body.toString("utf8"), options));
}

const BAD_KEY = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "API_KEY_INVALID",
  domain: "googleapis.com",
};

const COUNTED = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 };

const dialect: Dialect = {
  basePath: "/v1beta",
  serves: (url) => PATH.test(url),
  keyIn: (headers) => headers["x-goog-api-key"],
  begin: (pieces) => geminiStream(pieces.map((text) => geminiChunk([{ text }]))),
  end: () => geminiStream([geminiChunk([], "STOP", COUNTED)]),
  call: ({ id, name, args }) =>
    geminiStream([geminiChunk([{ functionCall: { id, name, args } }]), geminiChunk([], "STOP", COUNTED)]),
  listing: {
    path: "/v1beta/models",
    body: (ids) => ({
      models: ids.map((id) => ({ name: `models/${id}`, supportedGenerationMethods: ["generateContent"] })),
    }),
  },
  refusals: {
    notFound: (url) => refuse(404, "NOT_FOUND", `${url} is not found for API version v1beta`),
    wrongKey: () =>
      refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [BAD_KEY]),
    rateLimit: (seconds) =>
      refuse(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", [
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` },
      ]),
    overflow: (tokens, window) =>
      refuse(
        400,
        "INVALID_ARGUMENT",
        `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`,
      ),
    overload: () => refuse(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    invalid: (words) => refuse(400, "INVALID_ARGUMENT", words),
  },
};

function refuse(code: number, status: string, message: string, details: unknown[] = []): ServerScript {
  return {
    status: code,
    headers: { "content-type": "application/json; charset=UTF-8" },
    body: geminiError(code, status, message, details),
  };
}
