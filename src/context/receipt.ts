import { createHmac } from "node:crypto";
import type { Block, BlockKind, Break, LeftOut } from "../message/index.js";

/** A block's address: a hash under the chat's own key, so that nobody can test a guess at an erased word against it. */
export function blockId(key: Uint8Array, bytes: Uint8Array | string): string {
  return createHmac("sha256", key).update(bytes).digest("base64url");
}

/** How many blocks a request shares with the one before it, from the first on, and what comes after those. */
export function shareBlocks<T extends { id: string }>(
  previous: readonly string[],
  next: readonly T[],
): { count: number; rest: T[] } {
  let count = 0;
  while (count < previous.length && count < next.length && previous[count] === next[count]?.id) count++;
  return { count, rest: next.slice(count) };
}

/** How many entries of a request's list are those of the one before it: the same bytes, made from the same. */
export function sharedEntries(previous: readonly Block[], next: readonly Block[]): number {
  let count = 0;
  while (count < next.length && isSameEntry(previous[count], next[count])) count++;
  return count;
}

/** Two messages may read alike: where one goes and the other stays, the bytes do not tell which. */
function isSameEntry(a: Block | undefined, b: Block | undefined): boolean {
  if (!a || !b || a.id !== b.id || a.kind !== b.kind || a.sources.length !== b.sources.length) return false;
  return a.sources.every(
    ({ type, id }, index) => type === b.sources[index]?.type && id === b.sources[index].id,
  );
}

export type BreakHints = {
  /** What the new request left out: tells a deletion from a fork. */
  left_out?: readonly LeftOut[];
  /** The models of both requests, as people call them. */
  models?: { previous: string; next: string };
  /** The call before. Ids grow with time: a summary with a smaller one was made before it, and only another branch shows it. */
  since?: string;
};

/** Kinds that stand for the whole chat, where a change is always a break. The others may grow at their end. */
const FIXED = ["params", "tools", "system", "notice"] as const satisfies readonly BlockKind[];

/**
 * Where and why a request does not simply go on where the previous one ended; empty when it does. Frames, the JSON
 * between blocks, do not count: the one that closes a body moves with every message.
 */
export function firstBreak(
  previous: readonly Block[],
  next: readonly Block[],
  hints: BreakHints = {},
): Break[] {
  const breaks = FIXED.flatMap((kind) => fixedBreak(kind, previous, next, hints));
  breaks.push(...historyBreak(previous, next, hints));
  if (breaks.length === 0) breaks.push(...orderBreak(previous, next));
  breaks.sort((a, b) => a.block - b.block);
  const [first, ...others] = breaks;
  if (!first) return [];
  const lost = bytesNotReused(previous, next);
  return [
    { block: first.block, reason: `${first.reason}; ${lost} bytes sent before could not be reused` },
    ...others,
  ];
}

function fixedBreak(
  kind: (typeof FIXED)[number],
  previous: readonly Block[],
  next: readonly Block[],
  hints: BreakHints,
): Break[] {
  const [before, after] = [ofKinds(previous, kind), ofKinds(next, kind)];
  const place = firstDifference(before, after, "equal");
  if (place === null) return [];
  const reason =
    kind === "system" ? systemReason(before[place], after[place], after) : fixedReason(kind, hints);
  return [{ block: blockIndex(next, after, place), reason }];
}

/** What opens a conversation is its prompt, and behind it rows of the operator's that a fresh branch or a summary left there. */
function systemReason(lost: Block | undefined, found: Block | undefined, after: readonly Block[]): string {
  const lostRow = rowOf(lost);
  if (lostRow !== undefined && !after.some((block) => rowOf(block) === lostRow)) {
    return "a system message no longer opens the conversation";
  }
  const foundRow = rowOf(found);
  if (foundRow !== undefined && foundRow === lostRow) return "a system message reads differently now";
  return foundRow === undefined ? "the system prompt changed" : "a system message opens the conversation now";
}

function rowOf(block: Block | undefined): string | undefined {
  return block?.sources.find(({ type }) => type === "message")?.id;
}

function fixedReason(kind: Exclude<(typeof FIXED)[number], "system">, { models }: BreakHints): string {
  switch (kind) {
    case "params":
      if (models && models.previous !== models.next)
        return `the model changed from ${models.previous} to ${models.next}`;
      return "the model or its parameters changed";
    case "tools":
      return "the tools changed";
    case "notice":
      return "the notices changed";
  }
}

