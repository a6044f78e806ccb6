import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess, spoken } from "../../testing/serverProcess.js";

describe("what comes in", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
    await server.ask("POST", "/v1/chats", { jid: "in" });
  });
  afterAll(() => server.dispose());

  const refused = async (body: unknown, path: string) => {
    const before = (await server.messages("in")).length;
    const answer = await server.ask("POST", "/v1/chats/in/submit", body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(422);
    expect(answer.headers.get("content-type")).toContain("application/problem+json");
    const errors = answer.body.errors as { path: string; reason: string }[];
    expect(errors.map((error) => error.path)).toContain(path);
    expect(errors.every((error) => error.reason.length > 3)).toBe(true);
    expect(await server.messages("in")).toHaveLength(before);
  };

  it("is refused with the path of each field that is wrong, and nothing is stored", async () => {
    for (const field of ["source", "sender_id", "sender_display_name", "sender_type"]) {
      const { [field]: _, ...rest } = spoken();
      await refused({ content: "x", msg_metadata: rest }, `msg_metadata.${field}`);
      for (const wrong of [null, 7, {}, []])
        await refused({ content: "x", msg_metadata: spoken({ [field]: wrong }) }, `msg_metadata.${field}`);
    }
    const optional = {
      channel_external_id: 7,
      external_message_id: {},
      mention_token: [],
      thread_context: 1,
      thread_id: false,
      is_from_me: "yes",
      passive: "no",
      trigger_rag: 0,
      recipient_id: 3,
      reply_to: {},
      entities: "x",
    };
    for (const [field, wrong] of Object.entries(optional)) {
      await refused({ content: "x", msg_metadata: spoken({ [field]: wrong }) }, `msg_metadata.${field}`);
    }
    for (const own of [
      "host",
      "bot",
      "system",
      "deploy",
      "thinking",
      "tool_use",
      "tool_result",
      "command_output",
      "result_meta",
      "olivia",
    ]) {
      await refused({ content: "x", msg_metadata: spoken({ sender_id: own }) }, "msg_metadata.sender_id");
    }
    await refused(
      {
        content: "x",
        msg_metadata: spoken({ entities: [{ offset: -1, length: 1, type: "mention", id: "U" }] }),
      },
      "msg_metadata.entities[0].offset",
    );
    await refused({ content: "", msg_metadata: spoken() }, "content");
    await refused({ content: 7, msg_metadata: spoken() }, "content");
    await refused({ msg_metadata: spoken() }, "content");
    await refused({ content: "x" }, "msg_metadata");
    await refused({ content: "x", msg_metadata: spoken(), timestamp: "yesterday" }, "timestamp");
    await refused(
      {
        content: "x",
        msg_metadata: spoken(),
        attachments: [{ name: "a", mime_type: "text/plain", url: "file:///etc/passwd" }],
      },
      "attachments[0].url",
    );
    await refused([], "");
    await refused("not json", "");
    await refused('{"__proto__": {"a": 1}}', "");
  });

  it("keeps extra keys, and takes null for absent", async () => {
    const metadata = spoken({
      team: { id: 7 },
      mention_token: null,
      thread_context: null,
      reply_to: null,
      entities: null,
    });
    const { body, status } = await server.ask("POST", "/v1/chats/in/submit", {
      content: "kept",
      msg_metadata: metadata,
    });
    expect(status).toBe(202);
    const row = (await server.messages("in")).find(({ id }) => id === body.message_id);
    expect(row?.metadata).toEqual(metadata);
  });

  it("comes back character for character, or is refused with a reason", async () => {
    const kept = {
      "a mebibyte": "x".repeat(1024 * 1024),
      "emoji and joiners": "👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 ﷽",
      "right-to-left marks": "abc \u202e\u2067def\u2069\u200f",
      "every white space": " \t\r\n\u000b\u000c\u0085\u00a0\u2028\u2029\ufeff \u200b ",
      "control characters": Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1)).join(""),
      noncharacters: "\uffff\ufffe\u{1fffe}",
      "sql and markup": `'; drop table messages; -- <script>alert(1)</script> \${x} {{y}}`,
    };
    for (const [name, content] of Object.entries(kept)) {
      const { body, status } = await server.submit("in", content);
      expect(status, name).toBe(202);
      const { body: row } = await server.ask("GET", `/v1/chats/in/messages/${body.message_id}`);
      expect(row.content === content, name).toBe(true);
    }
    await refused({ content: "a\u0000b", msg_metadata: spoken() }, "content");
    await refused(
      '{"content":"a\\ud800b","msg_metadata":{"source":"slack","sender_id":"slack:U1","sender_display_name":"O","sender_type":"human"}}',
      "content",
    );
    expect((await server.submit("in", "x".repeat(1024 * 1024 + 1))).status).toBe(413);
    expect((await server.submit("in", "é".repeat(512 * 1024 + 1))).status).toBe(413);
  });

  it("is refused when its bytes are no text at all", async () => {
    const bytes = Buffer.concat([Buffer.from('{"content":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const response = await fetch(`${server.baseUrl}/v1/chats/in/submit`, {
      method: "POST",
      headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
      body: bytes,
    });
    expect(response.status).toBe(422);
  });

  it("needs a registered chat, and is told how to register one", async () => {
    const answer = await server.submit("never heard of/it", "hi");
    expect(answer.status).toBe(404);
    expect(answer.body.detail).toContain("register");
  });

  it("takes chats with odd names", async () => {
    for (const jid of ["120363@g.us", "a/b?c#d", "ünï-✓", "x".repeat(255)]) {
      expect((await server.ask("POST", "/v1/chats", { jid })).status, jid).toBe(201);
      expect((await server.submit(jid, "hi")).status, jid).toBe(202);
      expect(await server.messages(jid), jid).toHaveLength(1);
    }
  });

  it("tells why a message was not answered", async () => {
    await server.ask("POST", "/v1/chats", {
      jid: "rules",
      read: ["slack:U1", "slack:UBOT"],
      allow: ["slack:U1"],
    });
    const said = async (content: string, metadata: Record<string, unknown>) => {
      const { body } = await server.submit("rules", content, metadata);
      return [body.admission, body.reason, (await server.outcome("rules", body.message_id)).outcome];
    };
    expect(await said("@longhand hi", { sender_id: "slack:U7" })).toEqual([
      "ignored",
      "sender_not_allowed",
      "ignored",
    ]);
    expect(await said("just talking", { sender_id: "slack:U1" })).toEqual([
      "ambient",
      "no trigger",
      "ambient",
    ]);
    expect(await said("@longhand", { sender_id: "slack:UBOT", sender_type: "bot" })).toEqual([
      "ignored",
      "bot",
      "ignored",
    ]);
    expect(await said("@longhand hi", { sender_id: "slack:U1", recipient_id: "bot:calc" })).toEqual([
      "ignored",
      "other_recipient",
      "ignored",
    ]);
    expect(await said("@longhand hi", { sender_id: "slack:U1", passive: true })).toEqual([
      "passive",
      "stored as overheard",
      "passive",
    ]);
    expect((await said("@Longhand: hi", { sender_id: "slack:U1" }))[2]).toBe("answered");
    expect((await said("hi", { sender_id: "slack:U1", recipient_id: "bot:longhand" }))[2]).toBe("answered");
  });
});

