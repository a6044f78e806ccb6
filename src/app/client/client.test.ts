import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { ApiProblem, type ClientOptions, createClient } from "./index.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: Answer, options: ClientOptions = {}) {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return createClient({ baseUrl: `http://127.0.0.1:${port}/`, token: "secret", ...options });
}

const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

test("every odd chat name arrives at the server as it was given", async () => {
  const client = await serve((request, response) => {
    const [, , , name = "", last = ""] = new URL(request.url ?? "", "http://x").pathname.split("/");
    json(response, { messages: [{ chat: decodeURIComponent(name), last }], next: null });
  });
  const arrivesAs = async (jid: string): Promise<unknown> => (await client.messages(jid)).messages[0];
  for (const jid of ["slack:C06/x", "120363@g.us", "a?b#c&d=e", "50%", "%2F", "æ 🏡", "...", "a\\b", "+"]) {
    expect(await arrivesAs(jid)).toEqual({ chat: jid, last: "messages" });
  }
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", minLength: 1 }).filter((jid) => jid !== "." && jid !== ".."),
      async (jid) => {
        expect(await arrivesAs(jid)).toEqual({ chat: jid, last: "messages" });
      },
    ),
    { numRuns: 60 },
  );
});

test("a name that no address can hold is refused before another chat is asked", () => {
  const client = createClient({ baseUrl: "http://127.0.0.1:1" });
  for (const jid of ["", ".", ".."]) expect(() => client.messages(jid)).toThrow(RangeError);
});

test("the token goes in the header, and only what was asked in the query", async () => {
  let seen = "";
  const client = await serve((request, response) => {
    seen = `${request.headers.authorization} ${request.url} ${request.headers.cookie}`;
    json(response, { messages: [], next: null });
  });
  await client.messages("home", { before_seq: 40, limit: 200, q: "a & b" });
  expect(seen).toBe("Bearer secret /v1/chats/home/messages?before_seq=40&limit=200&q=a+%26+b undefined");
});

test("a refusal says what was wrong, field by field", async () => {
  const client = await serve((_, response) => {
    response.writeHead(422, { "content-type": "application/problem+json" });
    response.end(
      JSON.stringify({
        type: "https://longhand.dev/problems/invalid",
        title: "Invalid",
        status: 422,
        detail: "One field is wrong.",
        errors: [{ path: "msg_metadata.sender_id", reason: "expected a namespace" }],
      }),
    );
  });
  const problem = await client.registerChat({ jid: "x" }).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(ApiProblem);
  expect(problem).toMatchObject({
    status: 422,
    title: "Invalid",
    detail: "One field is wrong.",
    errors: [{ path: "msg_metadata.sender_id", reason: "expected a namespace" }],
  });
});

test("an answer of something in between is a problem too", async () => {
  const client = await serve((_, response) => {
    response.writeHead(503, { "retry-after": "7", "content-type": "text/html" });
    response.end("<h1>Bad gateway</h1>");
  });
  const problem = await client.chats().catch((error: unknown) => error);
  expect(problem).toMatchObject({ status: 503, title: "Service Unavailable", retryAfter: 7, errors: [] });
});

test("a call that answers nothing is fine", async () => {
  const client = await serve((_, response) => response.writeHead(204).end());
  await expect(client.removeChat("home")).resolves.toBeUndefined();
});

test("the bytes of a request come back exactly", async () => {
  const body = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256);
  const client = await serve((_, response) => response.end(body));
  expect(await client.requestBytes("c1")).toEqual(body);
});

test("the same key goes with a message that is sent again", async () => {
  const keys: unknown[] = [];
  const client = await serve((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    request.resume().on("end", () => json(response, { message_id: "1" }, 202));
  });
  const said = {
    content: " as typed ",
    msg_metadata: {
      source: "web",
      sender_id: "web:1",
      sender_display_name: "Me",
      sender_type: "human" as const,
    },
  };
  await client.submit("home", said, "k");
  await client.submit("home", said);
  expect(keys).toEqual(["k", undefined]);
});
