import { createHash } from "node:crypto";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { bedrockBrokenRules } from "./bedrockRules.js";
import { type KnownKeys, signatureProblem } from "./bedrockSignature.js";
import {
  bearerIn,
  type Dialect,
  jsonAnswer,
  type ModelServer,
  type ServerLimits,
  startModelServer,
} from "./modelServer.js";
import type { ReceivedRequest, ServerScript } from "./scriptedServer.js";

/** One event of a stream: its name, and what it says. */
export type ConverseEvent = { event: string; says: Record<string, unknown> };

/** How strict the server is. */
export type BedrockServerOptions = Omit<ServerLimits, "models"> & {
  /** The keys that sign. */
  keys?: KnownKeys;
};

export type BedrockServer = ModelServer;

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8"),
);

/** One frame of a stream. */
export function frame(headers: Record<string, string>, body: string): Uint8Array {
  const typed = Object.entries(headers).map(
    ([name, value]) => [`:${name}`, { type: "string" as const, value }] as const,
  );
  return codec.encode({ headers: Object.fromEntries(typed), body: Buffer.from(body) });
}

/** A stream as AWS sends it, padded as it pads. */
export function converseStream(events: readonly ConverseEvent[]): Uint8Array {
  const frames = events.map(({ event, says }, at) => {
    const isException = event.endsWith("Exception");
    const kind = isException ? "exception" : "event";
    const headers = {
      [`${kind}-type`]: event,
      "content-type": "application/json",
      "message-type": kind,
    };
    return frame(
      headers,
      JSON.stringify(isException ? says : { ...says, p: "abcdefghijkl".slice(0, 1 + (at % 12)) }),
    );
  });
  return Buffer.concat(frames);
}

export const begins: ConverseEvent = { event: "messageStart", says: { role: "assistant" } };

/** Pieces of one block; texts and thinking have no start of their own. */
function pieces(index: number, deltas: readonly Record<string, unknown>[]): ConverseEvent[] {
  return [
    ...deltas.map((delta) => ({ event: "contentBlockDelta", says: { contentBlockIndex: index, delta } })),
    { event: "contentBlockStop", says: { contentBlockIndex: index } },
  ];
}

export function texts(index: number, ...parts: string[]): ConverseEvent[] {
  return pieces(
    index,
    parts.map((text) => ({ text })),
  );
}

/** A thinking the server will recognise as its own. */
export function thoughts(index: number, ...parts: string[]): ConverseEvent[] {
  const said = parts.map((text) => ({ reasoningContent: { text } }));
  return pieces(index, [...said, { reasoningContent: { signature: signedBy(parts.join("")) } }]);
}

export function redacted(index: number, ...parts: string[]): ConverseEvent[] {
  return pieces(
    index,
    parts.map((part) => ({ reasoningContent: { redactedContent: Buffer.from(part).toString("base64") } })),
  );
}

export function called(index: number, toolUseId: string, name: string, ...parts: string[]): ConverseEvent[] {
  const start = { contentBlockIndex: index, start: { toolUse: { toolUseId, name } } };
  const deltas = parts.map((input) => ({ toolUse: { input } }));
  return [{ event: "contentBlockStart", says: start }, ...pieces(index, deltas)];
}

const USED = { inputTokens: 9, outputTokens: 4, totalTokens: 13 };

/** How an answer ends; what it used comes after. */
export function ends(stopReason: string, usage: Record<string, unknown> = USED): ConverseEvent[] {
  return [
    { event: "messageStop", says: { stopReason } },
    { event: "metadata", says: { usage, metrics: { latencyMs: 12 } } },
  ];
}

/** The server's signature under a thinking. */
export function signedBy(thinking: string): string {
  return createHash("sha256").update(`server's secret ${thinking}`).digest("base64");
}

const STREAM = { "content-type": "application/vnd.amazon.eventstream" };

/** An answer of the server's as a script. */
export function streaming(events: readonly ConverseEvent[]): ServerScript {
  return { headers: STREAM, body: converseStream(events) };
}

const PATH = /^\/model\/([^/]+)\/(converse|converse-stream)$/;

/** A server of Converse for tests. Its base URL has no path. */
export function startBedrockServer(options: BedrockServerOptions = {}): Promise<ModelServer> {
  return startModelServer(dialect, options, (request) => judge(request, options));
}

function judge(request: ReceivedRequest, { keys }: BedrockServerOptions): string[] | ServerScript {
  const [, id = "", operation = ""] = PATH.exec(request.url) ?? [];
  const problem = keys ? signatureProblem(request, keys) : null;
  if (problem) return refuse(403, problem, "The security token included in the request is invalid.");
  const text = request.body.toString("utf8");
  return [...bedrockBrokenRules(decodeURIComponent(id), operation, text), ...forged(text)];
}

const dialect: Dialect = {
  basePath: "",
  serves: (url) => PATH.test(url),
  keyIn: bearerIn,
  headers: STREAM,
  begin: (parts) => converseStream([begins, ...texts(0, ...parts).slice(0, -1)]),
  end: () => converseStream([...texts(0), ...ends("end_turn")]),
  call: ({ id, name, args }) =>
    converseStream([begins, ...called(0, id, name, JSON.stringify(args)), ...ends("tool_use")]),
  refusals: {
    notFound: (url) => refuse(404, "UnknownOperationException", `no ${url} here`),
    wrongKey: () =>
      refuse(403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."),
    rateLimit: (seconds) =>
      refuse(429, "ThrottlingException", "Too many requests, please wait before trying again.", {
        "retry-after": String(seconds),
      }),
    overflow: () => refuse(400, "ValidationException", "Input is too long for requested model."),
    overload: () => refuse(503, "ServiceUnavailableException", "The service is temporarily unavailable."),
    invalid: (words) => refuse(400, "ValidationException", words),
  },
};

/** A server knows its own signatures. */
function forged(body: string): string[] {
  const found = body.matchAll(/"reasoningText":\{"text":("(?:[^"\\]|\\.)*"),"signature":"([^"]*)"/g);
  for (const [, text = '""', signature] of found) {
    if (signedBy(JSON.parse(text)) !== signature) return ["Invalid `signature` in `thinking` block"];
  }
  return [];
}

/** An error as AWS words it. */
export function refuse(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): ServerScript {
  const told = { "x-amzn-errortype": `${type}:http://internal.amazon.com/`, ...headers };
  return jsonAnswer(status, { message }, told);
}
