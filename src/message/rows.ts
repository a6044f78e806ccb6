import { AUDIENCE, senderKind } from "./audience.js";
import type { AssistantContent, Native } from "./content.js";
import { isRecord } from "./json.js";
import type { AssistantMessage, StopReason } from "./message.js";
import { withoutUndefined } from "./present.js";
import { type CallEnvelope, callUsageOf, usageOfCall } from "./receipt.js";
import { type AnyRow, exactText, keepable, type NewRow } from "./row.js";
import { clip } from "./text.js";

/** What one part of an answer carried that no row keeps, because only its API understands it. */
type PartLeftover = { part: number; data: Record<string, unknown> };

/** What `call_ended` takes over from the message: everything of it that is not an utterance. */
type CallEnd = Pick<
  CallEnvelope,
  "provider" | "api" | "model" | "status" | "stop_reason" | "error" | "error_kind" | "usage" | "cost"
>;

/** Where an answer's rows belong. */
type AnswerPlace = { chat_jid: string; turn_id: string | null; call_id: string; assistant_name: string };

/** A tool call's row shows this much of its arguments; all of them are in its metadata. */
const MAX_PREVIEW = 1000;

/**
 * An answer as a conversation keeps it: one row per utterance, in order. What no row keeps goes to the call:
 * the leftovers, and `callEndOf(message)`. `assistantOfRows` gives the same message back.
 */
export function rowsOfAssistant(
  message: AssistantMessage,
  place: AnswerPlace,
): { rows: NewRow[]; leftovers: PartLeftover[] } {
  const timestamp = new Date(message.timestamp).toISOString();
  const rows = message.contents.map((content, part): NewRow => {
    const { sender, text, metadata } = utteranceOf(content);
    return {
      id: rowId(message.id, part),
      chat_jid: place.chat_jid,
      sender,
      sender_name: place.assistant_name,
      ...keepable(text, metadata),
      timestamp,
      is_from_me: true,
      message_type: AUDIENCE[sender].messageType,
      turn_id: place.turn_id,
      call_id: place.call_id,
      part,
    };
  });
  const leftovers = message.contents.flatMap(({ native }, part) =>
    native ? [{ part, data: { native } }] : [],
  );
  if (rows.length > 0) return { rows, leftovers };
  // An answer that said nothing has no row to carry its name and time.
  return {
    rows,
    leftovers: [{ part: 0, data: { message: { id: message.id, timestamp: message.timestamp } } }],
  };
}

/** The rest of an answer, as its receipt spells it. */
export function callEndOf(message: AssistantMessage): CallEnd {
  return {
    provider: message.provider,
    api: message.api,
    model: message.model,
    status: statusOf(message),
    stop_reason: message.stopReason,
    error: message.error ?? null,
    error_kind: message.errorKind ?? null,
    ...callUsageOf(message.usage),
  };
}

/** The answer a call gave, put together again. Rows of other calls, results and deleted rows are passed over. */
export function assistantOfRows(
  rows: readonly AnyRow[],
  call: CallEnvelope,
  leftovers: readonly PartLeftover[],
): AssistantMessage {
  const own = rows
    .filter((row) => row.call_id === call.id && !row.deleted_at)
    .sort((a, b) => (a.part ?? 0) - (b.part ?? 0));
  return {
    role: "assistant",
    contents: own.flatMap((row) => contentOfRow(row, leftovers)),
    ...stampOf(own, call, leftovers),
    usage: usageOfCall(call),
    stopReason: call.stop_reason ?? stopReasonOf(call.status),
    provider: call.provider,
    api: call.api,
    model: call.model,
    ...(call.error === null ? {} : { error: call.error }),
    ...(call.error_kind === null ? {} : { errorKind: call.error_kind }),
  };
}

type Utterance = { sender: "bot" | "thinking" | "tool_use"; text: string; metadata: Record<string, unknown> };

function utteranceOf(content: AssistantContent): Utterance {
  switch (content.type) {
    case "text":
      return { sender: "bot", text: content.content, metadata: {} };
    case "thinking": {
      const { signature, redacted } = content;
      return {
        sender: "thinking",
        text: content.content,
        metadata: withoutUndefined({ signature, redacted }),
      };
    }
    case "tool_call": {
      const { id, name, args, kind } = content;
      const preview = clip(`${name} ${JSON.stringify(args)}`, MAX_PREVIEW);
      return {
        sender: "tool_use",
        text: preview,
        metadata: withoutUndefined({ tool_use_id: id, name, args, kind }),
      };
    }
  }
}

function contentOfRow(row: AnyRow, leftovers: readonly PartLeftover[]): AssistantContent[] {
  const native = nativeOf(row, leftovers);
  const { metadata } = row;
  switch (senderKind(row)) {
    case "bot":
      return [{ type: "text", content: exactText(row), ...native }];
    case "thinking": {
      const redacted = typeof metadata.redacted === "boolean" ? { redacted: metadata.redacted } : {};
      const signature = textOf(metadata.signature);
      return [{ type: "thinking", content: exactText(row), signature, ...redacted, ...native }];
    }
    case "tool_use": {
      const args = isRecord(metadata.args) ? metadata.args : {};
      const kind = typeof metadata.kind === "string" ? { kind: metadata.kind } : {};
      const [id, name] = [textOf(metadata.tool_use_id), textOf(metadata.name)];
      return [{ type: "tool_call", id, name, args, ...kind, ...native }];
    }
    default:
      return [];
  }
}

/** What only the API understands vouches for the words it came with, so an edited row goes without. */
function nativeOf(row: AnyRow, leftovers: readonly PartLeftover[]): { native?: Native } {
  if (row.revision) return {};
  const native = leftovers.find((leftover) => leftover.part === row.part)?.data.native;
  return isRecord(native) && typeof native.api === "string"
    ? { native: { api: native.api, data: native.data } }
    : {};
}

/** The first row bears the answer's own id, so that a plain answer is one message with one id. */
function rowId(messageId: string, part: number): string {
  return part === 0 ? messageId : `${messageId}.${part}`;
}

function stampOf(
  own: readonly AnyRow[],
  call: CallEnvelope,
  leftovers: readonly PartLeftover[],
): { id: string; timestamp: number } {
  const [row] = own;
  if (row) {
    const suffix = row.part ? `.${row.part}` : "";
    const id = row.id.endsWith(suffix) ? row.id.slice(0, row.id.length - suffix.length) : row.id;
    return { id, timestamp: Date.parse(row.timestamp) };
  }
  const message = leftovers.find((leftover) => isRecord(leftover.data.message))?.data.message;
  if (isRecord(message) && typeof message.id === "string" && typeof message.timestamp === "number") {
    return { id: message.id, timestamp: message.timestamp };
  }
  return { id: call.id, timestamp: Date.parse(call.started_at) };
}

function statusOf({ stopReason, errorKind }: AssistantMessage): CallEnvelope["status"] {
  if (stopReason === "aborted") return "aborted";
  if (stopReason !== "error") return "ok";
  return errorKind === "cut" ? "cut" : "error";
}

/** For a call that never got as far as giving a reason. */
function stopReasonOf(status: CallEnvelope["status"]): StopReason {
  switch (status) {
    case "ok":
      return "stop";
    case "aborted":
      return "aborted";
    case "running":
    case "error":
    case "cut":
      return "error";
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
