import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";

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

/** A model's server for tests: it keeps every byte it is sent, refuses what its API would refuse, and plays a script. */
export type ScriptedServer = {
  /** Without a path. */
  origin: string;
  requests: ReceivedRequest[];
  /** What to answer; given to every request until changed. */
  script: ServerScript;
  /** What to answer to the next requests that are not refused, one each, before that. */
  upcoming: ServerScript[];
  /** How many callers left before their answer had ended. */
  hangUps: number;
  close(): Promise<void>;
};

/**
 * Starts one on a free port of this machine. `refusal` is what to answer instead of the script, if anything; `aside`
 * answers what is only looked up, and leaves no trace.
 */
export async function startScriptedServer(
  script: ServerScript,
  refusal: (request: ReceivedRequest) => ServerScript | null,
  aside: (url: string) => ServerScript | null = () => null,
): Promise<ScriptedServer> {
  const requests: ReceivedRequest[] = [];
  const upcoming: ServerScript[] = [];
  const started = { origin: "", requests, script, upcoming, hangUps: 0, close: async () => {} };
  const server = createServer(async (request, response) => {
    // Which models there are it says, if at all, without a word about who asked.
    if (request.method === "GET") return answer(response, aside(request.url ?? "") ?? NOT_FOUND);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const received = { url: request.url ?? "", headers: request.headers, body: Buffer.concat(pieces) };
    requests.push(received);
    response.on("close", () => {
      if (!response.writableEnded) started.hangUps++;
    });
    return answer(response, refusal(received) ?? upcoming.shift() ?? started.script);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  started.origin = `http://127.0.0.1:${address.port}`;
  started.close = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return started;
}

const NOT_FOUND: ServerScript = { status: 404, body: "" };

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
