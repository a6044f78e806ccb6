import { AssistantMessage, type ToolCallContent, ToolResultContent } from "../message/index.js";
import { encode, isRetryable, send } from "../provider/call.js";
import type { EncodedRequest, Model, ModelDelta, ModelRequest } from "../provider/codec.js";
import type { Tool, ToolContext } from "./tool.js";

/** How far one run may go. */
export type AgentLimits = {
  /** Model calls that end in an answer or in tools. */
  steps: number;
  /** Tries of one call, the first included. */
  attempts: number;
};

/** One request on its way: its id is on the receipt before the first byte leaves. */
export type PreparedCall = { id: string; attempt: number; model: Model; encoded: EncodedRequest };

/** What the agent asks of whoever runs it. It sees no store: everything it needs or makes passes here. */
export type AgentHost = {
  /** The next request, built anew from what is known now. */
  request(): Promise<{ model: Model; request: ModelRequest }>;
  /** Records the exact bytes; resolves with the call's id once that is durable. */
  record(call: Omit<PreparedCall, "id">): Promise<string>;
  delta(call: PreparedCall, delta: ModelDelta): void;
  /** An answer, whole or failed. `final`: the run ends with it. */
  answered(call: PreparedCall, message: AssistantMessage, final: boolean): Promise<void>;
  /** One batch, in the order of the calls. `final`: every result asked to end here. */
  toolsFinished(call: PreparedCall, batch: ToolUse[], final: boolean): Promise<void>;
  toolContext(call: PreparedCall): ToolContext;
  now(): number;
  newId(): string;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** A tool call and what came of it. */
export type ToolUse = { wanted: ToolCallContent; result: ToolResultContent };

export type AgentEnd =
  | { status: "answered" }
  | { status: "stopped" }
  | { status: "failed"; message: AssistantMessage }
  | { status: "out_of_steps" };

/** Call the model, run its tools, call again, until it stops calling tools. */
export async function runAgent(
  host: AgentHost,
  tools: readonly Tool[],
  limits: AgentLimits,
  signal: AbortSignal,
): Promise<AgentEnd> {
  for (let step = 0; step < limits.steps; step++) {
    const { call, message } = await callWithRetries(host, limits, signal);
    if (message.stopReason === "aborted") return { status: "stopped" };
    if (message.stopReason === "error") return { status: "failed", message };
    if (isFinal(message)) return { status: "answered" };
    const batch = await runTools(host, call, AssistantMessage.toolCalls(message), tools);
    const terminate = batch.every(({ result }) => result.terminate);
    await host.toolsFinished(call, batch, terminate);
    if (terminate) return { status: "answered" };
    if (signal.aborted) return { status: "stopped" };
  }
  return { status: "out_of_steps" };
}

/** Does the run end with this answer? A `length` stop runs no tools: its last call may be half a call. */
function isFinal(message: AssistantMessage): boolean {
  return message.stopReason === "length" || AssistantMessage.toolCalls(message).length === 0;
}

async function callWithRetries(host: AgentHost, limits: AgentLimits, signal: AbortSignal) {
  for (let attempt = 1; ; attempt++) {
    const { model, request } = await host.request();
    const unsaved = { attempt, model, encoded: encode(model, request) };
    const call: PreparedCall = { ...unsaved, id: await host.record(unsaved) };
    const { message, retryAfterMs } = await receive(host, call, signal);
    const retry =
      message.stopReason === "error" &&
      attempt < limits.attempts &&
      isRetryable(message.errorKind ?? "unknown");
    const failed = message.stopReason === "error" || message.stopReason === "aborted";
    await host.answered(call, message, !failed && isFinal(message));
    if (!retry) return { call, message };
    await host.sleep(retryAfterMs ?? backoff(attempt), signal);
    if (signal.aborted) return { call, message: { ...message, stopReason: "aborted" as const } };
  }
}

async function receive(host: AgentHost, call: PreparedCall, signal: AbortSignal) {
  const stream = send(call.model, call.encoded, { signal, now: () => host.now(), newId: () => host.newId() });
  for await (const event of stream) {
    if (event.type === "done") return event;
    host.delta(call, event);
  }
  throw new Error("the model's stream ended without its last event");
}

/** Longer after each try, up to half a minute. */
function backoff(attempt: number): number {
  return Math.min(30_000, 500 * 2 ** (attempt - 1));
}

/** Tools of one batch run side by side; results keep the order of the calls. */
async function runTools(
  host: AgentHost,
  call: PreparedCall,
  calls: ToolCallContent[],
  tools: readonly Tool[],
): Promise<ToolUse[]> {
  const context = host.toolContext(call);
  return Promise.all(
    calls.map(async (wanted) => ({ wanted, result: await runTool(wanted, tools, context) })),
  );
}

async function runTool(
  wanted: ToolCallContent,
  tools: readonly Tool[],
  context: ToolContext,
): Promise<ToolResultContent> {
  const tool = tools.find((known) => known.name === wanted.name);
  if (!tool) {
    const names = tools.map((known) => known.name).join(", ") || "none";
    return ToolResultContent.error(wanted.id, `There is no tool named "${wanted.name}". Tools: ${names}.`);
  }
  if (isUnparsed(wanted)) {
    return ToolResultContent.error(
      wanted.id,
      "The arguments were not valid JSON. Call the tool again with valid JSON.",
    );
  }
  try {
    const output = await tool.run(wanted.args, context);
    if (typeof output === "string") return ToolResultContent.of(wanted.id, output);
    const { content = "", ...details } = output;
    return ToolResultContent.of(wanted.id, content, details);
  } catch (error) {
    return ToolResultContent.error(wanted.id, error instanceof Error ? error.message : String(error));
  }
}

function isUnparsed(call: ToolCallContent): boolean {
  const data = call.native?.data;
  return typeof data === "object" && data !== null && "unparsed" in data && data.unparsed === true;
}
