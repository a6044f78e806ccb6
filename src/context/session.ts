import {
  type AgentMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  ERASED_SENDER,
  HostMessage,
  type LeftOut,
  type MessageRow,
  type Origin,
  type Source,
  SystemMessage,
  TextContent,
  UserMessage,
} from "../message/index.js";
import { answerOf } from "./answer.js";
import type { ContextInput, PathEntry } from "./context.js";
import { escapeMarkers } from "./escape.js";
import { commandMarker } from "./markers.js";
import { answeredAfter, resultKeeper } from "./results.js";
import { speakerNames } from "./speakers.js";
import { type Step, stepsOf, windowOf } from "./steps.js";
import { mayRead } from "./take.js";
import { editNote, frozenOf, millisecondsOf, personTurn, stampOf, threadContext } from "./turn.js";

/** A message of the session, with where it came from, and for one that no model sees, why. */
export type Piece = { message: AgentMessage; origin: Origin; isTurn: boolean; whyNot: string };

export type Session = { pieces: Piece[]; left_out: LeftOut[] };

/** The conversation of a path as messages, every kind of them; `assemble` projects these for the model. */
export function buildSessionContext(
  path: readonly PathEntry[],
  settings: Omit<ContextInput, "path">,
): AgentMessage[] {
  return sessionOf({ ...settings, path }).pieces.map(({ message }) => message);
}

/** The same, with origins and what stayed behind. */
export function sessionOf(input: ContextInput): Session {
  const window = windowOf(input.path);
  const steps = stepsOf(window);
  const nameOf = speakerNames(window, input.chat);
  const left_out: LeftOut[] = [];
  const results = resultKeeper(left_out);
  const standing = standingRows(input.standing ?? [], window).flatMap(systemPieces);
  return { pieces: [...standing, ...steps.flatMap(piecesOf)], left_out };

  function piecesOf(step: Step, index: number): Piece[] {
    switch (step.type) {
      case "person":
        return personPieces(step.row, step.entry);
      case "edit":
        return editPieces(step.row, step.entry);
      case "system":
        return systemPieces(step.row);
      case "command_output":
        return isDeleted(step.row) ? [] : [piece(commandMessage(step.row), [messageSource(step.row)])];
      case "answer":
        return answerPieces(step, index);
      case "results":
        return resultPieces(step.rows);
      case "compaction":
      case "branch_summary":
        return summaryPieces(step.type, step.entry);
      case "custom":
        return [
          unseen(
            customMessage(step.entry),
            entrySource("custom", step.entry),
            "a custom entry is for people",
          ),
        ];
      case "host":
        return [unseen(hostMessage(step.row), messageSource(step.row), "a host message is for people")];
      case "void":
        leaveOut(step.id, step.reason);
        return [];
    }
  }

  function personPieces(row: MessageRow, entry: PathEntry): Piece[] {
    if (isDeleted(row) || !mayBeRead(row)) return [];
    const frozen = frozenOf(entry);
    const turn = personTurn(row, frozen, frozen?.label ?? nameOf(row), input);
    const thread = threadContext(row, input.chat.thread_context_role);
    if (row.metadata.thread_context_erased === true) leaveOut(row.id, "its thread context is erased");
    return [
      ...(thread ? [piece(thread.message, thread.sources, "thread_context")] : []),
      { ...piece(turn, [messageSource(row)]), isTurn: true },
    ];
  }

  function editPieces(row: MessageRow, entry: PathEntry): Piece[] {
    if (isDeleted(row) || !mayBeRead(row)) return [];
    const note = editNote(row, entry, nameOf);
    return [piece(note, [entrySource("edit", entry), messageSource(row)])];
  }

  function systemPieces(row: MessageRow): Piece[] {
    return isDeleted(row) ? [] : [piece(SystemMessage.text(row.content, stampOf(row)), [messageSource(row)])];
  }

  function answerPieces(step: Extract<Step, { type: "answer" }>, index: number): Piece[] {
    const known = step.call_id === null ? undefined : input.calls.get(step.call_id);
    const answer = answerOf(step.rows, known, answeredAfter(steps, index));
    left_out.push(...answer.left_out);
    results.open(step.rows, answer.calls);
    if (!answer.message) return [];
    return [{ ...piece(answer.message, answer.rows.map(messageSource)), whyNot: "its call failed" }];
  }

  function resultPieces(rows: readonly MessageRow[]): Piece[] {
    const taken = results.take(rows);
    return taken ? [piece(taken.message, taken.rows.map(messageSource))] : [];
  }

  function summaryPieces(type: "compaction" | "branch_summary", entry: PathEntry): Piece[] {
    const { summary } = entry.data;
    if (typeof summary !== "string") {
      leaveOut(entry.id, "its summary is gone");
      return [];
    }
    const stamp = { id: entry.id, timestamp: millisecondsOf(entry.at) };
    const text = escapeMarkers(summary);
    const message =
      type === "compaction"
        ? CompactionSummaryMessage.text(text, stamp)
        : BranchSummaryMessage.text(text, stamp);
    return [piece(message, [entrySource(type, entry)], "summary")];
  }

  function isDeleted(row: MessageRow): boolean {
    if (row.deleted_at === null) return false;
    leaveOut(row.id, row.sender === ERASED_SENDER ? "erased" : "deleted");
    return true;
  }

  function mayBeRead(row: MessageRow): boolean {
    if (mayRead(input.chat.read, row.sender)) return true;
    leaveOut(row.id, "this sender may not be read here");
    return false;
  }

  function leaveOut(message_id: string, reason: string): void {
    left_out.push({ message_id, reason });
  }
}

function piece(message: AgentMessage, sources: Source[], kind: Origin["kind"] = "message"): Piece {
  return { message, origin: { kind, sources }, isTurn: false, whyNot: "" };
}

function unseen(message: AgentMessage, source: Source, whyNot: string): Piece {
  return { ...piece(message, [source]), whyNot };
}

function commandMessage(row: MessageRow): UserMessage {
  const { exit_code: exitCode } = row.metadata;
  const label = commandMarker(typeof exitCode === "number" ? exitCode : null);
  return UserMessage.text(`${label}\n${escapeMarkers(row.content)}`, stampOf(row));
}

function hostMessage(row: MessageRow): HostMessage {
  return HostMessage.text(row.content, stampOf(row));
}

/** Persistent context that is not on the path any more. */
function standingRows(standing: readonly MessageRow[], window: readonly PathEntry[]): readonly MessageRow[] {
  if (standing.length === 0) return standing;
  const there = new Set(window.map((entry) => entry.message?.id));
  return standing.filter((row) => !there.has(row.id));
}

function customMessage({ id, at, data }: PathEntry): CustomMessage {
  const type = typeof data.custom_type === "string" ? data.custom_type : "";
  const contents = typeof data.content === "string" ? [TextContent.of(data.content)] : [];
  return CustomMessage.of(type, contents, { id, timestamp: millisecondsOf(at) });
}

function messageSource(row: MessageRow): Source {
  return { type: "message", id: row.id };
}

function entrySource(type: string, entry: PathEntry): Source {
  return { type, id: entry.id };
}
