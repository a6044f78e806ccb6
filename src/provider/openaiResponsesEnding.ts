import type { ErrorKind } from "../message/index.js";
import { type Failure, failureFrom } from "./failure.js";
import { isRecord } from "./json.js";
import { type Ending, endingOf } from "./openaiChatEnding.js";

export const CUT: Failure = { kind: "cut", text: "the answer broke off before its end" };

const TOO_LONG: readonly unknown[] = ["max_output_tokens", "max_tokens", "length"];

/** What the end of a response means. Total: a status or reason we do not know is an error with its name in it. */
export function responseEnding(
  status: string,
  response: Record<string, unknown>,
  refused: boolean,
  hasCalls: boolean,
): Ending {
  if (isRecord(response.error) || status === "failed") return broken(responseFailure(response));
  switch (status) {
    case "completed":
      return endingOf("stop", refused, hasCalls);
    case "incomplete":
      return incompleteEnding(response.incomplete_details, refused, hasCalls);
    case "cancelled":
      return broken({ kind: "unknown", text: "the answer was cancelled at the server" });
    case "in_progress":
    case "queued":
      return broken(CUT);
    default:
      return broken({
        kind: "unknown",
        text: `the server ended the answer with a status we do not know: "${status}"`,
      });
  }
}

function incompleteEnding(details: unknown, refused: boolean, hasCalls: boolean): Ending {
  const reason = isRecord(details) && typeof details.reason === "string" ? details.reason : "incomplete";
  return endingOf(TOO_LONG.includes(reason) ? "length" : reason, refused, hasCalls);
}

function broken(failure: Failure): Ending {
  return { stopReason: "error", failure };
}

/** Codes of an answer that failed on its way whose words do not say which kind they are. */
const KIND_OF_CODE: readonly [RegExp, ErrorKind][] = [
  [/(^|_)policy(_|$)/, "refusal"],
  [/^(invalid|image|unsupported|empty|failed_to_download|data_residency)_/, "invalid_request"],
  [/timeout/, "timeout"],
];

/** What a failed response, or an error in the middle of one, says went wrong. */
export function responseFailure(said: Record<string, unknown>): Failure {
  const failure = failureFrom(null, said);
  if (failure.kind !== "unknown") return failure;
  const { code } = isRecord(said.error) ? said.error : said;
  const known = KIND_OF_CODE.find(([pattern]) => typeof code === "string" && pattern.test(code));
  return known ? { ...failure, kind: known[1] } : failure;
}