function historyBreak(previous: readonly Block[], next: readonly Block[], hints: BreakHints): Break[] {
  const before = ofKinds(previous, "summary", "thread_context", "message");
  const after = ofKinds(next, "summary", "thread_context", "message");
  const place = firstDifference(before, after, "extends");
  if (place === null) return [];
  const told = Math.min(place, sharedEntries(before, after));
  return [
    {
      block: blockIndex(next, after, place),
      reason: historyReason(before[told], after[told], { before, after }, hints),
    },
  ];
}

function historyReason(
  lost: Block | undefined,
  found: Block | undefined,
  { before, after }: { before: readonly Block[]; after: readonly Block[] },
  hints: BreakHints,
): string {
  const summaryOf = (blocks: readonly Block[]) =>
    blocks.flatMap(({ sources }) => sources).find(({ type }) => type === "compaction")?.id;
  // Rows that stay in view may stand before the summary.
  const [summaryBefore, summaryNow] = [summaryOf(before), summaryOf(after)];
  const voided = hints.left_out?.find(({ message_id }) => message_id === summaryBefore);
  if (voided) return `the summary is left out: ${voided.reason}`;
  const isNew = hints.since === undefined || (summaryNow ?? "") > hints.since;
  if (summaryNow !== undefined && summaryNow !== summaryBefore) {
    return isNew ? "the conversation was compacted" : WENT_ELSEWHERE;
  }
  if (found?.sources.some(({ type }) => type === "branch_summary")) return "the conversation was forked";
  if (summaryBefore !== undefined && summaryNow === undefined) {
    return "the conversation went on from before its compaction";
  }
  const ids = lost?.sources.map(({ id }) => id) ?? [];
  const gone = hints.left_out?.find(({ message_id }) => ids.includes(message_id));
  if (gone) return `an earlier message is left out: ${gone.reason}`;
  // Where the conversation went elsewhere, nothing that came behind is there any more. By what a block is first of all:
  // a note about an edit names the message, too, which stays where it is when the note goes.
  const nameOf = ({ sources: [own] }: Block) => own && `${own.type} ${own.id}`;
  const behind = new Set(before.slice(lost ? before.indexOf(lost) : before.length).map(nameOf));
  return after.some((block) => behind.has(nameOf(block)))
    ? "an earlier message reads differently now"
    : WENT_ELSEWHERE;
}

const WENT_ELSEWHERE = "the conversation went on from an earlier place";

/** Everything is the same, but not in the same place: notices at the tail, for one, move with the newest turn. */
function orderBreak(previous: readonly Block[], next: readonly Block[]): Break[] {
  const before = steady(previous);
  const after = steady(next);
  const place = firstDifference(before, after, "extends");
  return place === null
    ? []
    : [{ block: blockIndex(next, after, place), reason: "a block moved to another place" }];
}

/** Without frames, and without what some bodies carry behind their messages. */
function steady(blocks: readonly Block[]): Block[] {
  const inked = blocks.filter(({ kind }) => kind !== "frame");
  while (inked.at(-1)?.kind === "params" || inked.at(-1)?.kind === "tools") inked.pop();
  return inked;
}

function ofKinds(blocks: readonly Block[], ...kinds: BlockKind[]): Block[] {
  return blocks.filter(({ kind }) => kinds.includes(kind));
}

function firstDifference(
  before: readonly Block[],
  after: readonly Block[],
  wanted: "equal" | "extends",
): number | null {
  const { count } = shareBlocks(
    before.map(({ id }) => id),
    after,
  );
  if (count < before.length) return count;
  return wanted === "equal" && count < after.length ? count : null;
}

/** Where the block stands in the whole request; at its end, when the request stops short of it. */
function blockIndex(next: readonly Block[], some: readonly Block[], place: number): number {
  const block = some[place];
  return block ? next.indexOf(block) : next.length;
}

function bytesNotReused(previous: readonly Block[], next: readonly Block[]): number {
  const { count } = shareBlocks(
    previous.map(({ id }) => id),
    next,
  );
  return previous.slice(count).reduce((sum, { size }) => sum + size, 0);
}
