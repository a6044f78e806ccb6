import { dueAt, duePieces, LANE_WINDOW } from "../lane.js";
import type { Claim, ClaimRequest, Lease, Settlement, Work } from "../store.js";
import type { Prepare, Row } from "./driver.js";
import { number, text, workOf } from "../rows/columns.js";
import type { PackedWork } from "./wire.js";

/**
 * `free_at` is when a lane may be claimed: when its work is due, or, while it is leased, when the lease ends; null when
 * it has no work. One index on it makes a claim cost the same however much work waits. Of lanes due since the same time,
 * such as those whose work is due at once, the one that came to wait first (`since`) is claimed first.
 */
const NEXT_WAIT = "(SELECT coalesce(max(since), 0) + 1 FROM lanes)";

/** Add work to its lane. False when there is work with this id already. */
export function addWork(prepare: Prepare, work: PackedWork): boolean {
  const [, id, kind, lane, chat_jid, ref, run_at, attempts] = work;
  const { changes } = prepare(
    `INSERT INTO work (id, kind, lane, chat_jid, ref, run_at, attempts) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  ).run(id, kind, lane, chat_jid, ref, run_at, attempts);
  if (changes === 0) return false;
  // Whoever holds the lane looks at its work again before giving it back, so a leased lane stays as it is.
  prepare(
    `INSERT INTO lanes (lane, kind, chat_jid, free_at, since) VALUES (?, ?, ?, ?, ${NEXT_WAIT})
     ON CONFLICT (lane) DO UPDATE SET free_at = excluded.free_at, since = excluded.since
     WHERE holder IS NULL AND (free_at IS NULL OR (free_at > excluded.free_at AND kind <> 'delivery'))`,
  ).run(lane, kind, chat_jid, run_at);
  return true;
}

/** Have the lane's work due by then. Whoever holds the lane sees it when giving it back. */
export function hastenLane(prepare: Prepare, lane: string, run_at: number): void {
  prepare("UPDATE work SET run_at = ? WHERE lane = ? AND run_at > ?").run(run_at, lane, run_at);
  prepare("UPDATE lanes SET free_at = ? WHERE lane = ? AND holder IS NULL AND free_at > ?").run(
    run_at,
    lane,
    run_at,
  );
}

export function claimLanes(prepare: Prepare, request: ClaimRequest): Claim[] {
  const claims: Claim[] = [];
  const seen = new Set<string>();
  while (claims.length < request.limit) {
    const free = prepare(
      "SELECT lane, chat_jid, fence, tries FROM lanes WHERE kind = ? AND free_at <= ? ORDER BY free_at, since LIMIT ?",
    ).all(request.kind, request.now, request.limit);
    const fresh = free.filter(({ lane }) => !seen.has(text(lane)));
    if (fresh.length === 0) break;
    for (const row of fresh) {
      if (claims.length === request.limit) break;
      seen.add(text(row.lane));
      const claim = claimLane(prepare, request, row);
      if (claim) claims.push(claim);
    }
  }
  return claims;
}

function claimLane(prepare: Prepare, { kind, holder, now, leaseMs }: ClaimRequest, row: Row): Claim | null {
  const lane = text(row.lane);
  const work = workInLane(prepare, lane);
  const due = dueAt(kind, work);
  if (due === null || due > now) {
    // Its holder is gone and left nothing to do, or nothing to do now.
    setFree(prepare, lane, due);
    return null;
  }
  const [fence, tries, until] = [number(row.fence) + 1, number(row.tries) + 1, now + leaseMs];
  prepare(
    "UPDATE lanes SET fence = ?, holder = ?, lease_until = ?, free_at = ?, tries = ? WHERE lane = ?",
  ).run(fence, holder, until, until, tries, lane);
  return { lane, fence, kind, chat_jid: text(row.chat_jid), work: duePieces(kind, work, now), tries };
}

/** Lanes without work are found out when they are claimed. */
export function releaseLanes(prepare: Prepare, holder: string, now: number): void {
  prepare("UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = ? WHERE holder = ?").run(
    now,
    holder,
  );
}

/** Those that are lost. */
export function renewLeases(prepare: Prepare, leases: readonly Lease[], until: number): Lease[] {
  return leases.filter(({ lane, fence }) => {
    const { changes } = prepare(
      "UPDATE lanes SET lease_until = ?, free_at = ? WHERE lane = ? AND fence = ? AND holder IS NOT NULL",
    ).run(until, until, lane, fence);
    return Number(changes) === 0;
  });
}

/** A lease that ran out still counts until somebody else claims the lane. */
export function holdsLane(prepare: Prepare, lease: Lease): boolean {
  const row = prepare("SELECT 1 AS found FROM lanes WHERE lane = ? AND fence = ? AND holder IS NOT NULL").get(
    lease.lane,
    lease.fence,
  );
  return row !== undefined;
}

/** Finish and postpone work, and give the lane back if asked. True when a lane given back still has work. */
export function finishWork(prepare: Prepare, move: Omit<Settlement, "facts">): boolean {
  const { lane } = move.lease;
  for (const id of move.done) prepare("DELETE FROM work WHERE id = ? AND lane = ?").run(id, lane);
  for (const { id, run_at, attempts } of move.later) {
    prepare("UPDATE work SET run_at = ?, attempts = ? WHERE id = ? AND lane = ?").run(
      run_at,
      attempts,
      id,
      lane,
    );
  }
  prepare("UPDATE lanes SET tries = 0 WHERE lane = ?").run(lane);
  if (!move.release) return false;
  const work = workInLane(prepare, lane);
  const first = work[0];
  setFree(prepare, lane, first ? dueAt(first.kind, work) : null);
  return first !== undefined;
}

function setFree(prepare: Prepare, lane: string, free_at: number | null): void {
  prepare(
    `UPDATE lanes SET holder = NULL, lease_until = NULL, free_at = ?, since = ${NEXT_WAIT} WHERE lane = ?`,
  ).run(free_at, lane);
}

function workInLane(prepare: Prepare, lane: string): Work[] {
  return prepare("SELECT * FROM work WHERE lane = ? ORDER BY n LIMIT ?").all(lane, LANE_WINDOW).map(workOf);
}
