import type { Model } from "../agent/index.js";
import { materialOf, type PathEntry, pathTokens } from "../context/index.js";
import type { Chat } from "../message/index.js";
import type { Claim, CommitResult, Entry, Expectation, Fact } from "../store/store.js";
import { OPERATOR } from "./budget.js";
import { slotOf } from "./callSlots.js";
import { iso } from "./clock.js";
import { compact } from "./compaction.js";
import { fillOf, plannedWindow, roomIn, summarisersOf } from "./fit.js";
import type { Hall } from "./hall.js";
import { expectCommitted, isOvertaken, leaseOf } from "./lease.js";
import { modelsOf } from "./models.js";
import { cutCalls } from "./resume.js";
import { type SummaryPlace, summarise } from "./summarise.js";
import { DELETED_MEANWHILE, lastTold, unlessDeleted } from "./told.js";
import { goOnFrom, headFact } from "./treeMoves.js";
import { threadOf } from "./turnLane.js";
import type { TreePiece } from "./waiting.js";
import { readWindow, requestOf, type Window } from "./window.js";

/** Where it is done: in the chat's lane, between two turns. */
type Place = { chat: Chat; claim: Claim; signal: AbortSignal };

/** Asked for on purpose, a compaction keeps less than one that had to be. */
const KEPT_PART = 1 / 4;

/** What was asked for of the tree, done or refused: either way the work ends with it, in the same commit. */
export async function doTreeWork(
  hall: Hall,
  place: Place,
  { work, asked: { ask } }: TreePiece,
): Promise<void> {
  const { chat, claim, signal } = place;
  const lane = new TreeLane(hall, place, work.id);
  const cut = await cutCalls(hall, { chat_jid: chat.jid, id: work.id }, chat.assistant_name);
  if (cut.facts.length > 0) {
    expectCommitted(await hall.store.commit({ expect: [leaseOf(claim)], facts: cut.facts }));
  }
  const models = await modelsOf(hall, chat);
  if (!models.ok) return lane.refuse(models.why);
  const summarisers = summarisersOf(models, models.model);
  const [first] = summarisers;
  if (!first)
    return lane.refuse("an agent outside this process writes no summaries: set the chat's fallback_model");
  const free = await hall.slots.enter(slotOf(first), chat.jid, signal);
  try {
    const why =
      ask.type === "compact"
        ? await compactThread(hall, lane, first, summarisers)
        : await forkThread(hall, lane, ask.from, first, summarisers);
    if (why !== null) await lane.refuse(why);
  } finally {
    free();
  }
}

/** How the lane writes what came of a piece of work. */
class TreeLane {
  readonly threadId: string;

  constructor(
    private readonly hall: Hall,
    readonly place: Place,
    readonly workId: string,
  ) {
    this.threadId = threadOf(place.claim.lane);
  }

  get summaryPlace(): SummaryPlace {
    const { chat, claim, signal } = this.place;
    return { chat, claim, payer: OPERATOR, turnId: this.workId, signal, laneSignal: signal };
  }

  head(): Promise<string | null> {
    return this.hall.store.read.head(this.place.chat.jid, this.threadId);
  }

  /** The work is done with these facts. */
  readonly settle = (facts: Fact[], expect: Expectation[]): Promise<CommitResult> => {
    const { lane, fence } = this.place.claim;
    const done = [this.workId];
    return this.hall.store.settle({ lease: { lane, fence }, done, later: [], release: true, expect, facts });
  };

  /** The work is done with a word to people: nothing came of it. */
  async refuse(why: string): Promise<void> {
    const details = { asked: this.workId, refused: why };
    const says = `The conversation was not summarised: ${why}.`;
    expectCommitted(await this.settle(this.hall.hostMessages.facts(this.place.chat, says, details), []));
  }
}

