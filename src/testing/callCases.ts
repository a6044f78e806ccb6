import type { Api } from "../provider/codec.js";
import {
  anthropicStream,
  block,
  callBlock,
  messageEnd,
  messageStart,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "./anthropicServer.js";
import {
  begins,
  type ConverseEvent,
  converseStream,
  ends,
  frame,
  redacted,
  signedBy,
  startBedrockServer,
  texts,
  called as toolUse,
} from "./bedrockServer.js";
import { chunk, eventStream, startChatCompletionsServer } from "./chatCompletionsServer.js";
import { geminiChunk, geminiError, geminiStream, startGeminiServer } from "./geminiServer.js";
import type { ModelServer, ServerLimits } from "./modelServer.js";
import { eventsOf, response, responseStream, startOpenaiResponsesServer } from "./openaiResponsesServer.js";

/** What the tests of calls have to know of an API, so that each of them can be made with every one. */
export type CallCase = {
  api: Api;
  id: string;
  start(limits?: ServerLimits): Promise<ModelServer>;
  /** What bears the key, and what it says for one. */
  keyHeader: string;
  keyIn(key: string): string;
  /** A finished stream that says these pieces of a text. */
  says(...pieces: string[]): string | Uint8Array;
  /** A finished stream with so many calls of one tool. */
  calls(count: number, name: string): string | Uint8Array;
  /** The same as one text, by a server that does not stream. */
  whole(text: string): string;
  /** Streams that begin well, say "Hi" and then fail: with the kind of that. */
  failing: readonly [body: string | Uint8Array, kind: string][];
  /** Streams to be cut: what an answer can be made of, and how it can be written. */
  streams: Readonly<Record<string, string | Uint8Array>>;
};

const USAGE = { prompt_tokens: 9, completion_tokens: 4 };

function anthropicFailing(type: string, message: string): string {
  return anthropicStream([
    messageStart(),
    ...textBlock(0, "Hi"),
    { type: "error", error: { type, message } },
  ]);
}

const ANTHROPIC: CallCase = {
  api: "anthropic",
  id: "claude-opus-5",
  start: startAnthropicServer,
  keyHeader: "x-api-key",
  keyIn: (key) => key,
  says: (...pieces) =>
    anthropicStream([
      messageStart(),
      { type: "ping" },
      ...textBlock(0, ...pieces),
      ...messageEnd("end_turn"),
    ]),
  calls: (count, name) =>
    anthropicStream([
      messageStart(),
      ...Array.from({ length: count }, (_, at) => callBlock(at, `toolu_${at}`, name)).flat(),
      ...messageEnd("tool_use"),
    ]),
  whole: (text) =>
    JSON.stringify({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: { input_tokens: 9, output_tokens: 4 },
    }),
  failing: [
    [anthropicFailing("overloaded_error", "Overloaded"), "overloaded"],
    [anthropicFailing("rate_limit_error", "Slow down"), "rate_limit"],
    [anthropicFailing("api_error", "Internal server error"), "overloaded"],
    [anthropicFailing("timeout_error", "Request timed out"), "timeout"],
    [anthropicFailing("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), "overflow"],
    [anthropicFailing("authentication_error", "invalid x-api-key"), "auth"],
    [anthropicFailing("something_new", "Whatever it is"), "unknown"],
  ],
  streams: {
    "CRLF and comments": `: wait\r\n\r\n${anthropicStream([messageStart(), ...textBlock(0, "é🎈!"), ...messageEnd("end_turn")], "\r\n")}`,
    "thinking and tools": anthropicStream([
      messageStart(),
      ...thinkingBlock(0, "Hmm ☃"),
      ...block(1, { type: "redacted_thinking", data: "blob" }),
      ...textBlock(2, "I look 🎈"),
      ...callBlock(3, "toolu_a", "look", '{"at":', '"☃', '🎈"}'),
      ...callBlock(4, "toolu_b", "look"),
      ...messageEnd("tool_use"),
    ]),
    "an error inside": anthropicFailing("overloaded_error", "Overloaded"),
  },
};

const piece = (args: string, id?: string) => {
  const called = { ...(id ? { name: "look" } : {}), arguments: args };
  return chunk({ tool_calls: [{ index: 0, ...(id ? { id } : {}), function: called }] });
};
const chatFailing = (error: unknown): string =>
  eventStream([chunk({ content: "Hi" }), { error }], { done: false });

const OPENAI_CHAT: CallCase = {
  api: "openai-chat",
  id: "gpt-4.1",
  start: startChatCompletionsServer,
  keyHeader: "authorization",
  keyIn: (key) => `Bearer ${key}`,
  says: (...pieces) =>
    eventStream([
      ...pieces.map((content) => chunk({ role: "assistant", content })),
      chunk({}, "stop"),
      { choices: [], usage: USAGE },
    ]),
  calls: (count, name) => {
    const tool_calls = Array.from({ length: count }, (_, index) => {
      return { index, id: `c${index}`, type: "function", function: { name, arguments: "{}" } };
    });
    return eventStream([chunk({ tool_calls }), chunk({}, "tool_calls")]);
  },
  whole: (content) =>
    JSON.stringify({ choices: [{ message: { content }, finish_reason: "stop" }], usage: USAGE }),
  failing: [
    [chatFailing({ message: "overloaded", code: 503 }), "overloaded"],
    [chatFailing({ message: "slow down", code: 429 }), "rate_limit"],
    [chatFailing({ message: "maximum context length is 10 tokens", code: "x" }), "overflow"],
    [chatFailing("the engine is overloaded"), "overloaded"],
    [
      `${eventStream([chunk({ content: "Hi" })], { done: false })}event: error\ndata: Internal server error\n\n`,
      "overloaded",
    ],
    [eventStream([chunk({ content: "Hi" }), chunk({}, "error")]), "unknown"],
  ],
  streams: {
    "CRLF and comments": `: wait\r\n\r\n${eventStream([chunk({ content: "é" }), chunk({ content: "🎈!" }, "stop")], { newline: "\r\n" })}`,
    "thinking and tools": eventStream([
      chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "Hmm ☃" }] }),
      chunk({ content: "I look 🎈" }),
      piece("", "a"),
      piece('{"at":'),
      piece('"☃'),
      piece('🎈"}'),
      chunk({}, "tool_calls"),
    ]),
    "an error inside": chatFailing({ message: "overloaded", code: 503 }),
  },
};

