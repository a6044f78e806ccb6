import type { AssistantMessage, ToolCallContent, ToolResultContent } from "../message/index.js";
import type { EncodeMemory } from "../provider/call.js";
import type { EncodedRequest, Fetch, Model, ModelDelta, ModelRequest } from "../provider/codec.js";
import type { ToolContext } from "./tool.js";

/** How far one run may go. */
export type AgentLimits = {
  /** Model calls that end in an answer or in tools. */
  steps: number;
  /** Tries of one call, the first included. */
  attempts: number;
  /** Milliseconds for the whole run. */
  timeMs: number;
  /** Milliseconds for one tool that does not say otherwise. */
  toolMs: number;
  /** Money for the whole run, in US dollars; null: no limit. */
  usd: number | null;
};

/** One request on its way: its id is on the receipt before the first byte leaves. */
export type PreparedCall = { id: string; attempt: number; model: Model; encoded: EncodedRequest };

/** The chat's model, or the one to turn to when that fails for good. */
export type ModelChoice = "model" | "fallback";

/** A call may be refused before it is made: the budget is spent. */
export type Recorded = { ok: true; id: string } | { ok: false; why: string };

/** What to do at a boundary: end, go on, or go on because messages joined the run meanwhile. */
export type Verdict = "end" | "go_on" | "joined";

/** What the agent asks of whoever runs it. It sees no store: everything it needs or makes passes here. */
export type AgentHost = {
  /** Wait until one more call of this model may run; what it gives frees the place. */
  slot(choice: ModelChoice, signal: AbortSignal): Promise<() => void>;
  /**
   * Makes the conversation fit the model it is about to be sent to. Null: it does, as far as anybody knows; else why it
   * cannot be made to.
   */
  fit?(choice: ModelChoice, signal: AbortSignal): Promise<string | null>;
  /** The model said that the request is too long. May it be asked again, once `fit` has made it shorter? */
  mayShrink?(): boolean;
  /** A tool's result as it is to be kept: a host may make its pictures smaller. Without it, as the tool gave it. */
  shown?(result: ToolResultContent): Promise<ToolResultContent>;
  /**
   * The next request, built anew from what is known now. Null: there is no fallback. With a memory of the chat's last
   * request, what did not change since is not encoded again.
   */
  request(
    choice: ModelChoice,
  ): Promise<{ model: Model; request: ModelRequest; memory?: EncodeMemory } | null>;
  /** Records the exact bytes; resolves once that is durable. */
  record(call: Omit<PreparedCall, "id">): Promise<Recorded>;
  delta(call: PreparedCall, delta: ModelDelta): void;
  /** An answer, whole or failed. `last`: the run would end with it; `joined` says that it must not. */
  answered(call: PreparedCall, message: AssistantMessage, last: boolean): Promise<Verdict>;
  /** One tool of a batch is done while others still run. Resolves once that is durable. */
  toolDone(callId: string, index: number, use: ToolUse): Promise<void>;
  /** One batch, in the order of the calls. `last`: every result asked to end here. */
  toolsFinished(callId: string, batch: ToolUse[], last: boolean): Promise<Verdict>;
  toolContext(callId: string): Omit<ToolContext, "signal">;
  /** In place of the network, for models behind HTTP. */
  fetch?: Fetch | undefined;
  /** A number from 0 to 1, by chance: who failed together does not try again together. 0 when not given. */
  chance?: (() => number) | undefined;
  now(): number;
  newId(): string;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** A tool call and what came of it. */
export type ToolUse = { wanted: ToolCallContent; result: ToolResultContent };

/** A batch that a crash cut short: what was wanted, and the results that were known by then. */
export type UnfinishedBatch = {
  callId: string;
  uses: { wanted: ToolCallContent; result: ToolResultContent | null }[];
};

export type AgentEnd =
  | { status: "answered" }
  | { status: "stopped" }
  | { status: "failed"; message: AssistantMessage }
  /** A call was not made: the budget is spent. */
  | { status: "refused"; why: string }
  /** The conversation does not fit the model, and could not be made to. */
  | { status: "too_long"; why: string }
  | { status: "out_of_steps" }
  | { status: "out_of_time" }
  | { status: "out_of_money" };
