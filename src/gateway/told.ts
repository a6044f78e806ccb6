import type { PathEntry } from "../context/index.js";
import type { CommitResult, Expectation } from "../store/store.js";
import type { Hall } from "./hall.js";

/** Why a summary is not written that could say what nobody is to read any more. */
export const DELETED_MEANWHILE = "something that it tells of was deleted meanwhile";

/** The number of the newest message that a summary of these entries tells of, also by way of a summary among them. */
export function lastTold(told: readonly PathEntry[]): number {
  return told.reduce((last, { message, data: { covers } }) => {
    const before = typeof covers === "object" && covers !== null && "seq" in covers ? Number(covers.seq) : 0;
    return Math.max(last, message?.seq ?? 0, before);
  }, 0);
}

/**
 * Writes a summary of these entries, unless one of them was deleted while it was made: the deletion took away the
 * summaries that it found, and could not find this one. An edit changes nothing: it is told later.
 */
export async function unlessDeleted(
  { store }: Hall,
  chat_jid: string,
  told: readonly PathEntry[],
  write: (expect: Expectation[]) => Promise<CommitResult>,
): Promise<CommitResult | "deleted"> {
  const rows = told.flatMap(({ message }) => (message?.deleted_at === null ? [message] : []));
  const revisions = new Map(rows.map(({ id, revision }) => [id, revision]));
  const summaries = told.filter(isToldSummary);
  for (;;) {
    for (const { id } of summaries) {
      if ((await store.read.entry(chat_jid, id))?.data.erased !== undefined) return "deleted";
    }
    const expect = [...revisions].map(
      ([message_id, revision]): Expectation => ({ type: "revision", chat_jid, message_id, revision }),
    );
    const result = await write(expect);
    const unmet = result.status === "conflict" ? result.expectation : null;
    if (unmet?.type !== "revision") return result;
    const row = await store.read.message(chat_jid, unmet.message_id);
    if (row?.deleted_at !== null) return "deleted";
    revisions.set(row.id, row.revision);
  }
}

/** One that was emptied before tells nothing, though it still has its place among the entries. */
function isToldSummary({ kind, data }: PathEntry): boolean {
  return (kind === "compaction" || kind === "branch_summary") && data.erased === undefined;
}
