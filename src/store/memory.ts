import { randomBytes } from "node:crypto";
import { applyFacts, firstUnmet, type Refusal } from "./memory/apply.js";
import { claimLanes, finishWork, holdsLane, releaseLanes, renewLeases } from "./memory/lanes.js";
import { readsOn } from "./memory/reads.js";
import { emptyState, journal } from "./memory/state.js";
import { changesSettings, kindsIn, newsroom } from "./news.js";
import { twiceInBatch } from "./once.js";
import {
  type CommitResult,
  type Expectation,
  type Fact,
  type Settlement,
  type Store,
  StoreUnavailable,
  WORK_KINDS,
} from "./store.js";

export type MemoryOptions = {
  /** Where the chats' secret keys come from. */
  randomBytes?: (count: number) => Uint8Array;
};

/**
 * Open a store that forgets everything when the process ends: for tests, and for trying things out.
 * It keeps the same promises as the others, save the one about power cuts.
 */
export function openMemory(options: MemoryOptions = {}): Store {
  const state = emptyState();
  const { subscribe, tell } = newsroom();
  const random = options.randomBytes ?? ((count) => new Uint8Array(randomBytes(count)));
  let closed = false;

  const apply = (facts: readonly Fact[], unmet: Refusal | null): CommitResult => {
    if (unmet) return unmet;
    const changes = journal();
    try {
      const result = applyFacts({ state, journal: changes, randomBytes: random }, facts);
      if (result.status === "committed") return result;
      changes.undo();
      if (result.status !== "duplicate") return result;
      const { chat_jid, id } = result.message;
      return state.rooms.get(chat_jid)?.seqById.has(id) ? result : twiceInBatch(id);
    } catch (error) {
      changes.undo();
      throw error;
    }
  };

  const write = async (
    facts: readonly Fact[],
    unmet: () => Refusal | null,
    finish: () => boolean,
  ): Promise<CommitResult> => {
    orClosed(closed);
    const before = state.events.length;
    const result = apply(facts, unmet());
    if (result.status !== "committed") return result;
    const freed = finish();
    const kinds = freed ? [...WORK_KINDS] : kindsIn(facts);
    const events = state.events.length > before;
    // Whoever is told may write at once; that must not happen in the middle of this write.
    await Promise.resolve();
    tell({ work: kinds, events, settings: changesSettings(facts) });
    return result;
  };

  return {
    commit: ({ facts, expect }) =>
      write(
        facts,
        () => firstUnmet(state, expect ?? []),
        () => false,
      ),
    settle: ({ facts, ...move }) =>
      write(
        facts,
        () => unmetOf(move.lease, move.expect),
        () => finishWork(state, move),
      ),
    claim: async (request) => {
      orClosed(closed);
      return claimLanes(state, request);
    },
    renew: async (leases, now, leaseMs) => {
      orClosed(closed);
      return renewLeases(state, leases, now + leaseMs);
    },
    release: async (holder, now) => {
      orClosed(closed);
      releaseLanes(state, holder, now);
      tell({ work: [...WORK_KINDS], events: false, settings: false });
    },
    subscribe,
    read: readsOn(state),
    close: async () => {
      closed = true;
    },
  };

  function unmetOf(lease: Settlement["lease"], expect: Expectation[] | undefined): Refusal | null {
    if (!holdsLane(state, lease)) return { status: "fenced", lane: lease.lane };
    return firstUnmet(state, expect ?? []);
  }
}

function orClosed(closed: boolean): void {
  if (closed) throw new StoreUnavailable("the store is closed");
}
