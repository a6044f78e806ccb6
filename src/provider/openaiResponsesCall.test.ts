import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AssistantMessage, ToolMessage, ToolResultContent, UserMessage } from "../message/index.js";
import {
  eventsOf,
  type OpenaiResponsesServer,
  REFUSALS,
  response,
  responseStream,
  startOpenaiResponsesServer,
} from "../testing/openaiResponsesServer.js";
import type { ServerScript } from "../testing/scriptedServer.js";
import { type CallOptions, call } from "./call.js";
import type { Model, ModelEvent, ModelRequest } from "./codec.js";
import { model } from "./model.js";

/** Odd, so that streams that end early and connections that break take turns. */
const EVERY = process.env.LONGHAND_LONG ? 1 : 9;
const KEY = "sk-canary-0123456789";
const request: ModelRequest = {
  system: "Be kind.",
  messages: [UserMessage.text("[Ann]: grüße 🎈 \ud800", { id: "m1" })],
  tools: [{ name: "files.read", description: "", parameters: { type: "object" } }],
};

let server: OpenaiResponsesServer;
let on: Model;
beforeAll(async () => {
  server = await startOpenaiResponsesServer({ reasons: true, plainReasoning: true });
  on = model({ api: "openai-responses", id: "gpt-5", baseUrl: server.baseUrl, apiKey: KEY });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

type Heard = { events: ModelEvent[]; message: AssistantMessage; retryAfterMs: number | null };

async function listen(stream: AsyncIterable<ModelEvent>): Promise<Heard> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const done = events.at(-1);
  if (done?.type !== "done") throw new Error("the stream did not end with done");
  expect(JSON.stringify(events)).not.toContain(KEY);
  return { events, message: done.message, retryAfterMs: done.retryAfterMs };
}
function ask(script: ServerScript, options: CallOptions = {}): Promise<Heard> {
  server.script = script;
  return listen(call(on, request, options));
}

type Item = Record<string, unknown>;
const reasoning: Item = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hmm ☃" }],
  encrypted_content: "gAAAA-blob",
};
const said: Item = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Grüße 🎈, ich schaue.", annotations: [] }],
};
const called: Item = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "files_read_3c1a",
  arguments: '{"at":"☃"}',
};

test("exactly our bytes arrive, with the key in the headers alone", async () => {
  const { message } = await ask({ body: responseStream(eventsOf([said])), writeSize: 7 });
  const [got] = server.requests;
  expect(got?.url).toBe("/v1/responses");
  expect(got?.headers.authorization).toBe(`Bearer ${KEY}`);
  expect(got?.body.toString()).not.toContain(KEY);
  expect(JSON.parse(String(got?.body))).toMatchObject({
    store: false,
    stream: true,
    instructions: "Be kind.",
  });
  expect(message).toMatchObject({
    stopReason: "stop",
    api: "openai-responses",
    contents: [{ type: "text" }],
  });
});

test("what the model thought goes back to it word for word with the result of its tool", async () => {
  const tool = String(JSON.parse(String(await bodyOf(request))).tools[0].name);
  const first = { ...called, name: tool };
  const { message } = await ask({ body: responseStream(eventsOf([reasoning, said, first])) });
  expect(message.contents.at(-1)).toMatchObject({ type: "tool_call", name: "files.read", args: { at: "☃" } });
  const stored: AssistantMessage = JSON.parse(JSON.stringify(message));
  const result = ToolMessage.fromResult(ToolResultContent.of("call_1", "done"));
  const next = await bodyOf({ ...request, messages: [...request.messages, stored, result] });
  const { input } = JSON.parse(next);
  expect(input.slice(1)).toEqual([
    reasoning,
    said,
    first,
    { type: "function_call_output", call_id: "call_1", output: "done" },
  ]);
  expect(server.requests).toHaveLength(3);
});

async function bodyOf(asked: ModelRequest): Promise<string> {
  const { message } = await listen(call(on, asked));
  expect(message).toMatchObject({ stopReason: expect.not.stringMatching("error") });
  return String(server.requests.at(-1)?.body);
}

