import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { ApiProblem, createClient } from "./index.js";
import { FrameReader } from "./sse.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const WORDS = ["hej", "naïve", "🏡🏠", "line\nbreak", "", "日本語", "\u2028", "data: not a field"];
const log = Array.from({ length: 40 }, (_, index) => ({
  id: `c${index}`,
  data: JSON.stringify({
    type: "turn.ended",
    chat_jid: "home",
    at: "",
    turn_id: WORDS[index % WORDS.length],
    status: `${index}`,
  }),
}));
const frames = (from: number, newline: string): string =>
  log
    .slice(from)
    .map(({ id, data }) => [`id: ${id}`, "event: turn.ended", `data: ${data}`, "", ""].join(newline))
    .join("");

/** A server with a log, that cuts each connection after some bytes, wherever that falls. */
function cuttingServer(cuts: number[], newline: string) {
  const asked: (string | undefined)[] = [];
  const client = serve((request, response) => {
    const cursor = request.headers["last-event-id"] as string | undefined;
    asked.push(cursor);
    const from = log.findIndex(({ id }) => id === cursor) + 1;
    const bytes = Buffer.from(`: hello${newline}${newline}retry: 1${newline}${frames(from, newline)}`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const cut = cuts[asked.length - 1];
    if (cut === undefined) return void response.write(bytes);
    response.write(bytes.subarray(0, cut), () => response.destroy());
  });
  return { client, asked };
}

test("wherever the connection is cut, every event arrives once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 2500 }), { maxLength: 4 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      async (cuts, newline) => {
        const { client, asked } = cuttingServer(cuts, newline);
        const seen: string[] = [];
        for await (const event of (await client).events({ backoffMs: 1 })) {
          if (event.type === "turn.ended") seen.push(event.cursor + event.status + event.turn_id);
          if (seen.length === log.length) break;
        }
        expect(seen).toEqual(log.map(({ id }, index) => `${id}${index}${WORDS[index % WORDS.length]}`));
        expect(asked[0]).toBeUndefined();
      },
    ),
    { numRuns: 40 },
  );
});

test("a stream cut into any pieces reads like the whole", () => {
  const bytes = new TextEncoder().encode(`\uFEFF${frames(0, "\r\n")}id: lost\ndata: never finished`);
  const whole = new FrameReader().read(bytes);
  expect(whole).toHaveLength(log.length);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 30 }), (places) => {
      const edges = [0, ...places.sort((a, b) => a - b), bytes.length];
      const reader = new FrameReader();
      const read = edges.flatMap((edge, index) => reader.read(bytes.subarray(edges[index - 1] ?? 0, edge)));
      expect(read).toEqual(whole);
    }),
  );
});

test("an event without an id goes on from the one before it", () => {
  const read = new FrameReader().read(new TextEncoder().encode("id: 7\ndata: a\n\ndata: b\ndata: c\n\n\n"));
  expect(read).toEqual([
    { event: "message", data: "a", id: "7" },
    { event: "message", data: "b\nc", id: "7" },
  ]);
});

test("a line cut before its first event goes on from where it started", async () => {
  const asked: unknown[] = [];
  const client = await serve((request, response) => {
    asked.push(request.headers["last-event-id"]);
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (asked.length > 1) return void response.write(frames(39, "\n"));
    // The second block is not complete: what it says never happened.
    response.write("id: start\nretry: 1\n\nid: never\n", () => response.destroy());
  });
  const { value } = await client.events({ backoffMs: 1 }).next();
  expect(value?.cursor).toBe("c39");
  expect(asked).toEqual([undefined, "start"]);
});

test("the reader is told when the stream is open, lost, and open again", async () => {
  const { client } = cuttingServer([40], "\n");
  const states: string[] = [];
  for await (const event of (await client).events({ backoffMs: 1, onState: (state) => states.push(state) })) {
    if (event.cursor === "c39") break;
  }
  expect(states).toEqual(["open", "lost", "open"]);
});

test("a connection that fell silent is opened anew", async () => {
  let opened = 0;
  const client = await serve((_, response) => {
    opened += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(opened === 1 ? ": and then nothing\n\n" : frames(39, "\n"));
  });
  for await (const event of client.events({ backoffMs: 1, silenceMs: 60 })) {
    expect(event.cursor).toBe("c39");
    break;
  }
  expect(opened).toBe(2);
});

test("a refused token ends the stream with the reason", async () => {
  let asked = 0;
  const client = await serve((_, response) => {
    asked += 1;
    response.writeHead(401, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ type: "about:blank", title: "No token", status: 401, detail: "" }));
  });
  const problem = await client
    .events({ backoffMs: 1 })
    .next()
    .catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem).toMatchObject({ status: 401, title: "No token" });
  expect(asked).toBe(1);
});

test("a busy server is asked again", async () => {
  let asked = 0;
  const client = await serve((_, response) => {
    asked += 1;
    response.writeHead(asked < 3 ? 503 : 200, asked < 3 ? { "retry-after": "0" } : {});
    response[asked < 3 ? "end" : "write"](asked < 3 ? "" : frames(39, "\n"));
  });
  const { value } = await client.events({ backoffMs: 1 }).next();
  expect(value?.cursor).toBe("c39");
  expect(asked).toBe(3);
});

test("aborting ends the stream, also while it waits", async () => {
  const stop = new AbortController();
  const client = createClient({ baseUrl: "http://127.0.0.1:1" });
  const states: string[] = [];
  const events = client.events({
    signal: stop.signal,
    backoffMs: 60_000,
    onState: (state) => {
      states.push(state);
      setTimeout(() => stop.abort(), 1);
    },
  });
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(states).toEqual(["lost"]);
});
