import type { Model } from "../agent/index.js";
import { type Cut, chooseCut, type PathEntry, standingIn, materialOf } from "../context/index.js";
import type { Usage } from "../message/index.js";
import type { CommitResult, Entry, Expectation, Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { expectCommitted } from "./lease.js";
import { type Summarised, type SummaryPlace, summarise } from "./summarise.js";
import { DELETED_MEANWHILE, lastTold, unlessDeleted } from "./told.js";
import type { Window } from "./window.js";

/** The thread that is compacted, and how the entry is written: with the turn's lease, or with the work that asked. */
export type CompactionPlace = SummaryPlace & {
  threadId: string;
  head: string;
  /** The turn in which it happens; null: none. */
  entryTurnId: string | null;
  write(facts: Fact[], expect: Expectation[]): Promise<CommitResult>;
};

export type CompactionAsk = {
  window: Window;
  models: readonly Model[];
  /** So many tokens of the newest entries stay as they are. */
  keepTokens: number;
  summaryTokens: number;
  stretchTokens: number;
  correction: number;
  /** Kept in the entry, for whoever asked. */
  note?: Record<string, unknown>;
};

export type Compacted = { usage: Usage | null } & (
  | { ok: true; entry: Entry; covered: number }
  /** `again`: what is there now could be summarised. */
  | { ok: false; why: string; again?: true }
);

/**
 * Summarises the older entries of a thread; one entry then stands for them. Nothing is deleted. Nothing is written
 * either, where the summary is not whole or the conversation went on from elsewhere meanwhile.
 */
export async function compact(hall: Hall, place: CompactionPlace, ask: CompactionAsk): Promise<Compacted> {
  const cut = chooseCut(ask.window.path, ask.keepTokens / ask.correction);
  if (!cut) return { ok: false, why: "there is nothing before the newest messages", usage: null };
  const made = await summarise(hall, place, {
    kind: "compaction",
    pieces: materialOf({ ...ask.window, chat: place.chat, notices: [], path: cut.covered }),
    splitsTurn: cut.splitsTurn,
    models: ask.models,
    summaryTokens: ask.summaryTokens,
    stretchTokens: ask.stretchTokens,
    correction: ask.correction,
  });
  if (!made.ok) return made;
  return writeCompaction(hall, place, cut, made, ask.note ?? {});
}

async function writeCompaction(
  hall: Hall,
  place: CompactionPlace,
  cut: Cut,
  made: Extract<Summarised, { ok: true }>,
  note: Record<string, unknown>,
): Promise<Compacted> {
  const { chat, threadId } = place;
  const { usage } = made;
  const id = hall.clock.newId();
  for (let parent = place.head; ; ) {
    const at = iso(hall.clock.now());
    const entry: Entry = {
      id,
      chat_jid: chat.jid,
      thread_id: threadId,
      parent,
      kind: "compaction",
      message_id: null,
      turn_id: place.entryTurnId,
      at,
      data: { ...compactionData(cut, made), last_kept: parent, ...note },
    };
    const moved: Fact = {
      type: "head",
      chat_jid: chat.jid,
      thread_id: threadId,
      entry_id: id,
      reason: "compaction",
      at,
    };
    const still = { type: "head", chat_jid: chat.jid, thread_id: threadId, entry_id: parent } as const;
    const result = await unlessDeleted(hall, chat.jid, cut.covered, (unchanged) =>
      place.write([{ type: "entry", entry }, moved], [still, ...unchanged]),
    );
    if (result === "deleted") return { ok: false, why: DELETED_MEANWHILE, again: true, usage };
    const overtaken = result.status === "conflict" && result.expectation?.type === "head";
    if (!overtaken) {
      expectCommitted(result);
      return { ok: true, entry, covered: countMessages(cut.covered), usage };
    }
    const now = await headBehind(hall, place);
    if (now === null) return { ok: false, why: "the conversation went on from elsewhere meanwhile", usage };
    parent = now;
  }
}

/** Where the thread stands now, if that is behind what was summarised; null when it is elsewhere. */
async function headBehind(
  hall: Hall,
  { chat, threadId, head }: Pick<CompactionPlace, "chat" | "threadId" | "head">,
): Promise<string | null> {
  const now = await hall.store.read.head(chat.jid, threadId);
  const path = now === null ? [] : await hall.store.read.path(chat.jid, now, hall.limits.window);
  return path.some(({ id }) => id === head) ? now : null;
}

/** What a compaction covers, by entries, and what it keeps in view of it. */
function compactionData({ firstKept, covered, splitsTurn }: Cut, made: Extract<Summarised, { ok: true }>) {
  const previous = covered[0]?.kind === "compaction" ? covered[0].id : null;
  const own = previous === null ? covered : covered.slice(1);
  return {
    summary: made.summary,
    first_kept: firstKept.id,
    covers: {
      first: own[0]?.id ?? null,
      last: own.at(-1)?.id ?? null,
      messages: countMessages(own),
      /** No summary may be read any more that tells of a message which is deleted: up to here, it may. */
      seq: lastTold(covered),
      previous,
    },
    standing: standingIn(covered),
    splits_turn: splitsTurn,
    calls: made.callIds,
  };
}

function countMessages(entries: readonly PathEntry[]): number {
  return entries.filter(({ kind }) => kind === "message").length;
}
