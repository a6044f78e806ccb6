import type { ErrorKind, StopReason, Usage } from "../message/index.js";
import type { Failure } from "./failure.js";

/** Why an answer ended, and what is wrong with it, if anything is. */
export type Ending = { stopReason: StopReason; failure: Failure | null };

/** Every word servers are known to use. */
const FINISH: ReadonlyMap<string, "stop" | "length" | "tool_use" | "refusal"> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool_use"],
  ["tool_use", "tool_use"],
  ["function_call", "tool_use"],
  ["content_filter", "refusal"],
  ["refusal", "refusal"],
  ["safety", "refusal"],
  ["sensitive", "refusal"],
]);

const FINISH_IN_ERROR: ReadonlyMap<string, ErrorKind> = new Map([
  ["error", "unknown"],
  ["network_error", "network"],
  ["insufficient_system_resource", "overloaded"],
  ["model_context_window_exceeded", "overflow"],
]);

/** What a finish reason means. Total: a word we do not know is an error with that word in it. */
export function endingOf(reason: string, refused: boolean, hasCalls: boolean): Ending {
  const known = FINISH.get(reason.toLowerCase());
  if (refused || known === "refusal") {
    const text = refused ? "the model declined to answer" : "the provider's content filter ended the answer";
    return { stopReason: "refusal", failure: { kind: "refusal", text } };
  }
  switch (known) {
    case "stop":
    case "tool_use":
      // Servers mix the two up; whether there are calls decides.
      return { stopReason: hasCalls ? "tool_use" : "stop", failure: null };
    case "length":
      return { stopReason: "length", failure: null };
    case undefined: {
      const kind = FINISH_IN_ERROR.get(reason.toLowerCase());
      if (kind) return broken(kind, `the server gave up on the answer: ${reason}`);
      return broken("unknown", `the server ended the answer for a reason we do not know: "${reason}"`);
    }
  }
}

/** Some servers cut a request that is too long and report success; counts that cannot be give it away. */
export function checkWindow(end: Ending, usage: Usage, window: number | null): Ending {
  if (window === null || end.stopReason === "error") return end;
  const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const noRoom = end.stopReason === "length" && usage.outputTokens === 0 && prompt >= window * 0.99;
  if (prompt <= window && !noRoom) return end;
  return broken("overflow", `the request has ${prompt} tokens, the model's window ${window}`);
}

function broken(kind: ErrorKind, text: string): Ending {
  return { stopReason: "error", failure: { kind, text } };
}
