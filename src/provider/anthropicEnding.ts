import type { ErrorKind } from "../message/index.js";
import { isRecord } from "./json.js";
import type { Ending } from "./openaiChatEnding.js";

const STOPS: ReadonlyMap<string, "stop" | "rest" | "length" | "refusal"> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "stop"],
  ["pause_turn", "rest"],
  ["max_tokens", "length"],
  ["refusal", "refusal"],
]);

/** What a stop reason means. Total: a word we do not know is an error with that word in it. */
export function endingOf(
  reason: string,
  details: unknown,
  { hasCalls, endsInServerCall }: { hasCalls: boolean; endsInServerCall: boolean },
): Ending {
  const known = STOPS.get(reason);
  switch (known) {
    case "stop":
      // Servers that imitate the API mix these up; whether there are calls decides.
      return { stopReason: hasCalls ? "tool_use" : "stop", failure: null };
    case "rest":
      // The vendor rests in the middle of a tool of its own, and goes on with it when it is asked again.
      return { stopReason: hasCalls || endsInServerCall ? "tool_use" : "stop", failure: null };
    case "length":
      return { stopReason: "length", failure: null };
    case "refusal":
      return { stopReason: "refusal", failure: { kind: "refusal", text: refusalText(details) } };
    case undefined:
      return reason === "model_context_window_exceeded"
        ? broken("overflow", `the answer ran out of the model's window: ${reason}`)
        : broken("unknown", `the server ended the answer for a reason we do not know: "${reason}"`);
  }
}

function broken(kind: ErrorKind, text: string): Ending {
  return { stopReason: "error", failure: { kind, text } };
}

function refusalText(details: unknown): string {
  const { category, explanation } = isRecord(details) ? details : {};
  const why = [category, explanation].filter((word) => typeof word === "string" && word !== "");
  return ["the model declined to answer", ...why].join(": ");
}
