import { dueAfterAdding, dueAt, duePieces, LANE_WINDOW } from "../lane.js";
import type { Claim, ClaimRequest, Lease, Settlement, Work } from "../store.js";
import type { Context } from "./apply.js";
import type { Lane, State } from "./state.js";

/** Add work to its lane. False when there is work with this id already. */
export function addWork({ state, journal }: Context, work: Work): boolean {
  if (state.laneOfWork.has(work.id)) return false;
  journal.set(state.laneOfWork, work.id, work.lane);
  const inLane = state.workOfLane.get(work.lane) ?? new Map<string, Work>();
  if (!state.workOfLane.has(work.lane)) journal.set(state.workOfLane, work.lane, inLane);
  journal.set(inLane, work.id, { ...work });
  const { lane: name, kind, chat_jid, run_at } = work;
  const lane = state.lanes.get(name);
  if (!lane) {
    const since = nextWait(state);
    const free = { free_at: run_at, holder: null, since };
    journal.set(state.lanes, name, { lane: name, kind, chat_jid, ...free, fence: 0, tries: 0 });
  } else if (lane.holder === null) {
    const free_at = dueAfterAdding(lane.kind, lane.free_at, run_at);
    if (free_at !== lane.free_at)
      journal.set(state.lanes, name, { ...lane, free_at, since: nextWait(state) });
  }
  return true;
}

/** Have the lane's work due by then. Whoever holds the lane sees it when giving it back. */
export function hastenLane({ state, journal }: Context, name: string, run_at: number): void {
  const inLane = state.workOfLane.get(name);
  for (const work of inLane?.values() ?? []) {
    if (inLane && work.run_at > run_at) journal.set(inLane, work.id, { ...work, run_at });
  }
  const lane = state.lanes.get(name);
  if (lane?.holder === null && lane.free_at !== null && lane.free_at > run_at) {
    journal.set(state.lanes, name, { ...lane, free_at: run_at });
  }
}

export function claimLanes(state: State, { kind, holder, now, leaseMs, limit }: ClaimRequest): Claim[] {
  const claims: Claim[] = [];
  const free = [...state.lanes.values()].flatMap((lane) =>
    lane.kind === kind && lane.free_at !== null && lane.free_at <= now
      ? [{ lane, free_at: lane.free_at }]
      : [],
  );
  for (const { lane } of free.sort((a, b) => a.free_at - b.free_at || a.lane.since - b.lane.since)) {
    if (claims.length >= limit) break;
    const work = workInLane(state, lane.lane);
    const due = dueAt(kind, work);
    if (due === null || due > now) {
      state.lanes.set(lane.lane, { ...lane, holder: null, free_at: due, since: nextWait(state) });
      continue;
    }
    const [fence, tries] = [lane.fence + 1, lane.tries + 1];
    state.lanes.set(lane.lane, { ...lane, fence, holder, free_at: now + leaseMs, tries });
    const { lane: name, chat_jid } = lane;
    claims.push({ lane: name, fence, kind, chat_jid, work: duePieces(kind, work, now), tries });
  }
  return claims;
}

export function releaseLanes(state: State, holder: string, now: number): void {
  for (const lane of state.lanes.values()) {
    if (lane.holder === holder) state.lanes.set(lane.lane, { ...lane, holder: null, free_at: now });
  }
}

/** Those that are lost. */
export function renewLeases(state: State, leases: readonly Lease[], until: number): Lease[] {
  return leases.flatMap(({ lane: name, fence }) => {
    const lane = heldLane(state, { lane: name, fence });
    if (!lane) return [{ lane: name, fence }];
    state.lanes.set(name, { ...lane, free_at: until });
    return [];
  });
}

export function holdsLane(state: State, lease: Lease): boolean {
  return heldLane(state, lease) !== null;
}

function heldLane(state: State, lease: Lease): Lane | null {
  const lane = state.lanes.get(lease.lane);
  return lane && lane.holder !== null && lane.fence === lease.fence ? lane : null;
}

/** Finish and postpone work, and give the lane back if asked. True when a lane given back still has work. */
export function finishWork(state: State, move: Omit<Settlement, "facts">): boolean {
  const { lane: name } = move.lease;
  const inLane = state.workOfLane.get(name);
  for (const id of move.done) {
    if (inLane?.delete(id)) state.laneOfWork.delete(id);
  }
  for (const { id, run_at, attempts } of move.later) {
    const work = inLane?.get(id);
    if (work) inLane?.set(id, { ...work, run_at, attempts });
  }
  const lane = state.lanes.get(name);
  if (lane) state.lanes.set(name, { ...lane, tries: 0 });
  if (!move.release || !lane) return false;
  const work = workInLane(state, name);
  const free_at = dueAt(lane.kind, work);
  state.lanes.set(name, { ...lane, tries: 0, holder: null, free_at, since: nextWait(state) });
  return work.length > 0;
}

function nextWait(state: State): number {
  state.waits += 1;
  return state.waits;
}

export function workInLane(state: State, lane: string, limit: number = LANE_WINDOW): Work[] {
  return [...(state.workOfLane.get(lane)?.values() ?? [])].slice(0, limit).map((work) => ({ ...work }));
}
