import { describe, expect, test } from "vitest";
import { eventsOf, response, responseStream } from "../testing/openaiResponsesServer.js";
import type { Decoded, ModelDelta } from "./index.js";
import { model } from "./model.js";
import { openaiResponses } from "./openaiResponses.js";
import { sseReader } from "./sse.js";

const on = model({ api: "openai-responses", id: "gpt-5", baseUrl: "http://127.0.0.1:9/v1", window: 1000 });

type Item = Record<string, unknown>;
type Event = Item & { type: string };
type Read = Decoded & { deltas: ModelDelta[] };

function decode(stream: string): Read {
  const decoder = openaiResponses.decoder(on);
  const reader = sseReader();
  const events = [...reader.push(new TextEncoder().encode(stream)), ...reader.end()];
  const deltas = events.flatMap(({ data, event }) => decoder.push(data, event));
  const decoded = decoder.end();
  // What was said while it streamed is what the answer holds, part by part.
  decoded.contents.forEach((content, part) => {
    if (content.type === "tool_call") return;
    const said = deltas.flatMap((one) => (one.type !== "tool_call" && one.part === part ? [one.delta] : []));
    expect(said.join("")).toBe(content.content);
  });
  return { ...decoded, deltas };
}
const answer = (...events: Event[]): Read => decode(responseStream(events));
const plain = ({ contents }: Decoded): Item[] => contents.map(({ native: _, ...content }) => content);

const message = (id: string, text: string, more: Item = {}): Item => ({
  type: "message",
  id,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});
const called = (id: string, args: unknown): Item => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name: "look",
  arguments: args,
});
const completed = (output: Item[] = [], more: Item = {}): Event => ({
  type: "response.completed",
  response: response(output, more),
});
const delta = (text: string, more: Item = {}): Event => ({
  type: "response.output_text.delta",
  delta: text,
  ...more,
});
const thinking = (text: string, more: Item = {}): Event => ({
  type: "response.reasoning_text.delta",
  delta: text,
  ...more,
});
const ok = { stopReason: "stop", contents: [{ type: "text", content: "Hello there" }] };

describe("an answer is read however a server streams it:", () => {
  const whole = message("msg_1", "Hello there");
  const streams: Record<string, Event[]> = {
    "as OpenAI does": eventsOf([whole]),
    "without numbers and ids": [delta("Hello"), delta(" there"), completed()],
    "with the text in the last event alone": [completed([whole])],
    "with items that come whole": [{ type: "response.output_item.done", item: whole }, completed()],
    "without items in the last event": [...eventsOf([whole]).slice(0, -1), completed()],
    "with another id in every event": eventsOf([whole]).map((event, at) => ({
      ...event,
      ...(event.item_id ? { item_id: `x${at}` } : {}),
      ...(event.item ? { item: { ...whole, id: `y${at}` } } : {}),
    })),
    "with pieces lost that the whole text has": [
      delta("Hello", { output_index: 0 }),
      { type: "response.output_text.done", output_index: 0, text: "Hello there" },
      completed(),
    ],
    "with events and fields nobody knows": [
      { type: "response.created" },
      { type: "keepalive" },
      { type: "response.rocket.launched", output_index: 0, error: { message: "of a tool" } },
      { type: "response.output_item.added", output_index: 0, item: null },
      delta("Hello there", { obfuscation: "xxxx", output_index: 0 }),
      { type: "response.output_text.annotation.added", output_index: 0, annotation: {} },
      completed([], { service_tier: "new" }),
    ],
    "with an old server's last event": [delta("Hello there"), { type: "response.done", response: {} }],
    "with more after the last event": [
      ...eventsOf([whole]),
      delta("again"),
      { type: "error", message: "late" },
    ],
  };
  test.each(Object.entries(streams))("%s", (_, events) => {
    const got = decode(responseStream(events));
    expect({ stopReason: got.stopReason, contents: plain(got) }).toEqual(ok);
  });

  test("with CRLF, comments, no event names and [DONE]", () => {
    const bare = responseStream(eventsOf([whole]), "\r\n").replace(/^event: .*\r\n/gm, ": hi\r\n");
    expect(plain(decode(`${bare}data: [DONE]\r\n\r\n`))).toEqual(ok.contents);
  });

  test("with the type in the event's name alone", () => {
    const stream =
      'event: response.output_text.delta\ndata: {"delta":"Hello there"}\n\nevent: response.completed\ndata: {}\n\n';
    expect(decode(stream)).toMatchObject({ stopReason: "stop", contents: [{ content: "Hello there" }] });
  });
});

