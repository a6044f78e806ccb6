import { createHash } from "node:crypto";
import { type AnthropicRuleSwitches, brokenRules } from "./anthropicRules.js";
import {
  type Dialect,
  jsonAnswer,
  type ModelServer,
  type ServerLimits,
  startModelServer,
} from "./modelServer.js";
import type { ReceivedRequest, ServerScript } from "./scriptedServer.js";

export type StreamEvent = { type: string } & Record<string, unknown>;

export type AnthropicServer = ModelServer;

/** How strict the server is. */
export type AnthropicServerOptions = AnthropicRuleSwitches & ServerLimits;

/** A stream as the API sends it, padded as it pads. */
export function anthropicStream(events: readonly StreamEvent[], newline = "\n"): string {
  return events
    .map((event) => `event: ${event.type}${newline}data: ${JSON.stringify(event)}  ${newline}${newline}`)
    .join("");
}

/** How an answer begins. */
export function messageStart(
  usage: Record<string, unknown> = { input_tokens: 9, output_tokens: 1 },
): StreamEvent {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], usage };
  return { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } };
}

/** One block of an answer, in pieces. */
export function block(
  index: number,
  content: StreamEvent,
  deltas: readonly StreamEvent[] = [],
): StreamEvent[] {
  return [
    { type: "content_block_start", index, content_block: content },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

export function textBlock(index: number, ...pieces: string[]): StreamEvent[] {
  return block(
    index,
    { type: "text", text: "" },
    pieces.map((text) => ({ type: "text_delta", text })),
  );
}

/** A thinking the server will recognise as its own. */
export function thinkingBlock(index: number, ...pieces: string[]): StreamEvent[] {
  const signature = { type: "signature_delta", signature: signed(pieces.join("")) };
  const deltas = pieces.map((thinking) => ({ type: "thinking_delta", thinking }));
  return block(index, { type: "thinking", thinking: "", signature: "" }, [...deltas, signature]);
}

export function callBlock(index: number, id: string, name: string, ...pieces: string[]): StreamEvent[] {
  const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return block(index, { type: "tool_use", id, name, input: {} }, deltas);
}

/** How an answer ends. */
export function messageEnd(
  reason: string,
  usage: Record<string, unknown> = { output_tokens: 4 },
  more: Record<string, unknown> = {},
): StreamEvent[] {
  const delta = { stop_reason: reason, stop_sequence: null, ...more };
  return [{ type: "message_delta", delta, usage }, { type: "message_stop" }];
}

/** The server's signature under a thinking. */
export function signed(thinking: string): string {
  return createHash("sha256").update(`server's secret ${thinking}`).digest("base64");
}

/** An Anthropic Messages server for tests. Its base URL is without `/v1`. */
export function startAnthropicServer(options: AnthropicServerOptions = {}): Promise<ModelServer> {
  return startModelServer(dialect, options, (request) => brokenInRequest(request, options));
}

function brokenInRequest({ headers, body }: ReceivedRequest, rules: AnthropicRuleSwitches): string[] {
  const version = String(headers["anthropic-version"]);
  if (!["2023-06-01", "2026-10-21"].includes(version)) return ["anthropic-version: header is required"];
  return brokenRules(body.toString("utf8"), { ...rules, version });
}

const dialect: Dialect = {
  basePath: "",
  serves: (url) => url === "/v1/messages",
  keyIn: (headers) => headers["x-api-key"],
  begin: (pieces) => anthropicStream([messageStart(), ...textBlock(0, ...pieces).slice(0, -1)]),
  end: () => anthropicStream([{ type: "content_block_stop", index: 0 }, ...messageEnd("end_turn")]),
  call: ({ id, name, args }) =>
    anthropicStream([
      messageStart(),
      ...callBlock(0, id, name, JSON.stringify(args)),
      ...messageEnd("tool_use"),
    ]),
  listing: {
    path: "/v1/models",
    body: (ids) => ({ data: ids.map((id) => ({ type: "model", id, display_name: id })), has_more: false }),
  },
  refusals: {
    notFound: (url) => refuse(404, "not_found_error", `no ${url} here`),
    wrongKey: () => refuse(401, "authentication_error", "invalid x-api-key"),
    rateLimit: (seconds) =>
      refuse(429, "rate_limit_error", "This request would exceed your rate limit", {
        "retry-after": String(seconds),
      }),
    overflow: (tokens, window) =>
      refuse(400, "invalid_request_error", `prompt is too long: ${tokens} tokens > ${window} maximum`),
    overload: () => refuse(529, "overloaded_error", "Overloaded"),
    invalid: (words) => refuse(400, "invalid_request_error", words),
  },
};

/** An error as the API words it. */
export function refuse(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): ServerScript {
  return jsonAnswer(status, { type: "error", error: { type, message }, request_id: "req_1" }, headers);
}
