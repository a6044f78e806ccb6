import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { clip, replaceBadCharacters } from "../message/index.js";
import type { McpAddress, McpCommand, McpServer } from "./mcpConfig.js";

/** One message of a server may have so many bytes. */
const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;
const MAX_LINE = 1000;
const LINES_PER_MINUTE = 100;

/** A way to the server, not yet opened. */
export async function transportTo(
  server: McpServer,
  heard: (line: string) => void,
  now: () => number,
): Promise<Transport> {
  if ("command" in server) return stdioTransport(server, heard, now);
  return server.type === "sse" ? sseTransport(server) : httpTransport(server);
}

/** The older way to the same address, for servers that know no other; null where there is none. */
export async function olderTransportTo(server: McpServer, why: unknown): Promise<Transport | null> {
  if ("command" in server || server.type !== undefined) return null;
  const { StreamableHTTPError } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const refused = why instanceof StreamableHTTPError && [400, 404, 405].includes(why.code ?? 0);
  return refused ? sseTransport(server) : null;
}

async function stdioTransport(server: McpCommand, heard: (line: string) => void, now: () => number) {
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const transport = new StdioClientTransport({
    command: server.command,
    args: server.args ?? [],
    env: server.env ?? {},
    ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
    stderr: "pipe",
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  const listen = boundedLines(heard, now);
  transport.stderr?.on("data", (chunk: Buffer) => listen(chunk.toString("utf8")));
  return transport;
}

async function httpTransport({ url, headers }: McpAddress) {
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: headers ?? {} },
    fetch: boundedFetch,
  });
}

async function sseTransport({ url, headers }: McpAddress) {
  const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
  return new SSEClientTransport(new URL(url), { requestInit: { headers: headers ?? {} } });
}

/** Answers to what we post are bounded; the stream of news, which stays open, is not. */
async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (init?.method !== "POST" || !response.body) return response;
  let size = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.length;
        if (size > MAX_MESSAGE_BYTES)
          controller.error(new Error(`the answer has more than ${MAX_MESSAGE_BYTES} bytes`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

/** Whole lines, clipped, and only so many a minute: a server's chatter must not fill the disk with log. */
export function boundedLines(heard: (line: string) => void, now: () => number): (text: string) => void {
  let rest = "";
  let minute = now();
  let count = 0;
  const say = (line: string) => {
    if (line.trim() === "") return;
    if (now() - minute >= 60_000) {
      minute = now();
      count = 0;
    }
    count++;
    if (count < LINES_PER_MINUTE) heard(clip(replaceBadCharacters(line), MAX_LINE));
    else if (count === LINES_PER_MINUTE) heard("… it says more than is kept");
  };
  return (text) => {
    const lines = (rest + text).split(/\r?\n/);
    rest = (lines.pop() ?? "").slice(0, MAX_LINE + 1);
    for (const line of lines) say(line);
  };
}