describe("thinking", () => {
  const reasoning = (more: Item): Item => ({ type: "reasoning", id: "rs_1", summary: [], ...more });

  test("keeps what is encrypted as it was in the end, and the item it belongs to", () => {
    const item = reasoning({
      summary: [{ type: "summary_text", text: "Hm." }],
      encrypted_content: "final",
      content: [],
      status: "completed",
    });
    const { contents } = decode(
      responseStream(eventsOf([item, message("msg_1", "Hi", { phase: "final_answer" })])),
    );
    expect(contents).toEqual([
      {
        type: "thinking",
        content: "Hm.",
        signature: "final",
        native: {
          api: "openai-responses",
          data: {
            at: 0,
            item: { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
          },
        },
      },
      {
        type: "text",
        content: "Hi",
        native: { api: "openai-responses", data: { at: 1, id: "msg_1", phase: "final_answer" } },
      },
    ]);
  });

  test("that is encrypted in the last event alone is kept", () => {
    const events = eventsOf([reasoning({}), message("msg_1", "Hi")]).slice(0, -1);
    const got = decode(responseStream([...events, completed([reasoning({ encrypted_content: "late" })])]));
    expect(got.contents[0]).toMatchObject({ type: "thinking", signature: "late" });
  });

  test("that nobody may read, and that cannot go back, is no part of the answer", () => {
    const added = { type: "response.output_item.added", output_index: 0, item: reasoning({}) };
    const got = answer(added, delta("Hi", { output_index: 1 }), completed());
    expect(plain(got)).toEqual([{ type: "text", content: "Hi" }]);
  });

  test("in the open, as other servers send it, is read and kept", () => {
    const item = reasoning({ content: [{ type: "reasoning_text", text: "Let me see." }] });
    const got = answer(
      { type: "response.output_item.added", output_index: 0, item: reasoning({}) },
      thinking("Let me", { output_index: 0 }),
      thinking(" see.", { output_index: 0 }),
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "the same, told again" },
      { type: "response.output_item.done", output_index: 0, item },
      delta("Hi", { output_index: 1 }),
      completed(),
    );
    expect(plain(got)).toEqual([
      { type: "thinking", content: "Let me see.", signature: "" },
      { type: "text", content: "Hi" },
    ]);
    expect(got.contents[0]?.native?.data).toMatchObject({ item: { content: item.content } });
  });
});

describe("tool calls", () => {
  const two = [
    { type: "tool_call", id: "call_a", name: "look", args: { at: 1 } },
    { type: "tool_call", id: "call_b", name: "look", args: {} },
  ];
  const output = [called("a", '{"at":1}'), called("b", "")];
  const streams: Record<string, Event[]> = {
    "as OpenAI streams them": eventsOf(output),
    "all numbered 0": eventsOf(output).map((event) =>
      "output_index" in event ? { ...event, output_index: 0 } : event,
    ),
    "without numbers": eventsOf(output).map(({ output_index: _, ...event }) => event),
    "in items that come whole": [
      ...output.map((item) => ({ type: "response.output_item.done", item })),
      completed(),
    ],
    "in the last event alone": [completed(output)],
    "with arguments that are an object": [completed([called("a", { at: 1 }), called("b", null)])],
    interleaved: [
      ...output.map((item, output_index) => ({
        type: "response.output_item.added",
        output_index,
        item: { ...item, arguments: "" },
      })),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"at"' },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: ":1}" },
      completed(),
    ],
  };
  test.each(Object.entries(streams))("%s are gathered", (_, events) => {
    const got = decode(responseStream(events));
    expect(plain(got)).toEqual(two);
    expect(got.stopReason).toBe("tool_use");
  });

  test("stand after the text, whenever it came, and keep their place", () => {
    const got = decode(responseStream(eventsOf([called("a", "{}"), message("msg_1", "Now.")])));
    expect(got.contents.map(({ type, native }) => [type, native?.data])).toEqual([
      ["text", { at: 1, id: "msg_1" }],
      ["tool_call", { at: 0, id: "fc_a" }],
    ]);
  });

  test("with arguments that cannot be read have none, and say so", () => {
    const [call] = answer(completed([called("a", '{"path":"/home/us')])).contents;
    expect(call).toMatchObject({
      args: {},
      native: { data: { rawArguments: '{"path":"/home/us', unparsed: true } },
    });
    const [mended] = answer(completed([called("a", '{"a":true')])).contents;
    expect(mended).toMatchObject({ args: { a: true }, native: { data: { repaired: true } } });
  });

  test("of an answer that broke off, or was refused, are no part of it", () => {
    const events = eventsOf([message("msg_1", "I look"), called("a", "{}")]);
    expect(plain(decode(responseStream(events.slice(0, -1))))).toEqual([{ type: "text", content: "I look" }]);
    const filtered = { status: "incomplete", incomplete_details: { reason: "content_filter" } };
    expect(answer(completed([called("a", "{}")], filtered)).contents).toEqual([]);
  });

  test("of 50 KB in 4,000 pieces are joined, and read, once", () => {
    const json = JSON.stringify({ value: "x".repeat(50_000) });
    const pieces = Array.from({ length: 4000 }, (_, at) => json.slice(at * 13, (at + 1) * 13));
    const got = answer(
      { type: "response.output_item.added", output_index: 0, item: { ...called("a", "") } },
      ...pieces.map((piece) => ({
        type: "response.function_call_arguments.delta",
        output_index: 0,
        delta: piece,
      })),
      completed(),
    );
    expect(plain(got)).toMatchObject([{ args: { value: "x".repeat(50_000) } }]);
  });
});