type Item = Record<string, unknown>;
const said = (text: string): Item => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const THOUGHT: Item = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hmm ☃" }],
  encrypted_content: "gAAAA-blob",
};
const called = (at: number, name: string, args = "{}"): Item => {
  return { type: "function_call", id: `fc_${at}`, call_id: `call_${at}`, name, arguments: args };
};
const responsesFailing = (error: Item): string =>
  responseStream(eventsOf([said("Hi")], { status: "failed", error, output: [] }));
const responsesError = (event: Item): string =>
  responseStream([...eventsOf([said("Hi")]).slice(0, -1), { type: "error", ...event }]);

/** In just these pieces, however long they are. */
function responsesSays(...pieces: string[]): string {
  const [item, text] = [said(pieces.join("")), pieces.join("")];
  const [created, ...rest] = eventsOf([]);
  const where = { output_index: 0, item_id: "msg_1", content_index: 0 };
  return responseStream([
    ...(created ? [created] : []),
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    ...pieces.map((delta) => ({ type: "response.output_text.delta", ...where, delta })),
    { type: "response.output_text.done", ...where, text },
    { type: "response.output_item.done", output_index: 0, item },
    ...rest.slice(-1).map((event) => ({ ...event, response: response([item]) })),
  ]);
}

const OPENAI_RESPONSES: CallCase = {
  api: "openai-responses",
  id: "gpt-5",
  start: startOpenaiResponsesServer,
  keyHeader: "authorization",
  keyIn: (key) => `Bearer ${key}`,
  says: responsesSays,
  calls: (count, name) =>
    responseStream(eventsOf(Array.from({ length: count }, (_, at) => called(at, name)))),
  whole: (text) => JSON.stringify(response([said(text)])),
  failing: [
    [responsesFailing({ code: "server_error", message: "The server had an error." }), "overloaded"],
    [responsesFailing({ code: "rate_limit_exceeded", message: "Slow down." }), "rate_limit"],
    [responsesFailing({ code: "invalid_image", message: "That is none." }), "invalid_request"],
    [responsesError({ code: "context_length_exceeded", message: "Your input is long." }), "overflow"],
    [responsesError({ error: { type: "insufficient_quota", message: "No money." } }), "quota"],
    [responsesError({ code: null, message: "Whatever it is" }), "unknown"],
  ],
  streams: {
    "thinking and tools": responseStream(
      eventsOf([THOUGHT, said("Grüße 🎈, ich schaue."), called(1, "look", '{"at":"☃🎈"}')]),
    ),
    "a tool before text, CRLF": responseStream(
      eventsOf([called(1, "look", '{"at":"☃🎈"}'), said("é🎈!")]),
      "\r\n",
    ),
    "an error inside": responsesFailing({ code: "server_error", message: "No." }),
  },
};

const GEMINI_USAGE = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 };
const geminiFailing = (code: number, status: string, message: string): string =>
  geminiStream([geminiChunk([{ text: "Hi" }]), JSON.parse(geminiError(code, status, message))]);
const looks = (at: string, more: Item = {}): Item => ({
  functionCall: { id: at, name: "look", args: { at } },
  ...more,
});

