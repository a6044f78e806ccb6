import { audienceOf, type MessageRow, senderKind } from "../message/index.js";
import type { PathEntry } from "./context.js";

/** A path, read as a conversation: what belongs together stands together. */
export type Step =
  | { type: "person"; row: MessageRow; entry: PathEntry }
  /** What somebody made of an earlier message of theirs. */
  | { type: "edit"; row: MessageRow; entry: PathEntry }
  | { type: "system"; row: MessageRow }
  | { type: "command_output"; row: MessageRow }
  /** The rows of one call's answer. */
  | { type: "answer"; call_id: string | null; rows: MessageRow[] }
  /** The results that follow an answer. */
  | { type: "results"; rows: MessageRow[] }
  | { type: "compaction"; entry: PathEntry }
  | { type: "branch_summary"; entry: PathEntry }
  | { type: "custom"; entry: PathEntry }
  | { type: "host"; row: MessageRow }
  /** An entry that a newer summary covers, or whose message is gone. */
  | { type: "void"; id: string; reason: string };

/**
 * The part of a path the model sees: from the newest compaction's first kept entry on, the compaction itself first.
 * A store gives the path so already; a path from the root is cut here.
 */
export function windowOf(path: readonly PathEntry[]): readonly PathEntry[] {
  if (path[0] && isSummary(path[0])) return path;
  const newest = path.findLastIndex(isSummary);
  const compaction = path[newest];
  if (!compaction) return path;
  const kept = path.findIndex((entry) => entry.id === compaction.data.first_kept);
  const before = kept === -1 ? [] : path.slice(kept, newest);
  return [compaction, ...before, ...path.slice(newest + 1)];
}

/** The steps of a window. What is no part of the conversation does not part what belongs together. */
export function stepsOf(entries: readonly PathEntry[]): Step[] {
  const steps: Step[] = [];
  let open: Step | undefined;
  entries.forEach((entry, index) => {
    const step = stepOf(entry, index);
    if (step === null) return;
    if (open && join(open, step)) return;
    steps.push(step);
    if (step.type !== "custom" && step.type !== "host" && step.type !== "void") open = step;
  });
  return steps;
}

function stepOf(entry: PathEntry, index: number): Step | null {
  switch (entry.kind) {
    case "message":
      return entry.message ? rowStep(entry.message, entry) : gone(entry);
    case "edit":
      return entry.message ? { type: "edit", row: entry.message, entry } : gone(entry);
    case "compaction":
      if (isErased(entry)) return erased(entry);
      return index === 0 ? { type: "compaction", entry } : covered(entry);
    case "branch_summary":
      return isErased(entry) ? erased(entry) : { type: "branch_summary", entry };
    case "custom":
      return { type: "custom", entry };
    case "model_change":
      return null;
  }
}

function rowStep(row: MessageRow, entry: PathEntry): Step {
  const { toModel } = audienceOf(row);
  switch (toModel) {
    case "attributed":
      return { type: "person", row, entry };
    case "system":
      return { type: "system", row };
    case "user_text":
      return { type: "command_output", row };
    case "assistant":
      return { type: "answer", call_id: row.call_id, rows: [row] };
    case "tool":
      return { type: "results", rows: [row] };
    case "never":
      return { type: "host", row };
  }
}

/** Takes a step into the one before it, where both are one answer or one batch of results. */
function join(open: Step, step: Step): boolean {
  if (open.type === "results" && step.type === "results") {
    open.rows.push(...step.rows);
    return true;
  }
  if (open.type !== "answer" || step.type !== "answer" || open.call_id !== step.call_id) return false;
  if (step.call_id === null && !isOneAnswer(open.rows.at(-1), step.rows[0])) return false;
  open.rows.push(...step.rows);
  return true;
}

/** Rows from before there were calls: what was thought, said and called in a row is one answer; two sayings are two. */
function isOneAnswer(last: MessageRow | undefined, next: MessageRow | undefined): boolean {
  return (
    last !== undefined && next !== undefined && !(senderKind(last) === "bot" && senderKind(next) === "bot")
  );
}

function gone(entry: PathEntry): Step {
  return { type: "void", id: entry.id, reason: "its message is gone" };
}

/** A compaction that is read. One whose summary is erased stands for nothing: what it covered is read itself again. */
function isSummary(entry: PathEntry): boolean {
  return entry.kind === "compaction" && !isErased(entry);
}

function isErased({ data }: PathEntry): boolean {
  return data.erased !== undefined;
}

function erased(entry: PathEntry): Step {
  return { type: "void", id: entry.id, reason: "erased" };
}

function covered(entry: PathEntry): Step {
  return { type: "void", id: entry.id, reason: "a newer summary covers it" };
}