test.each([
  ["a wrong key", REFUSALS.wrongKey, "auth", null],
  ["no money left", REFUSALS.quota, "quota", null],
  ["too many requests", REFUSALS.rateLimit, "rate_limit", 7000],
  ["a conversation that is too long", REFUSALS.overflow, "overflow", null],
  ["a model that is none", REFUSALS.noModel, "invalid_request", null],
  ["a server that is full", REFUSALS.overloaded, "overloaded", null],
])("%s is told as what it is", async (_, script, errorKind, wait) => {
  const { message, retryAfterMs } = await ask(script);
  expect(message).toMatchObject({ stopReason: "error", errorKind, contents: [] });
  expect(message.error).toContain(`HTTP ${script.status}`);
  expect(retryAfterMs).toBe(wait);
});

test("a server that falls silent, and a person who stops it, end the answer with what had come", async () => {
  const body = responseStream(eventsOf([said]));
  const cutAt = body.indexOf("response.output_text.done") - 10;
  const silent = await ask({ body, cutAt, ending: "silence" }, { timeouts: { idleMs: 50 } });
  expect(silent.message).toMatchObject({ stopReason: "error", errorKind: "timeout" });
  expect(silent.message.contents).toMatchObject([{ type: "text" }]);
  const controller = new AbortController();
  server.script = { body, cutAt, ending: "silence" };
  const events: ModelEvent[] = [];
  for await (const event of call(on, request, { signal: controller.signal })) {
    events.push(event);
    if (event.type === "text") controller.abort();
  }
  expect(events.at(-1)).toMatchObject({ message: { stopReason: "aborted", contents: [{ type: "text" }] } });
});

describe("a stream cut at any byte", () => {
  const streams: Record<string, string> = {
    text: responseStream(eventsOf([said])),
    "thinking, text and tools": responseStream(eventsOf([reasoning, said, called])),
    "a tool before text, CRLF": responseStream(eventsOf([called, said]), "\r\n"),
    "a failure inside": responseStream(
      eventsOf([said], { status: "failed", error: { code: "server_error", message: "No." } }),
    ),
    "one piece": JSON.stringify(response([reasoning, said])),
  };

  /** What may be left: a beginning of the whole answer, and either all of it or a failure that says so. */
  function checkPartial({ message, events }: Heard, whole: AssistantMessage): void {
    message.contents.forEach((content, at) => {
      const full = whole.contents[at];
      expect(full?.type).toBe(content.type);
      if (content.type !== "tool_call" && full && full.type !== "tool_call")
        expect(full.content.startsWith(content.content)).toBe(true);
    });
    for (const type of ["text", "thinking"] as const) {
      const kept = message.contents.flatMap((one) => (one.type === type ? [one.content] : []));
      expect(events.flatMap((event) => (event.type === type ? [event.delta] : [])).join("")).toBe(
        kept.join(""),
      );
    }
    if (message.stopReason === "error") {
      expect(["cut", whole.errorKind]).toContain(message.errorKind);
      expect(message.contents.some((content) => content.type === "tool_call")).toBe(false);
    } else expect(message.contents).toEqual(whole.contents);
  }

  test.each(Object.entries(streams))("leaves valid text, marked: %s", async (_, stream) => {
    const bytes = Buffer.from(stream);
    const cut = (at: number, broken: boolean): Promise<Heard> => {
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let from = 0; from < at; from += 97)
            controller.enqueue(bytes.subarray(from, Math.min(at, from + 97)));
          if (!broken) controller.close();
        },
        pull: (controller) => controller.error(new Error("reset")),
      });
      return listen(
        call(on, request, { fetch: async () => new Response(source), now: () => 1, newId: () => "x" }),
      );
    };
    const whole = (await cut(bytes.length, false)).message;
    let partials = 0;
    for (let at = 0; at < bytes.length; at += EVERY) {
      const heard = await cut(at, at % 2 === 1);
      checkPartial(heard, whole);
      if (heard.message.stopReason === "error") partials++;
    }
    expect(partials).toBeGreaterThan(bytes.length / EVERY / 4);
  });

  test("over a real connection, then answers whole when asked again", async () => {
    const body = responseStream(eventsOf([said]));
    const whole = (await ask({ body })).message;
    for (let at = 0; at < Buffer.byteLength(body); at += 211) {
      checkPartial(await ask({ body, cutAt: at, ending: at % 2 === 0 ? "reset" : "end" }), whole);
      expect((await ask({ body })).message.contents).toEqual(whole.contents);
    }
  });
});
