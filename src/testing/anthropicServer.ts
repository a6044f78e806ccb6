import { createHash } from "node:crypto";
import { type AnthropicRuleSwitches, brokenRules } from "./anthropicRules.js";
import {
  type ReceivedRequest,
  type ScriptedServer,
  type ServerScript,
  startScriptedServer,
} from "./scriptedServer.js";

export type StreamEvent = { type: string } & Record<string, unknown>;

/** How strict the server is beyond the rules of a body. */
export type AnthropicServerSwitches = AnthropicRuleSwitches & {
  /** The only key it takes. */
  apiKey?: string;
  /** How many tokens fit, four bytes each. */
  window?: number;
};

/** An Anthropic Messages server for tests: it keeps every byte it is sent and refuses what the API would refuse. */
export type AnthropicServer = ScriptedServer & {
  /** Without `/v1`. */
  baseUrl: string;
};

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

const HELLO = anthropicStream([messageStart(), ...textBlock(0, "Hello"), ...messageEnd("end_turn")]);

/** Starts one on a free port of this machine. */
export async function startAnthropicServer(switches: AnthropicServerSwitches = {}): Promise<AnthropicServer> {
  const server = await startScriptedServer({ body: HELLO }, (request) => refusal(request, switches));
  return Object.assign(server, { baseUrl: server.origin });
}

function refusal(
  request: ReceivedRequest,
  { apiKey, window, ...rules }: AnthropicServerSwitches,
): ServerScript | null {
  const { url, headers, body } = request;
  if (url !== "/v1/messages") return refuse(404, "not_found_error", `no ${url} here`);
  if (apiKey !== undefined && headers["x-api-key"] !== apiKey)
    return refuse(401, "authentication_error", "invalid x-api-key");
  if (!["2023-06-01", "2026-10-21"].includes(String(headers["anthropic-version"])))
    return refuse(400, "invalid_request_error", "anthropic-version: header is required");
  const tokens = Math.ceil(body.length / 4);
  if (window !== undefined && tokens > window)
    return refuse(400, "invalid_request_error", `prompt is too long: ${tokens} tokens > ${window} maximum`);
  const version = String(headers["anthropic-version"]);
  const broken = brokenRules(body.toString("utf8"), { version, ...rules });
  return broken.length > 0 ? refuse(400, "invalid_request_error", broken.join("; ")) : null;
}

/** An error as the API words it. */
export function refuse(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): ServerScript {
  const body = JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" });
  return { status, headers: { "content-type": "application/json", ...headers }, body };
}
