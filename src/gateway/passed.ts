import type { Hall } from "./hall.js";

/** Lanes, and pieces of one, beyond which all is forgotten and looked at again. */
const MOST_LANES = 1000;
const MOST_PIECES = 100_000;

const known = new WeakMap<Hall["store"], Map<string, Set<string>>>();

/**
 * Pieces of a lane that an earlier turn there was looked at for, and that are messages waiting for turns of their own: what
 * they are does not change, so the next turn need not read thousands of them again to find a stop among them.
 */
export function passedIn(hall: Pick<Hall, "store">, lane: string): Set<string> {
  const lanes = known.get(hall.store) ?? new Map<string, Set<string>>();
  known.set(hall.store, lanes);
  if (lanes.size > MOST_LANES) lanes.clear();
  const passed = lanes.get(lane) ?? new Set<string>();
  if (passed.size > MOST_PIECES) passed.clear();
  lanes.set(lane, passed);
  return passed;
}

/** These are done; a lane in which nothing waits is forgotten. */
export function forgetPassed(hall: Pick<Hall, "store">, lane: string, done: Iterable<string>): void {
  const passed = known.get(hall.store)?.get(lane);
  if (!passed) return;
  for (const id of done) passed.delete(id);
  if (passed.size === 0) known.get(hall.store)?.delete(lane);
}
