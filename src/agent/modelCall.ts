import { AssistantMessage } from "../message/index.js";
import { encode, isRetryable, send } from "../provider/call.js";
import type { Deadline } from "./deadline.js";
import type { AgentEnd, AgentHost, AgentLimits, ModelChoice, PreparedCall, Verdict } from "./host.js";
import type { Tool } from "./tool.js";

/** One run on its way. Once the chat's model has failed for good, the fallback stays chosen until the end. */
export type Run = {
  readonly host: AgentHost;
  readonly tools: readonly Tool[];
  readonly limits: AgentLimits;
  readonly deadline: Deadline;
  choice: ModelChoice;
  /** Calls that ended in an answer or in tools. */
  steps: number;
  spentUsd: number;
};

/** An answer that is whole, or why there is none. */
export type Called =
  | { ok: true; call: PreparedCall; message: AssistantMessage; verdict: Verdict }
  | { ok: false; end: AgentEnd };

type Attempt =
  | { status: "made"; call: PreparedCall; message: AssistantMessage; retryAfterMs: number | null }
  | { status: "refused"; why: string }
  | { status: "too_long"; why: string }
  | { status: "no_model" };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** By so much of itself a wait may grow. */
const SPREAD = 0.5;

/** Why the run may not make another call, or null when it may. */
export function stopOf({ deadline, limits, spentUsd }: Run): AgentEnd | null {
  if (deadline.isOver()) return { status: "out_of_time" };
  if (deadline.signal.aborted) return { status: "stopped" };
  if (limits.usd !== null && spentUsd >= limits.usd) return { status: "out_of_money" };
  return null;
}

/** Does the model rest in the middle of a tool of its vendor's? It goes on when it is asked again, with nothing more said. */
export function rests(message: AssistantMessage): boolean {
  return message.stopReason === "tool_use" && AssistantMessage.toolCalls(message).length === 0;
}

/** Does the run end with this answer? After a `length` stop no tool runs: its last call may be half a call. */
export function endsHere(message: AssistantMessage): boolean {
  if (message.stopReason === "length" || message.stopReason === "refusal") return true;
  return AssistantMessage.toolCalls(message).length === 0 && !rests(message);
}

/** One step's call, with its retries, and then with the fallback's. */
export async function callModel(run: Run, before: AssistantMessage | null): Promise<Called> {
  let failure = before;
  for (let attempt = 1; ; attempt++) {
    const stop = stopOf(run);
    if (stop) return { ok: false, end: stop };
    const made = await attemptCall(run, attempt);
    if (!made) return { ok: false, end: stopOf(run) ?? { status: "stopped" } };
    if (made.status === "refused" || made.status === "too_long") return { ok: false, end: made };
    if (made.status === "no_model") {
      if (!failure) throw new Error("there is no request for the chat's own model");
      return { ok: false, end: { status: "failed", message: failure } };
    }
    const { call, message } = made;
    run.spentUsd += message.usage.cost?.total ?? 0;
    const failed = message.stopReason === "error" || message.stopReason === "aborted";
    const verdict = await run.host.answered(call, message, !failed && endsHere(message));
    if (message.stopReason === "aborted") return { ok: false, end: stopOf(run) ?? { status: "stopped" } };
    if (!failed) return { ok: true, call, message, verdict };
    failure = message;
    if (message.errorKind === "overflow" && run.host.mayShrink?.()) continue;
    const wait = waitBeforeRetry(run, attempt, made);
    if (wait !== null) {
      await run.host.sleep(wait, run.deadline.signal);
    } else {
      if (run.choice === "fallback") return { ok: false, end: { status: "failed", message } };
      run.choice = "fallback";
      attempt = 0;
    }
  }
}

/** Milliseconds until the same model may be asked again; null when asking again is of no use. */
function waitBeforeRetry(
  { host, limits, deadline }: Run,
  attempt: number,
  { message, retryAfterMs }: { message: AssistantMessage; retryAfterMs: number | null },
): number | null {
  if (attempt >= limits.attempts || !isRetryable(message.errorKind ?? "unknown")) return null;
  const asked = retryAfterMs ?? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1));
  const wait = asked * (1 + SPREAD * (host.chance?.() ?? 0));
  // A server that wants us back when our time is over has said no.
  return wait < deadline.left() ? wait : null;
}

/** One request on the wire, holding a slot no longer than that takes. Null: stopped while waiting for the slot. */
async function attemptCall(run: Run, attempt: number): Promise<Attempt | null> {
  const { host, choice } = run;
  const free = await waitForSlot(run);
  if (!free) return null;
  try {
    if (run.deadline.signal.aborted) return null;
    const tooLong = (await host.fit?.(choice, run.deadline.signal)) ?? null;
    if (tooLong !== null) return { status: "too_long", why: tooLong };
    const next = await host.request(choice);
    if (!next) return { status: "no_model" };
    const unsaved = { attempt, model: next.model, encoded: encode(next.model, next.request, next.memory) };
    const recorded = await host.record(unsaved);
    if (!recorded.ok) return { status: "refused", why: recorded.why };
    const call: PreparedCall = { ...unsaved, id: recorded.id };
    return { status: "made", call, ...(await receive(run, call)) };
  } finally {
    free();
  }
}

/** A host may resolve or reject when the run is stopped meanwhile; both mean the same. */
async function waitForSlot({ host, choice, deadline }: Run): Promise<(() => void) | null> {
  try {
    return await host.slot(choice, deadline.signal);
  } catch (error) {
    if (deadline.signal.aborted) return null;
    throw error;
  }
}

async function receive({ host, deadline }: Run, call: PreparedCall) {
  const { signal } = deadline;
  const stream = send(call.model, call.encoded, {
    signal,
    ...(host.fetch ? { fetch: host.fetch } : {}),
    now: () => host.now(),
    newId: () => host.newId(),
  });
  for await (const event of stream) {
    if (event.type === "done") return { message: event.message, retryAfterMs: event.retryAfterMs };
    host.delta(call, event);
  }
  throw new Error("the model's stream ended without its last event");
}