/** Null when it was written; else why not. */
async function compactThread(
  hall: Hall,
  lane: TreeLane,
  model: Model,
  models: readonly Model[],
): Promise<string | null> {
  const { chat } = lane.place;
  const head = await lane.head();
  if (head === null) return "nothing has been said yet";
  const window = await readWindow(hall, chat, head);
  const room = roomFor(hall, lane, window, model);
  const kept = Math.max(pathTokens(window.path) * KEPT_PART, pathTokens(lastTurn(window.path)));
  const made = await compact(
    hall,
    { ...lane.summaryPlace, threadId: lane.threadId, head, entryTurnId: null, write: lane.settle },
    {
      window,
      models,
      ...room,
      keepTokens: Math.min(room.keepTokens, kept * room.correction),
      note: { asked: lane.workId },
    },
  );
  return made.ok ? null : made.why;
}

/** What nobody had to part: the last turn stays whole. */
function lastTurn(path: readonly PathEntry[]): readonly PathEntry[] {
  const last = path.at(-1)?.turn_id ?? null;
  return last === null ? [] : path.filter(({ turn_id }) => turn_id === last);
}

/** What there is room for beside the thread's next request, as it stands. */
function roomFor(hall: Hall, lane: TreeLane, window: Window, model: Model) {
  const { request } = requestOf(hall, lane.place.chat, window, [], lane.workId);
  const filled = fillOf({ request, window }, model);
  return roomIn(plannedWindow(model, filled), window.path, filled);
}

/** Null when it was written; else why not. */
async function forkThread(
  hall: Hall,
  lane: TreeLane,
  from: string,
  model: Model,
  models: readonly Model[],
): Promise<string | null> {
  const { chat } = lane.place;
  const { read } = hall.store;
  const head = await lane.head();
  const window = await readWindow(hall, chat, head);
  const staying = new Set((await read.path(chat.jid, from, hall.limits.window)).map(({ id }) => id));
  const left = window.path.filter(({ id }) => !staying.has(id));
  const pieces = materialOf({ ...window, chat, notices: [], path: left });
  if (pieces.length === 0) return "nothing was said on the branch that would be left";
  const { summaryTokens, stretchTokens, correction } = roomFor(hall, lane, window, model);
  const made = await summarise(hall, lane.summaryPlace, {
    kind: "branch_summary",
    pieces,
    splitsTurn: false,
    models,
    summaryTokens,
    stretchTokens,
    correction,
  });
  if (!made.ok) return made.why;
  return openBranch(
    hall,
    lane,
    { head, told: left },
    {
      id: hall.clock.newId(),
      chat_jid: chat.jid,
      thread_id: lane.threadId,
      parent: from,
      kind: "branch_summary",
      message_id: null,
      turn_id: null,
      at: iso(hall.clock.now()),
      data: {
        summary: made.summary,
        left: head,
        covers: { first: left[0]?.id ?? null, last: left.at(-1)?.id ?? null, seq: lastTold(left) },
        calls: made.callIds,
        asked: lane.workId,
      },
    },
  );
}

/** Moves the head behind an entry that opens a branch, unless it moved meanwhile. Null when it did so; else why not. */
async function openBranch(
  hall: Hall,
  lane: TreeLane,
  { head, told }: { head: string | null; told: readonly PathEntry[] },
  entry: Entry & { parent: string },
): Promise<string | null> {
  const { chat } = lane.place;
  const branch = { chat, threadId: lane.threadId, before: Number.MAX_SAFE_INTEGER };
  for (let tries = 0; ; tries++) {
    if ((await lane.head()) !== head) return "the conversation went on from elsewhere meanwhile";
    const move = await goOnFrom(hall, branch, entry.parent, "fork");
    const behind = headFact(hall, chat.jid, lane.threadId, entry.id, "branch_summary");
    const result = await unlessDeleted(hall, chat.jid, told, (unchanged) =>
      lane.settle([...move.facts, { type: "entry", entry }, behind], [...move.expect, ...unchanged]),
    );
    if (result === "deleted") return DELETED_MEANWHILE;
    if (isOvertaken(result, tries)) continue;
    expectCommitted(result);
    return null;
  }
}
