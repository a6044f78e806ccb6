import type { Settlement } from "../store.js";
import { type Database, type Prepare, unavailability } from "./driver.js";
import { firstUnmet } from "./expect.js";
import { applyFacts } from "./facts.js";
import { claimLanes, finishWork, holdsLane, releaseLanes, renewLease } from "./lanes.js";
import { rollback } from "./migrate.js";
import type { Op, OpResult, PackedFact, Refusal } from "./wire.js";

export type WriteOp = Exclude<Op, ["close"]>;

/**
 * Runs operations in groups: one transaction, and so one wait for the disk, for all that came in meanwhile.
 * Each has its own savepoint, so that one that is refused leaves its neighbours alone.
 */
export function runGroup(db: Database, group: readonly WriteOp[]): OpResult[] {
  const { prepare } = db;
  // A lease need not survive a power cut, because its holder does not: no wait for the disk.
  const leasesOnly = group.every((op) => op[0] === "claim" || op[0] === "renew");
  try {
    db.exec(leasesOnly ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
    prepare("BEGIN IMMEDIATE").run();
    const results = group.map((op) => runAlone(prepare, op));
    prepare("COMMIT").run();
    return results;
  } catch (error) {
    rollback(db);
    const why = unavailability(error);
    if (why === null) throw error;
    return group.map(() => ["unavailable", why]);
  }
}

function runAlone(prepare: Prepare, op: WriteOp): OpResult {
  prepare("SAVEPOINT batch").run();
  try {
    const result = runOp(prepare, op);
    if (typeof result !== "number" && result[0] === "refused") prepare("ROLLBACK TO batch").run();
    prepare("RELEASE batch").run();
    return result;
  } catch (error) {
    if (unavailability(error) !== null) throw error;
    prepare("ROLLBACK TO batch").run();
    prepare("RELEASE batch").run();
    return ["failed", error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

function runOp(prepare: Prepare, op: WriteOp): OpResult {
  switch (op[0]) {
    case "commit": {
      const unmet = firstUnmet(prepare, op[2]);
      return unmet ? ["refused", unmet] : written(applyFacts(prepare, op[1]), false);
    }
    case "settle":
      return settle(prepare, op[1], op[2]);
    case "claim":
      return ["claimed", claimLanes(prepare, op[1])];
    case "release":
      releaseLanes(prepare, op[1], op[2]);
      return ["done"];
    case "renew":
      return ["renewed", renewLease(prepare, { lane: op[1], fence: op[2] }, op[3])];
  }
}

function settle(prepare: Prepare, facts: PackedFact[], move: Omit<Settlement, "facts">): OpResult {
  if (!holdsLane(prepare, move.lease)) return ["refused", { status: "fenced", lane: move.lease.lane }];
  const unmet = firstUnmet(prepare, move.expect ?? []);
  if (unmet) return ["refused", unmet];
  const applied = applyFacts(prepare, facts);
  if (!Array.isArray(applied)) return ["refused", applied];
  return written(applied, finishWork(prepare, move));
}

function written(applied: number[] | Refusal, freed: boolean): OpResult {
  if (!Array.isArray(applied)) return ["refused", applied];
  const [only] = applied;
  return only !== undefined && applied.length === 1 && !freed ? only : ["committed", applied, freed];
}
