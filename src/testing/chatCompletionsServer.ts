import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { brokenRules, type RuleSwitches } from "./chatCompletionsRules.js";

/** What the server is to do with the next request. */
export type ServerScript = {
  status?: number;
  headers?: Record<string, string>;
  /** The bytes of the answer. */
  body: string | Uint8Array;
  /** Send only so many of them. */
  cutAt?: number;
  /** What to do after the last byte: end well, break the connection, or fall silent. */
  ending?: "end" | "reset" | "silence";
  /** Wait with the headers for ever. */
  mute?: boolean;
  /** Bytes per write; everything at once when not given. */
  writeSize?: number;
};

export type ReceivedRequest = { url: string; headers: IncomingHttpHeaders; body: Buffer };

/** A Chat Completions server for tests: it keeps every byte it is sent and refuses what the API would refuse. */
export type ChatCompletionsServer = {
  /** With `/v1`. */
  baseUrl: string;
  requests: ReceivedRequest[];
  /** What to answer; given to every request until changed. */
  script: ServerScript;
  close(): Promise<void>;
};

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

const HELLO = eventStream([chunk({ role: "assistant", content: "Hello" }), chunk({}, "stop")]);

/** Starts one on a free port of this machine. */
export async function startChatCompletionsServer(
  switches: RuleSwitches = {},
): Promise<ChatCompletionsServer> {
  const requests: ReceivedRequest[] = [];
  const started = { baseUrl: "", requests, script: { body: HELLO } as ServerScript, close: async () => {} };
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const body = Buffer.concat(pieces);
    requests.push({ url: request.url ?? "", headers: request.headers, body });
    const broken = brokenRules(body.toString("utf8"), switches);
    if (request.url !== "/v1/chat/completions")
      return refuse(response, 404, "not_found", `no ${request.url} here`);
    if (broken.length > 0) return refuse(response, 400, "invalid_request_error", broken.join("; "));
    return answer(response, started.script);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  started.baseUrl = `http://127.0.0.1:${address.port}/v1`;
  started.close = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return started;
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message, type: "invalid_request_error", code } }));
}

async function answer(response: ServerResponse, script: ServerScript): Promise<void> {
  if (script.mute) return;
  const all = typeof script.body === "string" ? Buffer.from(script.body) : script.body;
  const bytes = all.subarray(0, script.cutAt ?? all.length);
  const size = script.writeSize ?? (bytes.length || 1);
  response.writeHead(script.status ?? 200, { "content-type": "text/event-stream", ...script.headers });
  response.flushHeaders();
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise<void>((resolve) => response.write(bytes.subarray(at, at + size), () => resolve()));
  }
  if (script.ending === "silence") return;
  if (script.ending === "reset") response.destroy();
  else response.end();
}
