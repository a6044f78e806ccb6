import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answered, ServerProcess, spoken } from "../../testing/serverProcess.js";
import { callRoutes } from "../server/routes/calls.js";
import { chatRoutes } from "../server/routes/chats.js";
import { ingestRoutes } from "../server/routes/ingest.js";
import { messageRoutes } from "../server/routes/messages.js";
import { operateRoutes } from "../server/routes/operate.js";
import { treeRoutes } from "../server/routes/tree.js";

const MIB = 1024 * 1024;
const ROUTES = [
  ...chatRoutes,
  ...ingestRoutes,
  ...messageRoutes,
  ...callRoutes,
  ...operateRoutes,
  ...treeRoutes,
];
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start();
});
afterAll(() => server.dispose());

/** What comes back for bytes sent as they are; no client tidies them up first. */
function raw(text: string): Promise<{ status: number; type: string; body: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
    let got = "";
    const done = () => {
      socket.destroy();
      const [head = "", body = ""] = got.split("\r\n\r\n");
      const type = /^content-type: (.*)$/im.exec(head)?.[1] ?? "";
      resolve({ status: Number(head.split(" ")[1]), type, body });
    };
    socket.on("data", (chunk) => {
      got += chunk.toString();
      const [head = "", body] = got.split("\r\n\r\n");
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Number.NaN);
      if (body !== undefined && Buffer.byteLength(body) >= length) done();
    });
    socket.on("end", done);
    socket.on("error", (error) => (got ? done() : reject(error)));
  });
}

const line = (method: string, path: string, headers: string[] = []) =>
  `${[`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${server.port}`, `authorization: Bearer ${server.token}`, ...headers].join("\r\n")}\r\n\r\n`;

const errorPaths = (answer: Answered) =>
  (answer.body.errors as { path: string }[] | undefined)?.map(({ path }) => path);

describe("a stranger", () => {
  it("is turned away before the body is looked at", async () => {
    const nobody = { authorization: "" };
    for (const way of ["submit", "inject", "passive", "context", "host", "custom"])
      expect((await server.ask("POST", `/v1/chats/home/${way}`, "not json", nobody)).status, way).toBe(401);
    expect((await server.ask("PATCH", "/v1/chats/home", "not json", nobody)).status).toBe(401);
    const promised = line("POST", "/v1/chats/home/submit", [
      "content-type: application/json",
      "content-length: 1000000",
    ]).replace(server.token, "not-a-token-of-this-house");
    expect((await raw(promised)).status).toBe(401);
  });

  it("cannot send more than a login needs", async () => {
    const answer = await raw(
      line("POST", "/v1/login", ["content-type: application/json", `content-length: ${16 * MIB}`]),
    );
    expect(answer.status).toBe(413);
    expect(answer.type).toContain("application/problem+json");
    expect(JSON.parse(answer.body).detail).toContain("4096 bytes");
  });

  it("gets nothing read where there is nothing", async () => {
    const answer = await raw(
      line("POST", "/nowhere", ["content-type: application/json", "content-length: 1000000"]),
    );
    expect(answer.status).toBe(404);
    const webhook = await raw(line("POST", "/channels/none/webhook", ["content-length: 1000000"]));
    expect(webhook.status).toBe(404);
  });
});

describe("bodies", () => {
  it("are refused when nested without end, not when they only quote brackets", async () => {
    const deep = await server.ask("POST", "/v1/chats/home/submit", "[".repeat(8 * MIB));
    expect(deep.status).toBe(422);
    expect(deep.body.detail).toContain("nested deeper than 100");
    const objects = `${'{"a":'.repeat(101)}1${"}".repeat(101)}`;
    expect((await server.ask("POST", "/v1/chats", objects)).body.detail).toContain("nested deeper");
    const quoted = `${"[{".repeat(500)}"\\\\"${"[".repeat(500)}`;
    const kept = await server.submit("home", quoted);
    expect(kept.status).toBe(202);
    expect((await server.ask("GET", `/v1/chats/home/messages/${kept.body.message_id}`)).body.content).toBe(
      quoted,
    );
  });

  it("have room for a mebibyte of escaped text where a text is taken", async () => {
    const { body } = await server.submit("home", "short");
    const long = "\u0001".repeat(MIB);
    const revised = await server.ask("PATCH", `/v1/chats/home/messages/${body.message_id}`, {
      content: long,
    });
    expect(revised.status).toBe(200);
    expect(revised.body.content === long).toBe(true);
    const larger = await server.ask("POST", "/v1/chats/home/context", {
      content: "x".repeat(MIB + 1),
      msg_metadata: spoken(),
    });
    expect(larger.status).toBe(413);
    expect(errorPaths(larger)).toEqual(["content"]);
    expect((await server.ask("POST", "/v1/chats", `"${"x".repeat(2 * MIB)}"`)).status).toBe(413);
  });

  it("hold no text that would come back cut off", async () => {
    for (const bad of ["abc\u0000def", "abc\ud800def"]) {
      const host = await server.ask("POST", "/v1/chats/home/host", { content: bad });
      expect([host.status, errorPaths(host)]).toEqual([422, ["content"]]);
      const custom = await server.ask("POST", "/v1/chats/home/custom", { custom_type: bad, content: bad });
      expect([custom.status, errorPaths(custom)]).toEqual([422, ["custom_type", "content"]]);
      const settings = {
        name: bad,
        bot_id: bad,
        assistant_name: bad,
        aliases: [bad],
        allow: [bad],
        system_prompt: bad,
        model: bad,
        shell_allow: [bad],
        bindings: [{ channel: "slack", address: bad }],
      };
      for (const [name, value] of Object.entries(settings))
        expect((await server.ask("PATCH", "/v1/chats/home", { [name]: value })).status, name).toBe(422);
    }
  });
});

