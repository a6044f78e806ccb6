import { brokenRules, type ResponsesRuleSwitches } from "./openaiResponsesRules.js";
import { OPENAI_LISTING } from "./chatCompletionsServer.js";
import {
  bearerIn,
  type Dialect,
  inPieces,
  jsonAnswer,
  type ModelServer,
  type ServerLimits,
  startModelServer,
} from "./modelServer.js";
import type { ServerScript } from "./scriptedServer.js";

export type OpenaiResponsesServer = ModelServer;

/** How strict the server is. */
export type OpenaiResponsesServerOptions = ResponsesRuleSwitches & ServerLimits;

type Item = Record<string, unknown>;
type Event = Record<string, unknown> & { type: string };

/** Events as the API streams them, numbered. */
export function responseStream(events: readonly Event[], newline = "\n"): string {
  return events
    .map((event, at) => {
      const data = JSON.stringify({ ...event, sequence_number: at });
      return `event: ${event.type}${newline}data: ${data}${newline}${newline}`;
    })
    .join("");
}

export const USAGE = {
  input_tokens: 90,
  input_tokens_details: { cached_tokens: 50, cache_write_tokens: 10 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 130,
};

/** A whole response. */
export function response(output: readonly Item[], more: Item = {}): Item {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "gpt-5",
    status: "completed",
    error: null,
    incomplete_details: null,
    output,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    usage: USAGE,
    ...more,
  };
}

/** The events in which these items stream, in pieces of a few characters, from the first event to the last. */
export function eventsOf(output: readonly Item[], more: Item = {}): Event[] {
  const status = typeof more.status === "string" ? more.status : "completed";
  return [
    { type: "response.created", response: response([], { status: "in_progress", usage: null }) },
    { type: "response.in_progress", response: response([], { status: "in_progress", usage: null }) },
    ...output.flatMap((item, output_index) => itemEvents(item, output_index)),
    { type: `response.${status}`, response: response(output, more) },
  ];
}

function itemEvents(item: Item, output_index: number): Event[] {
  const where = { output_index, item_id: item.id };
  return [
    { type: "response.output_item.added", output_index, item: { ...item, ...emptied(item) } },
    ...growing(item, where),
    { type: "response.output_item.done", output_index, item },
  ];
}

/** As an item begins. Reasoning already has something encrypted then, which is not what it has in the end. */
function emptied(item: Item): Item {
  if (item.type === "message") return { content: [], status: "in_progress" };
  if (item.type === "function_call") return { arguments: "", status: "in_progress" };
  return item.type === "reasoning" ? { summary: [], encrypted_content: "not yet" } : {};
}

function growing(item: Item, where: Item): Event[] {
  if (item.type === "message") return partEvents(item.content, where);
  if (item.type === "function_call") return callEvents(String(item.arguments), where);
  return item.type === "reasoning" ? summaryEvents(item.summary, where) : [];
}

function partEvents(content: unknown, where: Item): Event[] {
  return listOf(content).flatMap((part, content_index) => {
    const at = { ...where, content_index };
    const [kind, field] = part.type === "refusal" ? ["refusal", "refusal"] : ["output_text", "text"];
    const words = String(part[field]);
    return [
      { type: "response.content_part.added", ...at, part: { ...part, [field]: "" } },
      ...inPieces(words).map((delta) => ({ type: `response.${kind}.delta`, ...at, delta })),
      { type: `response.${kind}.done`, ...at, [field]: words },
      { type: "response.content_part.done", ...at, part },
    ];
  });
}

function callEvents(args: string, where: Item): Event[] {
  return [
    ...inPieces(args).map((delta) => ({ type: "response.function_call_arguments.delta", ...where, delta })),
    { type: "response.function_call_arguments.done", ...where, arguments: args },
  ];
}

function summaryEvents(summary: unknown, where: Item): Event[] {
  return listOf(summary).flatMap((part, summary_index) => {
    const at = { ...where, summary_index };
    const text = String(part.text);
    return [
      { type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } },
      ...inPieces(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, delta })),
      { type: "response.reasoning_summary_text.done", ...at, text },
      { type: "response.reasoning_summary_part.done", ...at, part },
    ];
  });
}

function listOf(value: unknown): Item[] {
  return Array.isArray(value) ? value : [];
}

/** The refusals every caller meets sooner or later, in the vendor's words. */
export const REFUSALS = {
  wrongKey: refusal(401, "Incorrect API key provided: sk-no.", "invalid_request_error", "invalid_api_key"),
  quota: refusal(
    429,
    "You exceeded your current quota, please check your plan and billing details.",
    "insufficient_quota",
    "insufficient_quota",
  ),
  rateLimit: refusal(
    429,
    "Rate limit reached for gpt-5 on tokens per min.",
    "tokens",
    "rate_limit_exceeded",
    {
      "retry-after": "7",
    },
  ),
  overflow: refusal(
    400,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "invalid_request_error",
    "context_length_exceeded",
  ),
  noModel: refusal(
    400,
    "The requested model 'x' does not exist.",
    "invalid_request_error",
    "model_not_found",
  ),
  overloaded: refusal(503, "The engine is currently overloaded.", "server_error", null),
} as const;

function refusal(
  status: number,
  message: string,
  type: string,
  code: string | null,
  headers: Record<string, string> = {},
): ServerScript {
  return jsonAnswer(status, { error: { message, type, param: null, code } }, headers);
}

const said = (text: string): Item => ({
  type: "message",
  id: "msg_hello",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

/** A Responses server for tests. Its base URL ends in `/v1`. */
export function startOpenaiResponsesServer(options: OpenaiResponsesServerOptions = {}): Promise<ModelServer> {
  return startModelServer(dialect, options, ({ body }) => brokenRules(body.toString("utf8"), options));
}

/** The event after which all of a text has been said. */
const SAID = "response.output_text.done";

/** Events are numbered throughout a stream, so one that is cut is the beginning of a whole one. */
function halves(text: string): [string, string] {
  const whole = responseStream(eventsOf([said(text)]));
  const at = whole.indexOf(`event: ${SAID}`);
  return [whole.slice(0, at), whole.slice(at)];
}

const dialect: Dialect = {
  basePath: "/v1",
  serves: (url) => url === "/v1/responses",
  keyIn: bearerIn,
  begin: (pieces) => halves(pieces.join(""))[0],
  end: (text) => halves(text)[1],
  call: ({ id, name, args }) => {
    const called = { call_id: id, name, arguments: JSON.stringify(args), status: "completed" };
    return responseStream(eventsOf([{ type: "function_call", id: "fc_1", ...called }]));
  },
  listing: OPENAI_LISTING,
  refusals: {
    notFound: (url) => refusal(404, `no ${url} here`, "invalid_request_error", "not_found"),
    wrongKey: () => REFUSALS.wrongKey,
    rateLimit: (seconds) => ({
      ...REFUSALS.rateLimit,
      headers: { ...REFUSALS.rateLimit.headers, "retry-after": String(seconds) },
    }),
    overflow: () => REFUSALS.overflow,
    overload: () => REFUSALS.overloaded,
    invalid: (words) => refusal(400, words, "invalid_request_error", null),
  },
};
