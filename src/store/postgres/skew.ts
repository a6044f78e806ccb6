import type { Work } from "../store.js";

/**
 * Work with its time by a clock that the database's is ahead of by `skew` milliseconds. What is due by the one is due by
 * the other, because the asker looked at its clock before the database looked at its own.
 */
export function dueBy(work: Work, skew: number): Work {
  return work.run_at === 0 ? work : { ...work, run_at: work.run_at - skew };
}
