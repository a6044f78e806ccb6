import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { AssistantMessage, ToolMessage, ToolResultContent, UserMessage } from "../message/index.js";
import { CALL_CASES } from "../testing/callCases.js";
import { type Heard, hear, wordsOf } from "../testing/heardCall.js";
import type { ModelServer } from "../testing/modelServer.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call, encode, send } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

const KEY = "sk-canary-0123456789";
const TEXT = "Grüße 🎈 aus der Küche";
const PIECES = ["Grü", "ße 🎈", " aus der Küche"];
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files/read", description: "", parameters: { type: "object" } }],
};

describe.each(CALL_CASES)("$api", (api) => {
  let server: ModelServer;
  let on: Model;
  beforeAll(async () => {
    server = await api.start({ apiKey: KEY });
    on = model({ api: api.api, id: api.id, baseUrl: server.baseUrl, apiKey: KEY });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    server.requests.length = 0;
    server.upcoming.length = 0;
  });

  async function ask(script: ServerScript | null, options: CallOptions = {}): Promise<Heard> {
    if (script) server.next({ do: "send", script });
    const heard = await hear(call(on, request, options));
    expect(JSON.stringify(heard.events)).not.toContain(KEY);
    return heard;
  }

  describe("a call", () => {
    test("sends exactly the bytes that were encoded, the key in a header and nowhere else", async () => {
      const encoded = encode(on, request);
      await hear(send(on, encoded));
      const [received] = server.requests;
      expect(received?.body.equals(Buffer.from(encoded.body, "utf8"))).toBe(true);
      expect(encoded.blocks.map((block) => block.text).join("")).toBe(encoded.body);
      expect(received?.headers[api.keyHeader]).toBe(api.keyIn(KEY));
      expect(encoded.body + encoded.url).not.toContain(KEY);
      expect(encode({ ...on, apiKey: null }, request).headers).not.toHaveProperty(api.keyHeader);
    });

    test("streams, and ends with the whole answer, stamped by the clock that was handed in", async () => {
      const { events, message } = await ask(
        { body: api.says(...PIECES), writeSize: 7 },
        { now: () => 1234, newId: () => "id-1" },
      );
      expect(wordsOf(events)).toBe(TEXT);
      expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
      expect(message).toMatchObject({
        role: "assistant",
        id: "id-1",
        timestamp: 1234,
        contents: [{ type: "text", content: TEXT }],
        stopReason: "stop",
        provider: on.provider,
        api: api.api,
        model: api.id,
      });
      expect(message.usage.inputTokens).toBeGreaterThan(0);
      expect(message).not.toHaveProperty("error");
    });

    test("gives tool calls their true names and every one an id of its own", async () => {
      const [wireName = ""] = Object.keys(encode(on, request).renamedTools);
      const { events, message } = await ask({ body: api.calls(3, wireName) });
      const calls = AssistantMessage.toolCalls(message);
      expect(calls.map(({ name }) => name)).toEqual(["files/read", "files/read", "files/read"]);
      expect(new Set(calls.map(({ id }) => id).filter(Boolean)).size).toBe(3);
      const told = events.flatMap((event) => (event.type === "tool_call" ? [event.id] : []));
      expect(told).toEqual(calls.map(({ id }) => id));
      expect(message.stopReason).toBe("tool_use");
    });

    test("takes the model's own thinking and calls back to it, with the results, after they were stored", async () => {
      const { message } = await ask({ body: api.streams["thinking and tools"] ?? "" });
      const stored: AssistantMessage = JSON.parse(JSON.stringify(message));
      const results = AssistantMessage.toolCalls(stored).map(({ id }) => ToolResultContent.of(id, "done"));
      expect(results.length).toBeGreaterThan(0);
      const messages = [...request.messages, stored, ToolMessage.fromResults(results)];
      const next = await hear(call(on, { ...request, messages }));
      expect(next.message).toMatchObject({ stopReason: "stop" });
      const sent = String(server.requests.at(-1)?.body);
      for (const content of stored.contents)
        if (content.type === "thinking" && content.signature !== "")
          expect(sent).toContain(content.signature);
      expect(sent).toContain("☃🎈");
    });

    test("hears a server that does not stream, and one that does, whatever they call their answer", async () => {
      for (const type of [
        "application/json",
        "text/event-stream",
        "text/plain",
        "application/octet-stream",
      ]) {
        for (const body of [`\n ${api.whole(TEXT)}`, api.says(TEXT)]) {
          const { events, message } = await ask({ body, headers: { "content-type": type } });
          expect(wordsOf(events)).toBe(TEXT);
          expect(message.stopReason).toBe("stop");
        }
      }
    });
  });

  describe("a server that stalls", () => {
    const halfway = (): ServerScript => ({ body: api.says(...PIECES), cutAt: afterFirstWords() });
    /** Right behind the first words, wherever they stand. */
    function afterFirstWords(): number {
      return Buffer.from(api.says(...PIECES)).indexOf("ße");
    }

    test("before its first byte, or between two, times out, and what came is kept", async () => {
      const mute = await ask({ body: "", mute: true }, { timeouts: { firstByteMs: 40 } });
      expect(mute.message).toMatchObject({ stopReason: "error", errorKind: "timeout", contents: [] });
      expect(mute.message.error).toBe("the server sent nothing for 0.04 s");
      const headersOnly: ServerScript = { body: "", ending: "silence" };
      const silent = await ask(headersOnly, { timeouts: { firstByteMs: 40 } });
      expect(silent.message).toMatchObject({ errorKind: "timeout", contents: [] });
      const midway = await ask({ ...halfway(), ending: "silence" }, { timeouts: { idleMs: 40 } });
      expect(midway.message).toMatchObject({
        errorKind: "timeout",
        error: "the server went silent for 0.04 s",
        contents: [{ type: "text", content: expect.stringMatching(/^Grü/) }],
      });
    });

    test("is hung up on", async () => {
      const before = server.hangUps;
      await ask({ ...halfway(), ending: "silence" }, { timeouts: { idleMs: 30 } });
      await vi.waitFor(() => expect(server.hangUps).toBe(before + 1));
    });

    test("is hung up on at once by a person who stops the answer, and what came is kept", async () => {
      const before = server.hangUps;
      const stopping = new AbortController();
      server.next({ do: "send", script: { ...halfway(), ending: "silence" } });
      const heard = hear(
        (async function* () {
          for await (const event of call(on, request, { signal: stopping.signal })) {
            yield event;
            if (event.type === "text") stopping.abort();
          }
        })(),
      );
      const { message } = await heard;
      expect(message).toMatchObject({ stopReason: "aborted", contents: [{ type: "text" }] });
      expect(message).not.toHaveProperty("error");
      await vi.waitFor(() => expect(server.hangUps).toBe(before + 1));
    });

    test("is hung up on by a person who stops it before its first byte, and by a reader who walks away", async () => {
      const before = server.hangUps;
      const waiting = new AbortController();
      const asked = ask({ body: "", mute: true }, { signal: waiting.signal });
      await vi.waitFor(() => expect(server.requests).toHaveLength(1));
      waiting.abort();
      expect((await asked).message).toMatchObject({ stopReason: "aborted", contents: [] });
      await vi.waitFor(() => expect(server.hangUps).toBe(before + 1));
      server.next({ do: "send", script: { ...halfway(), ending: "silence" } });
      for await (const event of call(on, request)) if (event.type === "text") break;
      await vi.waitFor(() => expect(server.hangUps).toBe(before + 2));
    });

    test("is not asked at all when the answer was stopped before", async () => {
      const { message } = await ask(null, { signal: AbortSignal.abort() });
      expect(message).toMatchObject({ stopReason: "aborted", contents: [] });
      expect(server.requests).toHaveLength(0);
    });
  });

  describe("an answer that is none", () => {
    test.each([
      [200, "", "cut", "broke off"],
      [204, "", "cut", "broke off"],
      [200, "<html><body><h1>Please log in</h1></body></html>", "unknown", "Please log in"],
      [200, '"Hello"', "cut", "broke off"],
      [200, '{"hello":"world"}', "unknown", "no reason"],
      [404, "<html><h1>404 Not Found</h1><p>nginx</p></html>", "invalid_request", "404 Not Found nginx"],
      [403, "<html><h1>403 Forbidden</h1></html>", "auth", "403 Forbidden"],
      [413, "<html><h1>413 Request Entity Too Large</h1></html>", "overflow", "413"],
      [429, "", "rate_limit", "no reason"],
      [502, "<html><script>x()</script><h1>502 Bad\nGateway</h1></html>", "overloaded", "502 Bad Gateway"],
      [503, "", "overloaded", "no reason"],
      [504, "upstream request timeout", "overloaded", "upstream"],
      [524, "error code: 524", "overloaded", "524"],
    ])("%i %j is of the kind %s", async (status, body, errorKind, words) => {
      const { message } = await ask({ status, body, headers: { "content-type": "text/html" } });
      expect(message).toMatchObject({ stopReason: "error", errorKind, contents: [] });
      expect(message.error).toContain(words);
    });

    test("a redirect is not followed", async () => {
      const headers = { location: `${server.origin}/elsewhere` };
      const { message } = await ask({ status: 307, headers, body: "" });
      expect(message).toMatchObject({ errorKind: "invalid_request" });
      expect(message.error).toContain("redirects");
      expect(server.requests).toHaveLength(1);
    });

    test("more than any answer has keeps a part that has an end, and runs no tool", async () => {
      const pieces = Array.from({ length: 80 }, () => "x".repeat(64 * 1024));
      const long = await ask({ body: api.says(...pieces) });
      expect(long.message).toMatchObject({
        stopReason: "error",
        error: "the answer has more than 4194304 characters",
      });
      expect(wordsOf(long.events).length).toBeLessThan(5.3 * 1024 * 1024);
      expect(AssistantMessage.textContent(long.message).length).toBeLessThanOrEqual(4 * 1024 * 1024);
      const many = await ask({ body: api.calls(1001, "look") });
      expect(many.message).toMatchObject({
        stopReason: "error",
        error: "the answer asks for 1001 tools",
        contents: [],
      });
    });

    test("an error page of any size is told in a few words", async () => {
      const body = `<html>${"<p>very long</p>".repeat(200_000)}</html>`;
      const { message } = await ask({ status: 500, body });
      expect(message.errorKind).toBe("overloaded");
      expect(message.error?.length).toBeLessThanOrEqual(2000);
    });

    test("the key that a server echoes is not kept", async () => {
      const body = JSON.stringify({ error: { message: `Bearer ${KEY} says no.` } });
      expect((await ask({ status: 418, body })).message.error).toContain("Bearer [key] says no.");
    });
  });

  test("an error inside a stream keeps what came, and is of its kind, also when the connection breaks", async () => {
    for (const [body, errorKind] of api.failing) {
      for (const ending of ["end", "reset"] as const) {
        const { message } = await ask({ body, ending });
        expect(message, String(body)).toMatchObject({
          stopReason: "error",
          errorKind,
          contents: [{ type: "text", content: "Hi" }],
        });
      }
    }
  });

  test("a rule that was broken is named", async () => {
    const encoded = encode(on, request);
    const body = encoded.body.replace('"role":"user"', '"role":"nobody"');
    const { message } = await hear(send(on, { ...encoded, body }));
    expect(message).toMatchObject({
      errorKind: "invalid_request",
      error: expect.stringMatching(/role|nobody/),
    });
  });

  test.each([
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "1.5" }, 1500],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:10 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" }, 10_000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", date: "Wed, 21 Oct 2026 07:28:00 GMT" }, 0],
    [{ "retry-after": "soon" }, null],
    [{}, null],
  ])("too many requests are told with the wait: %j", async (headers, expected) => {
    for (const status of [429, 503]) {
      const { retryAfterMs } = await ask({ status, headers, body: "{}" });
      expect(retryAfterMs).toBe(expected);
    }
    expect((await ask({ body: api.says(TEXT), headers })).retryAfterMs).toBeNull();
  });
});

