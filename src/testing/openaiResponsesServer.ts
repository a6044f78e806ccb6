import { brokenRules, type ResponsesRuleSwitches } from "./openaiResponsesRules.js";
import { type ScriptedServer, type ServerScript, startScriptedServer } from "./scriptedServer.js";

/** A Responses server for tests: it keeps every byte it is sent and refuses what the API would refuse. */
export type OpenaiResponsesServer = ScriptedServer & {
  /** With `/v1`. */
  baseUrl: string;
};

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

function inPieces(text: string): string[] {
  return text.match(/.{1,7}/gsu) ?? [];
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
  const body = JSON.stringify({ error: { message, type, param: null, code } });
  return { status, headers: { "content-type": "application/json", ...headers }, body };
}

const HELLO: Item = {
  type: "message",
  id: "msg_hello",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
};

/** Starts one on a free port of this machine. */
export async function startOpenaiResponsesServer(
  switches: ResponsesRuleSwitches = {},
): Promise<OpenaiResponsesServer> {
  const server = await startScriptedServer({ body: responseStream(eventsOf([HELLO])) }, ({ url, body }) => {
    if (url !== "/v1/responses") return refusal(404, `no ${url} here`, "invalid_request_error", "not_found");
    const broken = brokenRules(body.toString("utf8"), switches);
    return broken.length > 0 ? refusal(400, broken.join("; "), "invalid_request_error", null) : null;
  });
  return Object.assign(server, { baseUrl: `${server.origin}/v1` });
}