describe("names in a URL", () => {
  it("are never such that a client reads them as another path", async () => {
    for (const message_id of [".", ".."]) {
      const answer = await server.submit("home", "hi", {}, { message_id });
      expect([answer.status, errorPaths(answer)]).toEqual([422, ["message_id"]]);
    }
    await server.ask("POST", "/v1/chats", { jid: "stays" });
    expect((await server.ask("DELETE", "/v1/chats/stays/messages/..")).status).toBe(404);
    expect((await server.ask("GET", "/v1/chats/stays")).status).toBe(200);
  });

  it("do not end at U+0000", async () => {
    await server.ask("POST", "/v1/chats", { jid: "nul" });
    expect((await server.ask("DELETE", "/v1/chats/nul%00x")).status).toBe(404);
    expect((await server.ask("GET", "/v1/chats/nul")).status).toBe(200);
    expect((await server.ask("GET", "/v1/chats/home/messages?sender=a%00b")).status).toBe(422);
    expect((await server.ask("GET", "/v1/events?chat=nul%00x")).status).toBe(422);
    expect((await server.ask("POST", "/v1/chats", { jid: "%00" })).status).toBe(201);
    expect((await server.ask("GET", "/v1/chats/%2500")).body.jid).toBe("%00");
  });

  it("may be as long as a name may be", async () => {
    const jid = "✓".repeat(255);
    expect((await server.ask("POST", "/v1/chats", { jid })).status).toBe(201);
    expect((await server.submit(jid, "hi")).status).toBe(202);
  });

  it("that no longer exist do not start a list again", async () => {
    const answer = await server.ask("GET", "/v1/chats?after=gone");
    expect([answer.status, errorPaths(answer)]).toEqual([422, ["after"]]);
    const { body } = await server.ask("GET", "/v1/chats?limit=1");
    const next = await server.ask("GET", `/v1/chats?limit=1&after=${encodeURIComponent(String(body.next))}`);
    expect(next.body.chats).not.toEqual(body.chats);
  });
});

describe("the event stream", () => {
  it("is asked for one chat or for all, never for something in between", async () => {
    for (const query of ["chat=home&chat=home", "after=0&after=0", "chat[]=home", "chat%5B0%5D=home"])
      expect((await server.ask("GET", `/v1/events?${query}`)).status, query).toBe(422);
    expect((await server.ask("GET", "/v1/events?chat=nobody")).status).toBe(404);
    expect((await server.ask("HEAD", "/v1/events")).status).toBe(404);
  });

  it("does not start in the future", async () => {
    const asked = await server.ask("GET", "/v1/events?after=9999999999999999");
    expect([asked.status, errorPaths(asked)]).toEqual([422, ["after"]]);
    expect(asked.body.detail).toContain("the newest is");
    const resumed = await server.ask("GET", "/v1/events", undefined, { "last-event-id": "0000000009999999" });
    expect([resumed.status, errorPaths(resumed)]).toEqual([422, ["Last-Event-ID"]]);
    const newest = /the newest is (\d+)/.exec(String(asked.body.detail))?.[1];
    const stop = new AbortController();
    const open = await fetch(`${server.baseUrl}/v1/events?after=${newest}&_=7`, {
      headers: { authorization: `Bearer ${server.token}` },
      signal: stop.signal,
    });
    expect(open.status).toBe(200);
    stop.abort();
  });
});