describe("a server that cannot be reached", () => {
  const elsewhere = (baseUrl: string): Model => model({ api: "openai-chat", id: "x", baseUrl, apiKey: KEY });

  test("because nobody listens is a network failure", async () => {
    const gone = await CALL_CASES[1]?.start();
    await gone?.close();
    const { message } = await hear(call(elsewhere(String(gone?.baseUrl)), request));
    expect(message).toMatchObject({ stopReason: "error", errorKind: "network" });
    expect(message.error).toContain("ECONNREFUSED");
  });

  test("because it takes no connection in times out", async () => {
    const port = await deafPort();
    const { message } = await hear(
      call(elsewhere(`http://127.0.0.1:${port}/v1`), request, { timeouts: { firstByteMs: 150 } }),
    );
    expect(message).toMatchObject({ stopReason: "error", errorKind: "timeout", contents: [] });
  });

  test("because fetch gave up on connecting is a timeout too", async () => {
    const cause = Object.assign(new Error("Connect Timeout Error"), { code: "UND_ERR_CONNECT_TIMEOUT" });
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }));
    const { message } = await hear(call(elsewhere("http://127.0.0.1:9/v1"), request, { fetch }));
    expect(message).toMatchObject({
      errorKind: "timeout",
      error: "could not reach the server: Connect Timeout Error",
    });
  });

  const opened: { kill(): void }[] = [];
  afterAll(() => {
    for (const one of opened) one.kill();
  });

  /** A port whose owner is stopped and whose queue is full: whoever connects to it waits. */
  async function deafPort(): Promise<number> {
    const listen =
      "require('net').createServer().listen(0, '127.0.0.1', 1, function () { console.log(this.address().port) })";
    const owner = spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "pipe", "inherit"] });
    opened.push({ kill: () => owner.kill("SIGKILL") });
    const [line] = await once(owner.stdout, "data");
    const port = Number(String(line));
    owner.kill("SIGSTOP");
    for (let at = 0; at < 4; at++) {
      const socket: Socket = connect(port, "127.0.0.1").on("error", () => {});
      opened.push({ kill: () => socket.destroy() });
    }
    return port;
  }
});