describe("who may ask", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await ServerProcess.start();
  });
  afterAll(() => server.dispose());

  const as = (token: string | null) => async (method: string, path: string, body?: unknown) =>
    (await server.ask(method, path, body, { authorization: token === null ? "" : `Bearer ${token}` })).status;
  const newToken = async (scopes: string[]) =>
    String((await server.ask("POST", "/v1/tokens", { name: "test", scopes })).body.token);

  it("needs a token for everything but the page and the health checks", async () => {
    const nobody = as(null);
    for (const path of ["/", "/healthz", "/readyz"]) expect(await nobody("GET", path), path).toBe(200);
    for (const path of ["/v1/chats", "/v1/events", "/openapi.json", "/v1/tokens", "/v1/calls/x"]) {
      expect(await nobody("GET", path), path).toBe(401);
      expect(await as("wrong-token-wrong-token")("GET", path), path).toBe(401);
    }
  });

  it("is held to the token's scopes", async () => {
    const slack = as(await newToken(["ingest:slack"]));
    const message = (source: string) => ({ content: "hi", msg_metadata: spoken({ source }) });
    expect(await slack("POST", "/v1/chats/home/submit", message("slack"))).toBe(202);
    expect(await slack("POST", "/v1/chats/home/submit", message("discord"))).toBe(403);
    expect(await slack("POST", "/v1/chats/home/inject", { ...message("slack"), role: "system" })).toBe(403);
    for (const path of ["/v1/chats", "/v1/chats/home/messages", "/v1/events", "/v1/tokens"])
      expect(await slack("GET", path), path).toBe(403);
    const reader = as(await newToken(["read"]));
    expect(await reader("GET", "/v1/chats/home/messages")).toBe(200);
    expect(await reader("POST", "/v1/chats/home/submit", message("slack"))).toBe(403);
    expect(await reader("POST", "/v1/chats/home/host", { content: "x" })).toBe(403);
    const operator = as(await newToken(["operate"]));
    expect(await operator("POST", "/v1/chats/home/host", { content: "x" })).toBe(201);
    expect(await operator("GET", "/v1/tokens")).toBe(403);
  });

  it("speaks for its own channel's people only", async () => {
    const slack = as(await newToken(["ingest:slack"]));
    const speak = (sender_id: string) => ({ content: "hi", msg_metadata: spoken({ sender_id }) });
    expect(await slack("POST", "/v1/chats/home/submit", speak("slack:U1"))).toBe(202);
    for (const other of ["web:owner", "tui-user", "discord:1"]) {
      expect(await slack("POST", "/v1/chats/home/submit", speak(other)), other).toBe(403);
    }
  });

  it("loses its access with its token", async () => {
    const { body } = await server.ask("POST", "/v1/tokens", { name: "short", scopes: ["read"] });
    const short = as(String(body.token));
    expect(await short("GET", "/v1/chats")).toBe(200);
    expect((await server.ask("DELETE", `/v1/tokens/${body.id}`)).status).toBe(204);
    expect(await short("GET", "/v1/chats")).toBe(401);
  });

  it("enters the page by a link that works once", async () => {
    const code = /#code=([\w-]+)/.exec(server.printed)?.[1];
    const first = await server.ask("POST", "/v1/login", { code }, { authorization: "" });
    expect(first.status).toBe(200);
    expect(await as(String(first.body.token))("GET", "/v1/chats")).toBe(200);
    expect((await server.ask("POST", "/v1/login", { code }, { authorization: "" })).status).toBe(401);
  });

  it("is not another site in somebody's browser", async () => {
    const { status } = await server.ask("GET", "/v1/chats", undefined, { origin: "https://evil.example" });
    expect(status).toBe(403);
    const rebound = await new Promise<number | undefined>((resolve) => {
      const headers = { host: "evil.example", authorization: `Bearer ${server.token}` };
      httpRequest({ host: "127.0.0.1", port: server.port, path: "/v1/chats", headers }, (response) =>
        resolve(response.statusCode),
      ).end();
    });
    expect(rebound).toBe(403);
  });
});