describe("what is hardly a request", () => {
  it("is answered as every other problem is", async () => {
    const odd: Record<string, [string, number]> = {
      "a lone percent": [line("GET", "/v1/chats/%"), 400],
      "bytes that are no text": [line("GET", "/v1/chats/%ff"), 400],
      "an endless name": [line("GET", `/v1/chats/${"x".repeat(9000)}`), 414],
      "endless headers": [line("GET", "/v1/chats", [`x: ${"x".repeat(20_000)}`]), 431],
      "no HTTP": ["hello\r\n\r\n", 400],
      "two hosts": [line("GET", "/v1/chats", ["Host: evil.example"]), 400],
      "no host": ["GET /v1/chats HTTP/1.1\r\n\r\n", 400],
      "no such path": [line("GET", "/v2"), 404],
    };
    for (const [name, [text, status]] of Object.entries(odd)) {
      const answer = await raw(text);
      expect([answer.status, answer.type], name).toEqual([status, "application/problem+json; charset=utf-8"]);
      const problem = JSON.parse(answer.body);
      expect(problem, name).toMatchObject({ type: "about:blank", status });
      expect(problem.title.length * problem.detail.length, name).toBeGreaterThan(0);
    }
  });
});

describe("the page", () => {
  it("loads no picture from elsewhere", async () => {
    const { headers } = await server.ask("GET", "/");
    expect(headers.get("content-security-policy")).toContain("img-src 'self' data:;");
  });
});

describe("the API's description", () => {
  it("says exactly what comes back", async () => {
    await server.ask("POST", "/v1/chats", { jid: "told", trigger: "always" });
    const binding = { channel: "nowhere", address: "nowhere:1" };
    const { body: message } = await server.submit("told", "hi");
    await server.outcome("told", message.message_id);
    const { body: calls } = await server.ask("GET", "/v1/chats/told/calls");
    const call = (calls.calls as { id: string }[])[0]?.id;
    const id = message.message_id;
    const said = { content: "hi", msg_metadata: spoken() };
    const asked: [method: string, path: string, real: string, body?: unknown][] = [
      ["POST", "/v1/chats", "/v1/chats", { jid: "told2" }],
      ["GET", "/v1/chats", "/v1/chats"],
      ["GET", "/v1/chats/:jid", "/v1/chats/told"],
      ["PATCH", "/v1/chats/:jid", "/v1/chats/told2", { bindings: [binding] }],
      ["GET", "/v1/addresses", "/v1/addresses"],
      ["POST", "/v1/chats/:jid/host", "/v1/chats/told/host", { content: "x" }],
      ["POST", "/v1/chats/:jid/custom", "/v1/chats/told/custom", { custom_type: "x", content: "y" }],
      ["GET", "/v1/chats/:jid/tree", "/v1/chats/told/tree"],
      ["POST", "/v1/chats/:jid/inject", "/v1/chats/told/inject", said],
      ["POST", "/v1/chats/:jid/passive", "/v1/chats/told/passive", said],
      ["GET", "/v1/chats/:jid/messages", "/v1/chats/told/messages"],
      ["PATCH", "/v1/chats/:jid/messages/:id", `/v1/chats/told/messages/${id}`, { content: "new" }],
      ["GET", "/v1/chats/:jid/messages/:id", `/v1/chats/told/messages/${id}`],
      ["GET", "/v1/chats/:jid/messages/:id/revisions", `/v1/chats/told/messages/${id}/revisions`],
      ["GET", "/v1/chats/:jid/messages/:id/outcome", `/v1/chats/told/messages/${id}/outcome`],
      ["GET", "/v1/chats/:jid/outcomes", "/v1/chats/told/outcomes"],
      ["GET", "/v1/chats/:jid/context", "/v1/chats/told/context"],
      ["POST", "/v1/chats/:jid/context", "/v1/chats/told/context", said],
      ["GET", "/v1/chats/:jid/calls", "/v1/chats/told/calls"],
      ["GET", "/v1/calls/:id", `/v1/calls/${call}`],
      ["GET", "/v1/outbox", "/v1/outbox"],
      ["GET", "/v1/usage", "/v1/usage?by=model"],
      ["POST", "/v1/tokens", "/v1/tokens", { name: "x", scopes: ["read"] }],
      ["GET", "/v1/tokens", "/v1/tokens"],
      ["POST", "/v1/links", "/v1/links"],
      ["GET", "/v1/models", "/v1/models"],
    ];
    for (const [method, path, real, body] of asked) {
      const answers = ROUTES.find((route) => route.method === method && route.path === path)?.answers;
      const answer = await server.ask(method, real, body);
      const name = `${method} ${path}`;
      expect(answer.status, `${name} ${JSON.stringify(answer.body).slice(0, 500)}`).toBe(answers?.status);
      // A schema leaves out what it does not know: what is left must be all there was.
      expect(answers?.schema?.parse(answer.body), name).toEqual(answer.body);
    }
  });
});

describe("a stop", () => {
  it("is refused where nothing runs", async () => {
    await server.ask("POST", "/v1/chats", { jid: "idle" });
    expect((await server.ask("POST", "/v1/chats/idle/stop")).status).toBe(409);
    expect((await server.ask("POST", "/v1/chats/nowhere/stop")).status).toBe(404);
  });
});