describe("how an answer ended", () => {
  const incomplete = (reason: unknown): Item => ({ status: "incomplete", incomplete_details: { reason } });
  test.each<[string, Item, Item]>([
    ["in time", {}, { stopReason: "stop" }],
    ["too long", incomplete("max_output_tokens"), { stopReason: "length" }],
    ["filtered", incomplete("content_filter"), { stopReason: "refusal", errorKind: "refusal" }],
    [
      "for a reason we do not know",
      incomplete("solar_flare"),
      { stopReason: "error", errorKind: "unknown", error: expect.stringContaining("solar_flare") },
    ],
    ["for no reason", { status: "incomplete" }, { stopReason: "error", errorKind: "unknown" }],
    [
      "with a status we do not know",
      { status: "paused" },
      { stopReason: "error", errorKind: "unknown", error: expect.stringContaining("paused") },
    ],
    ["cancelled", { status: "cancelled" }, { stopReason: "error", errorKind: "unknown" }],
    ["not at all", { status: "in_progress" }, { stopReason: "error", errorKind: "cut" }],
    ["with a window that is too small", { usage: { input_tokens: 1001 } }, { errorKind: "overflow" }],
    ...(
      [
        ["server_error", "overloaded"],
        ["rate_limit_exceeded", "rate_limit"],
        ["context_length_exceeded", "overflow"],
        ["insufficient_quota", "quota"],
        ["invalid_prompt", "invalid_request"],
        ["invalid_image_url", "invalid_request"],
        ["failed_to_download_image", "invalid_request"],
        ["image_content_policy_violation", "refusal"],
        ["bio_policy", "refusal"],
        ["vector_store_timeout", "timeout"],
        ["something_new", "unknown"],
      ] as const
    ).map(([code, errorKind]): [string, Item, Item] => [
      code,
      { status: "failed", error: { code, message: "No." } },
      { stopReason: "error", errorKind, error: "No." },
    ]),
  ])("%s", (_, more, expected) => {
    const [text] = [message("msg_1", "Hi")];
    expect(answer(completed([text], more))).toMatchObject({ ...expected, contents: [{ content: "Hi" }] });
    const whole = openaiResponses.decodeWhole(on, 200, JSON.stringify(response([text], more)));
    expect(whole).toMatchObject({ ...expected, contents: [{ content: "Hi" }] });
  });

  test.each<[string, string, string]>([
    [
      "flat",
      '{"type":"error","code":"rate_limit_exceeded","message":"Slow down.","param":null}',
      "rate_limit",
    ],
    [
      "nested",
      '{"type":"error","error":{"type":"server_error","code":null,"message":"Slow down."}}',
      "overloaded",
    ],
    ["of a server in between", '{"error":{"message":"Slow down.","code":502}}', "overloaded"],
    ["too long", '{"type":"error","code":"context_length_exceeded","message":"Slow down."}', "overflow"],
  ])("by an error in the stream, %s", (_, event, errorKind) => {
    const got = decode(`${responseStream([delta("Hi")])}data: ${event}\n\n`);
    expect(got).toMatchObject({
      stopReason: "error",
      errorKind,
      error: expect.stringContaining("Slow down."),
      contents: [{ content: "Hi" }],
    });
  });

  test("without its last event, or with one that cannot be read, it was cut", () => {
    expect(answer(delta("Hi"))).toMatchObject({ stopReason: "error", errorKind: "cut" });
    const torn = 'data: {"type":"response.out\n\n';
    expect(decode(torn)).toMatchObject({ errorKind: "cut" });
    expect(decode(torn + responseStream([delta("Hi"), completed()]))).toMatchObject({ errorKind: "cut" });
    expect(decode("")).toMatchObject({ errorKind: "cut", contents: [] });
  });

  test("by something that is no answer at all", () => {
    const read = (body: string): Decoded => openaiResponses.decodeWhole(on, 200, body);
    expect(read('{"error":{"message":"no","code":"rate_limit_exceeded"}}')).toMatchObject({
      errorKind: "rate_limit",
    });
    expect(read("<html>hello</html>")).toMatchObject({
      errorKind: "unknown",
      error: expect.stringContaining("hello"),
    });
    expect(read('{"object":"respo')).toMatchObject({ errorKind: "cut" });
    expect(read("")).toMatchObject({ errorKind: "cut" });
  });
});

test("tokens are counted once each, and never less than none", () => {
  const used = (usage: unknown): Decoded["usage"] => answer(completed([], { usage })).usage;
  expect(
    used({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 15 },
    }),
  ).toEqual({
    inputTokens: 10,
    cacheReadTokens: 60,
    cacheWriteTokens: 30,
    outputTokens: 20,
    reasoningTokens: 15,
    cost: null,
  });
  expect(used({ input_tokens: 10, input_tokens_details: { cached_tokens: 60 } })).toMatchObject({
    inputTokens: 0,
    cacheReadTokens: 10,
    outputTokens: 0,
  });
  expect(used(null)).toMatchObject({ inputTokens: 0, outputTokens: 0 });
});