const GEMINI: CallCase = {
  api: "gemini",
  id: "gemini-3-flash",
  start: (limits) => startGeminiServer({ third: true, ...limits }),
  keyHeader: "x-goog-api-key",
  keyIn: (key) => key,
  says: (...pieces) =>
    geminiStream([
      ...pieces.map((text) => geminiChunk([{ text }])),
      geminiChunk([{ text: "" }], "STOP", GEMINI_USAGE),
    ]),
  calls: (count, name) => {
    const parts = Array.from({ length: count }, () => ({ functionCall: { name, args: {} } }));
    return geminiStream([geminiChunk(parts), geminiChunk([], "STOP", GEMINI_USAGE)]);
  },
  whole: (text) => JSON.stringify([geminiChunk([{ text }]), geminiChunk([], "STOP", GEMINI_USAGE)], null, 1),
  failing: [
    [geminiFailing(503, "UNAVAILABLE", "The model is overloaded."), "overloaded"],
    [geminiFailing(429, "RESOURCE_EXHAUSTED", "Resource exhausted."), "rate_limit"],
    [
      geminiFailing(
        400,
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
      ),
      "overflow",
    ],
    [geminiFailing(400, "INVALID_ARGUMENT", "API key not valid."), "auth"],
    [geminiStream([geminiChunk([{ text: "Hi" }]), geminiChunk([], "MALFORMED_FUNCTION_CALL")]), "cut"],
  ],
  streams: {
    "text, LF": geminiStream(
      [geminiChunk([{ text: "é" }]), geminiChunk([{ text: "🎈!" }], "STOP", GEMINI_USAGE)],
      "\n",
    ),
    "thinking and tools": geminiStream([
      geminiChunk([{ text: "Hm", thought: true, thoughtSignature: "c2lnMQ==" }]),
      geminiChunk([{ text: "I look 🎈" }]),
      geminiChunk([looks("☃🎈", { thoughtSignature: "c2lnMg==" }), looks("b")]),
      geminiChunk([{ text: "" }], "STOP", GEMINI_USAGE),
    ]),
    "a tool in pieces": geminiStream([
      geminiChunk([{ functionCall: { id: "f", name: "look", willContinue: true } }]),
      geminiChunk([
        { functionCall: { partialArgs: [{ jsonPath: "$.at", stringValue: "☃" }], willContinue: true } },
      ]),
      geminiChunk([{ functionCall: {} }], "STOP"),
    ]),
    "an error inside": geminiFailing(503, "UNAVAILABLE", "overloaded"),
  },
};

const bedrockFailing = (event: string, message: string): Uint8Array =>
  converseStream([begins, ...texts(0, "Hi"), { event, says: { message } }]);
/** A thinking whose signature comes in pieces, as everything may. */
const thinkingInPieces = [
  { text: "Hmm " },
  { text: "☃" },
  { signature: signedBy("Hmm ☃").slice(0, 7) },
  { signature: signedBy("Hmm ☃").slice(7) },
].map((reasoningContent): ConverseEvent => {
  return { event: "contentBlockDelta", says: { contentBlockIndex: 0, delta: { reasoningContent } } };
});

const BEDROCK: CallCase = {
  api: "bedrock",
  id: "us.anthropic.claude-opus-5-v1:0",
  start: startBedrockServer,
  keyHeader: "authorization",
  keyIn: (key) => `Bearer ${key}`,
  says: (...pieces) => converseStream([begins, ...texts(0, ...pieces), ...ends("end_turn")]),
  calls: (count, name) =>
    converseStream([
      begins,
      ...Array.from({ length: count }, (_, at) => toolUse(at, `tooluse_${at}`, name)).flat(),
      ...ends("tool_use"),
    ]),
  whole: (text) =>
    JSON.stringify({
      output: { message: { role: "assistant", content: [{ text }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 },
    }),
  failing: [
    [
      bedrockFailing("throttlingException", "Too many tokens, please wait before trying again."),
      "rate_limit",
    ],
    [bedrockFailing("internalServerException", "The system encountered an unexpected error"), "overloaded"],
    [bedrockFailing("serviceUnavailableException", "Try again"), "overloaded"],
    [bedrockFailing("modelStreamErrorException", "The model broke off"), "overloaded"],
    [bedrockFailing("modelTimeoutException", "Too slow"), "timeout"],
    [bedrockFailing("validationException", "Input is too long for requested model."), "overflow"],
    [bedrockFailing("validationException", "Bad words"), "invalid_request"],
    [bedrockFailing("somethingNewException", "Whatever it is"), "unknown"],
    [
      Buffer.concat([
        converseStream([begins, ...texts(0, "Hi")]),
        frame({ "message-type": "error", "error-code": "InternalFailure", "error-message": "Broken" }, ""),
      ]),
      "overloaded",
    ],
  ],
  streams: {
    "thinking and tools": converseStream([
      begins,
      ...thinkingInPieces,
      ...redacted(1, "blob"),
      ...texts(2, "I look 🎈"),
      ...toolUse(3, "tooluse_a", "look", '{"at":', '"☃', '🎈"}'),
      ...toolUse(4, "tooluse_b", "look"),
      ...ends("tool_use"),
    ]),
    "an error inside": bedrockFailing("throttlingException", "Slow down"),
  },
};

export const CALL_CASES: readonly CallCase[] = [ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, GEMINI, BEDROCK];
