import type { Settlement } from "../store.js";
import { waitForDisk } from "./connect.js";
import { type Database, type Prepare, unavailability } from "./driver.js";
import { firstUnmet } from "./expect.js";
import { applyFacts } from "./facts.js";
import { claimLanes, finishWork, holdsLane, releaseLanes, renewLeases } from "./lanes.js";
import { rollback } from "./migrate.js";
import { type Numbers, numbersIn } from "./numbers.js";
import type { Op, OpResult, PackedFact, Refusal } from "./wire.js";

export type WriteOp = Exclude<Op, ["close"]>;

/**
 * Runs operations in groups: one transaction, and so one wait for the disk, for all that came in meanwhile, also while
 * it runs (`more` gives what came, or nothing). Each operation has its own savepoint, so that one that is refused
 * leaves its neighbours alone. All results of the group, in order.
 */
export function runGroup(
  db: Database,
  first: readonly WriteOp[],
  more: () => readonly WriteOp[] | null = () => null,
): OpResult[] {
  const { prepare } = db;
  // A lease need not survive a power cut, because its holder does not: no wait for the disk.
  const leasesOnly = first.every((op) => op[0] === "claim" || op[0] === "renew" || op[0] === "release");
  const numbers = numbersIn(prepare);
  const results: OpResult[] = [];
  let taken = first.length;
  try {
    waitForDisk(db, !leasesOnly);
    prepare("BEGIN IMMEDIATE").run();
    for (let ops: readonly WriteOp[] | null = first; ops; ops = leasesOnly ? null : more()) {
      taken = results.length + ops.length;
      for (const op of ops) results.push(runAlone(prepare, numbers, op));
    }
    numbers.end();
    prepare("COMMIT").run();
    return results;
  } catch (error) {
    rollback(db);
    const why = unavailability(error);
    if (why === null) throw error;
    return Array.from({ length: taken }, () => ["unavailable", why]);
  }
}

function runAlone(prepare: Prepare, numbers: Numbers, op: WriteOp): OpResult {
  prepare("SAVEPOINT batch").run();
  numbers.begin();
  const takeBack = (): void => {
    prepare("ROLLBACK TO batch").run();
    numbers.undo();
  };
  try {
    const result = runOp(prepare, numbers, op);
    if (typeof result !== "number" && result[0] === "refused") takeBack();
    prepare("RELEASE batch").run();
    return result;
  } catch (error) {
    if (unavailability(error) !== null) throw error;
    takeBack();
    prepare("RELEASE batch").run();
    return ["failed", error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
}

function runOp(prepare: Prepare, numbers: Numbers, op: WriteOp): OpResult {
  switch (op[0]) {
    case "commit": {
      const unmet = firstUnmet(prepare, op[2]);
      return unmet ? ["refused", unmet] : written(applyFacts(prepare, numbers, op[1]), false);
    }
    case "settle":
      return settle(prepare, numbers, op[1], op[2]);
    case "claim":
      return ["claimed", claimLanes(prepare, op[1])];
    case "release":
      releaseLanes(prepare, op[1], op[2]);
      return ["done"];
    case "renew":
      return ["renewed", renewLeases(prepare, op[1], op[2])];
  }
}

function settle(
  prepare: Prepare,
  numbers: Numbers,
  facts: PackedFact[],
  move: Omit<Settlement, "facts">,
): OpResult {
  if (!holdsLane(prepare, move.lease)) return ["refused", { status: "fenced", lane: move.lease.lane }];
  const unmet = firstUnmet(prepare, move.expect ?? []);
  if (unmet) return ["refused", unmet];
  const applied = applyFacts(prepare, numbers, facts);
  if (!Array.isArray(applied)) return ["refused", applied];
  return written(applied, finishWork(prepare, move));
}

function written(applied: number[] | Refusal, freed: boolean): OpResult {
  if (!Array.isArray(applied)) return ["refused", applied];
  const [only] = applied;
  return only !== undefined && applied.length === 1 && !freed ? only : ["committed", applied, freed];
}
