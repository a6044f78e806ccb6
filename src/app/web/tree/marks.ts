import type { TreeEntry } from "../../client/index.js";
import { type Branch, rowBefore, type Wood } from "./tree.js";

/** What stands between two rows of the conversation, because the tree says so. */
export type Mark =
  | { type: "fork"; key: string; branches: Branch[] }
  | { type: "summary"; key: string; entry: TreeEntry; state: "read" | "covered" | "elsewhere" };

export type Marks = {
  /** By the message they stand behind; under null, what stands before everything. */
  behind: ReadonlyMap<string | null, Mark[]>;
  /** By message: the one it goes on from, where that is not the one above. */
  goesOn: ReadonlyMap<string, TreeEntry>;
};

/** Where the conversation forked, and where a summary stands for what came before. */
export function marksOf(wood: Wood): Marks {
  const behind = new Map<string | null, Mark[]>();
  const goesOn = new Map<string, TreeEntry>();
  const put = (row: string | null, mark: Mark): void => {
    behind.set(row, [...(behind.get(row) ?? []), mark]);
  };
  for (const entry of wood.tree.entries) {
    if (wood.entry(entry.id) === undefined) continue;
    const branches = wood.branchesFrom(entry.id);
    if (branches.length > 1 && branches.some(({ remarks }) => remarks > 0)) {
      put(entry.message_id ?? rowBefore(wood, entry), { type: "fork", key: `fork ${entry.id}`, branches });
      for (const { first } of branches.slice(1)) if (first.message_id) goesOn.set(first.message_id, entry);
    }
    if (entry.kind === "compaction" || entry.kind === "branch_summary")
      put(rowBefore(wood, entry), { type: "summary", key: entry.id, entry, state: stateOf(wood, entry) });
  }
  const beginnings = wood.branchesFrom(null).filter(({ remarks }) => remarks > 0);
  // Of a tree whose beginning is not known, not every beginning is one.
  if (wood.tree.whole && (beginnings.length > 1 || (beginnings.length === 1 && wood.tree.head === null)))
    put(null, { type: "fork", key: "fork", branches: beginnings });
  return { behind, goesOn };
}

function stateOf(wood: Wood, entry: TreeEntry): "read" | "covered" | "elsewhere" {
  if (!wood.path.has(entry.id)) return "elsewhere";
  if (entry.kind === "branch_summary") return "read";
  let newest = wood.entry(wood.tree.head);
  while (newest && newest.kind !== "compaction") newest = wood.entry(newest.parent);
  return newest === entry ? "read" : "covered";
}
