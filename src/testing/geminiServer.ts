import { brokenRules, type GeminiRuleSwitches } from "./geminiRules.js";
import {
  type ReceivedRequest,
  type ScriptedServer,
  type ServerScript,
  startScriptedServer,
} from "./scriptedServer.js";

export type GeminiServerOptions = GeminiRuleSwitches & {
  /** The only key it takes; any, or none, when not given. */
  key?: string;
  /** Requests of more bytes overflow. */
  mostBytes?: number;
};

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

const HELLO = geminiStream([geminiChunk([{ text: "Hello" }]), geminiChunk([], "STOP")]);
const PATH = /^\/v1beta\/models\/[^/?]+:(streamGenerateContent\?alt=sse|generateContent)$/;

/** A Gemini server for tests: it keeps every byte it is sent and refuses what the API would refuse. */
export function startGeminiServer(options: GeminiServerOptions = {}): Promise<ScriptedServer> {
  return startScriptedServer({ body: HELLO }, (request) => refusalOf(request, options));
}

const BAD_KEY = {
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason: "API_KEY_INVALID",
  domain: "googleapis.com",
};

function refusalOf(
  { url, headers, body }: ReceivedRequest,
  options: GeminiServerOptions,
): ServerScript | null {
  if (!PATH.test(url)) return refuse(404, "NOT_FOUND", `${url} is not found for API version v1beta`);
  if (options.key !== undefined && headers["x-goog-api-key"] !== options.key)
    return refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [BAD_KEY]);
  const { mostBytes = Number.POSITIVE_INFINITY } = options;
  if (body.length > mostBytes) {
    const words = `The input token count (${body.length}) exceeds the maximum number of tokens allowed (${mostBytes}).`;
    return refuse(400, "INVALID_ARGUMENT", words);
  }
  const broken = brokenRules(body.toString("utf8"), options);
  return broken.length > 0 ? refuse(400, "INVALID_ARGUMENT", broken.join("; ")) : null;
}

function refuse(code: number, status: string, message: string, details: unknown[] = []): ServerScript {
  return {
    status: code,
    headers: { "content-type": "application/json; charset=UTF-8" },
    body: geminiError(code, status, message, details),
  };
}
