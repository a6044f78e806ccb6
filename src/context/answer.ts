import {
  type AssistantContent,
  AssistantMessage,
  assistantOfRows,
  type CallEnvelope,
  type LeftOut,
  type MessageRow,
  senderKind,
  TextContent,
} from "../message/index.js";
import type { AnsweredCall } from "./context.js";
import { MARKER } from "./markers.js";

export type Answer = {
  /** Null when nothing of the answer is left to be seen. */
  message: AssistantMessage | null;
  /** The rows the message was made from. */
  rows: MessageRow[];
  left_out: LeftOut[];
  /** Ids of its tool calls that a model will see; results of others go with their calls. */
  calls: string[];
};

/**
 * One answer, put together from its rows. One that a person stopped keeps what people saw, marked as cut, and the
 * tool calls that have a result; the thinking it was stopped in and calls nobody answered stay behind.
 */
export function answerOf(
  rows: readonly MessageRow[],
  known: AnsweredCall | undefined,
  answered: ReadonlySet<string>,
): Answer {
  const left_out: LeftOut[] = rows.filter(isDeleted).map(({ id }) => ({ message_id: id, reason: "deleted" }));
  const { call, leftovers } = known ?? { call: standIn(rows), leftovers: [] };
  const present = rows.filter((row) => !isDeleted(row));
  const kept = isStopped(call) ? finishedRows(present, answered, left_out) : present;
  if (kept.length === 0) return { message: null, rows: [], left_out, calls: [] };

  const named = kept.map((row) => (row.call_id === call.id ? row : { ...row, call_id: call.id }));
  const whole = { ...assistantOfRows(named, call, leftovers), id: call.id };
  const message = isStopped(call) ? { ...whole, contents: markedAsCut(whole.contents) } : whole;
  return {
    message,
    rows: kept,
    left_out,
    calls: message.stopReason === "error" ? [] : AssistantMessage.toolCalls(message).map(({ id }) => id),
  };
}

function isStopped({ stop_reason, status }: CallEnvelope): boolean {
  return stop_reason === null ? status === "aborted" : stop_reason === "aborted";
}

function isDeleted(row: MessageRow): boolean {
  return row.deleted_at !== null;
}

function finishedRows(
  rows: readonly MessageRow[],
  answered: ReadonlySet<string>,
  left_out: LeftOut[],
): MessageRow[] {
  const kept = rows.filter((row) => {
    if (senderKind(row) !== "tool_use" || answered.has(toolUseId(row))) return true;
    left_out.push({ message_id: row.id, reason: "stopped before this tool call had a result" });
    return false;
  });
  while (kept.length > 0) {
    const last = kept.at(-1);
    if (!last || senderKind(last) !== "thinking") break;
    left_out.push({ message_id: last.id, reason: "stopped while thinking" });
    kept.pop();
  }
  return kept;
}

/** The mark stands behind the last words, where they broke off. */
function markedAsCut(contents: readonly AssistantContent[]): AssistantContent[] {
  const last = contents.findLastIndex((content) => content.type === "text");
  return last === -1 ? [...contents] : contents.toSpliced(last + 1, 0, TextContent.of(`\n${MARKER.stopped}`));
}

/** The id of the tool call a row makes or answers. */
export function toolUseId(row: MessageRow): string {
  const { tool_use_id: id } = row.metadata;
  return typeof id === "string" ? id : "";
}

/** For rows whose call nobody recorded, such as imports: an envelope that claims nothing. */
function standIn(rows: readonly MessageRow[]): CallEnvelope {
  const [first] = rows;
  const calls = rows.some((row) => senderKind(row) === "tool_use");
  return {
    id: first?.call_id ?? first?.id ?? "",
    chat_jid: first?.chat_jid ?? "",
    turn_id: first?.turn_id ?? null,
    attempt: 1,
    purpose: "turn",
    provider: "",
    api: "",
    model: "",
    status: "ok",
    error_kind: null,
    error: null,
    stop_reason: calls ? "tool_use" : "stop",
    started_at: first?.timestamp ?? "",
    first_token_ms: null,
    duration_ms: null,
    usage: null,
    cost: null,
    request_sha256: "",
    request_size: 0,
    redacted: false,
  };
}
