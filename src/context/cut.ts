import { audienceOf, type MessageRow, senderKind } from "../message/index.js";
import { toolUseId } from "./answer.js";
import type { PathEntry } from "./context.js";
import { entryTokens } from "./tokens.js";

/** Where a path is cut: what a summary covers, and the first entry that stays as it is. */
export type Cut = {
  firstKept: PathEntry;
  /** From the previous compaction, if there is one, to the last entry before the first kept. */
  covered: PathEntry[];
  /** The first kept entry stands in the middle of a turn: the turn was too long to keep whole. */
  splitsTurn: boolean;
};

/**
 * Chooses what stays of a path: whole turns from its end, as many as fit in so many tokens; of a last turn that is
 * longer than that, its end. Never parts a tool call from its result. Null when nothing would be gained.
 */
export function chooseCut(path: readonly PathEntry[], keepTokens: number): Cut | null {
  const places = cutPlaces(path);
  const first = firstThatFits(path, keepTokens);
  const fitting = places.filter((place) => place >= first);
  const wholeTurn = fitting.find((place) => startsTurn(path, place));
  const place = wholeTurn ?? fitting[0] ?? places.at(-1);
  const firstKept = place === undefined ? undefined : path[place];
  if (place === undefined || !firstKept) return null;
  const covered = path.slice(0, place);
  if (!covered.some(isWorthSummarising)) return null;
  return { firstKept, covered, splitsTurn: !startsTurn(path, place) };
}

/** The persistent system rows that a cut leaves behind: no summary stands for what the operator wrote. */
export function standingIn(covered: readonly PathEntry[]): string[] {
  const [previous] = covered;
  const before = previous?.kind === "compaction" ? standingOf(previous) : [];
  const own = covered.flatMap(({ kind, message }) =>
    kind === "message" && message && audienceOf(message).toModel === "system" && message.deleted_at === null
      ? [message.id]
      : [],
  );
  return [...new Set([...before, ...own])];
}

/** Ids of the system rows that a compaction keeps in view. */
export function standingOf(compaction: PathEntry): string[] {
  const { standing } = compaction.data;
  return Array.isArray(standing) ? standing.filter((id) => typeof id === "string") : [];
}

/** The earliest place from which all that follows is no more than so many tokens. */
function firstThatFits(path: readonly PathEntry[], keepTokens: number): number {
  let place = path.length;
  let kept = 0;
  while (place > 0) {
    const entry = path[place - 1];
    kept += entry ? entryTokens(entry) : 0;
    if (kept > keepTokens) break;
    place--;
  }
  return place;
}

/** Where a path may be cut: before something said, never within an answer, nor between a call and its result. */
function cutPlaces(path: readonly PathEntry[]): number[] {
  const answerFrom = new Map<string, number>();
  let open: { callId: string | null; from: number } | null = null;
  // What may not be parted, as ranges: the places behind the first up to the last.
  const together: [from: number, to: number][] = [];
  path.forEach(({ kind, message }, place) => {
    const reach = message && kind === "message" ? audienceOf(message).toModel : "never";
    if (!message || reach === "never") return;
    if (reach === "tool") {
      together.push([answerFrom.get(toolUseId(message)) ?? place - 1, place]);
      return;
    }
    if (reach !== "assistant") {
      open = null;
      return;
    }
    open = open && open.callId === message.call_id ? open : { callId: message.call_id, from: place };
    together.push([open.from, place]);
    if (senderKind(message) === "tool_use") answerFrom.set(toolUseId(message), open.from);
  });
  const parted = partedPlaces(together, path.length);
  return path.flatMap((entry, place) => (isCuttable(entry) && !parted[place] ? [place] : []));
}

/** By place: would a cut there part what belongs together? */
function partedPlaces(together: readonly [number, number][], length: number): boolean[] {
  const opens = new Array<number>(length + 1).fill(0);
  for (const [from, to] of together) {
    opens[from + 1] = (opens[from + 1] ?? 0) + 1;
    opens[to + 1] = (opens[to + 1] ?? 0) - 1;
  }
  let depth = 0;
  return opens.map((change) => {
    depth += change;
    return depth > 0;
  });
}

function isCuttable(entry: PathEntry | undefined): boolean {
  if (entry?.kind === "branch_summary" || entry?.kind === "edit") return true;
  return entry?.kind === "message" && entry.message !== null && audienceOf(entry.message).toModel !== "never";
}

/** Does something of a person's or an operator's stand here that opens a turn, or stands in none? */
function startsTurn(path: readonly PathEntry[], place: number): boolean {
  const entry = path[place];
  if (!entry || (entry.message && isOfAnswer(entry.message))) return false;
  let at = place - 1;
  while (at >= 0 && !isCuttable(path[at])) at--;
  const before = path[at];
  return !before || entry.turn_id === null || entry.turn_id !== before.turn_id;
}

function isOfAnswer(row: MessageRow): boolean {
  const { toModel } = audienceOf(row);
  return toModel === "assistant" || toModel === "tool";
}

/** A summary of nothing but system rows, which stay, or of a summary alone, makes no room. */
function isWorthSummarising({ kind, message }: PathEntry): boolean {
  if (kind === "branch_summary" || kind === "edit") return true;
  return kind === "message" && message !== null && !["system", "never"].includes(audienceOf(message).toModel);
}