describe("a network that does not listen to signals", () => {
  const on = model({ api: "openai-chat", id: "x", baseUrl: "http://127.0.0.1:9/v1" });

  test("does not keep an answer from being stopped", async () => {
    const [deaf, stuck] = [new AbortController(), new AbortController()];
    const never = (): Promise<Response> => new Promise(() => setTimeout(() => deaf.abort(), 5));
    const waiting = await hear(call(on, request, { signal: deaf.signal, fetch: never }));
    const silent = async (): Promise<Response> =>
      new Response(new ReadableStream({ start: () => void setTimeout(() => stuck.abort(), 5) }));
    const reading = await hear(call(on, request, { signal: stuck.signal, fetch: silent }));
    expect([waiting, reading].map(({ message }) => message.stopReason)).toEqual(["aborted", "aborted"]);
  });

  test("runs no tool of an answer that was stopped at its very end", async () => {
    const stopping = new AbortController();
    const chat = CALL_CASES.find(({ api }) => api === "openai-chat");
    const body = `${String(chat?.says("I look")).split("\n\n")[0]}\n\n${chat?.calls(1, "x")}`;
    const fetch = async (): Promise<Response> => new Response(body);
    const events: ModelEvent[] = [];
    for await (const event of call(on, request, { signal: stopping.signal, fetch })) {
      events.push(event);
      if (event.type === "text") stopping.abort();
    }
    expect(events.map((event) => event.type)).toEqual(["text", "done"]);
    expect(events.at(-1)).toMatchObject({
      message: { stopReason: "aborted", contents: [{ content: "I look" }] },
    });
  });
});
