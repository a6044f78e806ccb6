import {
  type LeftOut,
  type MessageRow,
  ToolMessage,
  type ToolResultContent,
  toolResultOfRow,
} from "../message/index.js";
import { toolUseId } from "./answer.js";
import { escapeMarkers } from "./escape.js";
import type { Step } from "./steps.js";
import { stampOf } from "./turn.js";

/** Which tool calls wait for a result, while a conversation is read from its start. */
export type ResultKeeper = {
  /** An answer was read: its calls, and which of them a model will see. */
  open(rows: readonly MessageRow[], seen: readonly string[]): void;
  /** The results a model sees of these; null when it sees none. */
  take(rows: readonly MessageRow[]): { message: ToolMessage; rows: MessageRow[] } | null;
};

/** Keeps a result only where its call is kept: no API takes the one without the other. */
export function resultKeeper(left_out: LeftOut[]): ResultKeeper {
  const waiting = new Map<string, number>();
  const answered = new Set<string>();
  return {
    open(rows, seen) {
      for (const row of rows) {
        waiting.set(toolUseId(row), 0);
        answered.delete(toolUseId(row));
      }
      for (const id of seen) waiting.set(id, (waiting.get(id) ?? 0) + 1);
    },
    take(rows) {
      const kept = rows.filter((row) => {
        const reason = refusal(toolUseId(row));
        if (reason !== null) left_out.push({ message_id: row.id, reason });
        return reason === null;
      });
      const [first] = kept;
      if (!first) return null;
      return {
        message: ToolMessage.fromResults(
          kept.map((row) => resultOf(row)),
          stampOf(first),
        ),
        rows: kept,
      };
    },
  };

  function refusal(id: string): string | null {
    const calls = waiting.get(id);
    if (calls === undefined) return "its tool call is not in view";
    if (calls === 0)
      return answered.has(id) ? "its tool call has a result already" : "its tool call is left out";
    waiting.set(id, calls - 1);
    answered.add(id);
    return null;
  }

  function resultOf(row: MessageRow): ToolResultContent {
    if (row.deleted_at === null) return shownResult(row);
    // The call must keep an answer, or the whole history would be refused.
    left_out.push({ message_id: row.id, reason: "deleted" });
    const { id, isError } = toolResultOfRow(row);
    return { type: "tool_result", id, content: "(deleted)", isError, metadata: {}, terminate: false };
  }
}

/** A result without what is only for us, its lines escaped: tools print what strangers wrote. */
function shownResult(row: MessageRow): ToolResultContent {
  const result = toolResultOfRow(row);
  return { ...result, content: escapeMarkers(result.content), metadata: {}, terminate: false };
}

/** Ids of the tool calls that have a result between this answer and the next. */
export function answeredAfter(steps: readonly Step[], index: number): Set<string> {
  const ids = new Set<string>();
  for (let at = index + 1; at < steps.length; at++) {
    const step = steps[at];
    if (step?.type === "answer") break;
    if (step?.type === "results") for (const row of step.rows) ids.add(toolUseId(row));
  }
  return ids;
}
