import type { ErrorKind } from "../message/index.js";
import type { Ending } from "./openaiChatEnding.js";

const REFUSALS: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MODEL_ARMOR",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

/** What the model got wrong by chance is worth another try, like an answer that broke off. */
const IN_ERROR: ReadonlyMap<string, ErrorKind> = new Map([
  ["MALFORMED_FUNCTION_CALL", "cut"],
  ["MALFORMED_RESPONSE", "cut"],
  ["UNEXPECTED_TOOL_CALL", "cut"],
  ["MISSING_THOUGHT_SIGNATURE", "invalid_request"],
  ["TOO_MANY_TOOL_CALLS", "unknown"],
  ["LANGUAGE", "unknown"],
  ["NO_IMAGE", "unknown"],
  ["IMAGE_OTHER", "unknown"],
  ["OTHER", "unknown"],
  ["FINISH_REASON_UNSPECIFIED", "unknown"],
]);

/** What a finish reason means. Total: a word we do not know is an error with that word in it. */
export function geminiEnding(reason: string, said: string, hasCalls: boolean): Ending {
  const words = said === "" ? reason : `${reason} (${said})`;
  if (reason === "STOP") return { stopReason: hasCalls ? "tool_use" : "stop", failure: null };
  if (reason === "MAX_TOKENS") return { stopReason: "length", failure: null };
  if (REFUSALS.has(reason)) return refused(`the provider's filter ended the answer: ${words}`);
  const kind = IN_ERROR.get(reason);
  const text = kind
    ? `the server gave up on the answer: ${words}`
    : `the server ended the answer for a reason we do not know: "${words}"`;
  return { stopReason: "error", failure: { kind: kind ?? "unknown", text } };
}

/** The request itself was turned away: there is no answer at all. */
export function geminiBlocked(reason: string, said: string): Ending {
  return refused(
    `the provider's filter did not let the request through: ${said === "" ? reason : `${reason} (${said})`}`,
  );
}

function refused(text: string): Ending {
  return { stopReason: "refusal", failure: { kind: "refusal", text } };
}
