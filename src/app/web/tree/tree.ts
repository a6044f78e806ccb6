import { isOwnSender } from "../../../message/audience.js";
import type { TreeEntry } from "../../client/index.js";

/** What the page knows of a chat's tree: its newest entries in the order they were made, and where the chat stands. */
export type Tree = {
  jid: string;
  entries: readonly TreeEntry[];
  /** Null when the next message starts a fresh branch. */
  head: string | null;
  /** Nothing was left out at the beginning. */
  whole: boolean;
};

/** How the model would read a message now: as it stands, within a summary, or not at all. */
export type Reading = "now" | "summary" | "elsewhere";

/** One branch that leaves from a fork. */
export type Branch = {
  /** Its first entry, and the one to go on from. */
  first: TreeEntry;
  leaf: TreeEntry;
  /** What was said on it first, by a person or the assistant. */
  opening: TreeEntry | null;
  /** How many remarks it has, its own branches included. */
  remarks: number;
  isCurrent: boolean;
  label: string | null;
};

/** The tree, ready to be asked. */
export type Wood = {
  tree: Tree;
  path: ReadonlySet<string>;
  readings: ReadonlyMap<string, Reading>;
  labels: ReadonlyMap<string, string>;
  entry(id: string | null): TreeEntry | undefined;
  /** What leaves from an entry, oldest first; from null, every beginning. */
  branchesFrom(id: string | null): Branch[];
  childrenOf(id: string | null): readonly TreeEntry[];
};

/** Threads of their own have heads of their own; the page moves that of the main one. */
const MAIN = "";

export function woodOf(tree: Tree): Wood {
  const entries = tree.entries.filter((entry) => entry.thread_id === MAIN && !isLabel(entry));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const children = new Map<string | null, TreeEntry[]>();
  for (const entry of entries) {
    // What comes before the oldest known entry is not known: it counts as a beginning.
    const parent = entry.parent !== null && byId.has(entry.parent) ? entry.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  const labels = labelsOf(tree.entries);
  const path = pathTo(tree.head, byId);
  const sums = sumsOf(entries, children);
  const childrenOf = (id: string | null) => children.get(id) ?? [];
  return {
    tree,
    path: new Set(path.map(({ id }) => id)),
    readings: readingsOf(entries, path),
    labels,
    entry: (id) => (id === null ? undefined : byId.get(id)),
    childrenOf,
    branchesFrom: (id) =>
      childrenOf(id).map((first) => {
        const { leaf, opening, remarks } = sums.get(first.id) ?? { leaf: first, opening: null, remarks: 0 };
        const isCurrent = path.includes(first);
        return { first, leaf, opening, remarks, isCurrent, label: labels.get(leaf.id) ?? null };
      }),
  };
}

/** Does a person or the assistant say something here? Thoughts and tools stand between remarks. */
export function isRemark({ kind, message }: TreeEntry): boolean {
  return kind === "message" && message !== null && (message.sender === "bot" || !isOwnSender(message.sender));
}

/** How many ways there are: ends that nothing follows. */
export function countBranches({ tree, childrenOf }: Wood): number {
  const isMain = (entry: TreeEntry) => entry.thread_id === MAIN && !isLabel(entry);
  return tree.entries.filter((entry) => isMain(entry) && childrenOf(entry.id).length === 0).length;
}

/** The row after which an entry that is no message stands: that of the nearest message before it. */
export function rowBefore(wood: Wood, entry: TreeEntry): string | null {
  for (let at = wood.entry(entry.parent); at; at = wood.entry(at.parent)) {
    if (at.message_id !== null) return at.message_id;
  }
  return null;
}

type Sum = Pick<Branch, "leaf" | "opening" | "remarks">;

/** For each entry what follows it. Children are made after their parents, so one walk from the end will do. */
function sumsOf(entries: readonly TreeEntry[], children: ReadonlyMap<string | null, TreeEntry[]>) {
  const order = new Map(entries.map(({ id }, index) => [id, index]));
  const sums = new Map<string, Sum>();
  for (const entry of entries.toReversed()) {
    const below = (children.get(entry.id) ?? []).flatMap((child) => sums.get(child.id) ?? []);
    // Of several ways on, one goes where something was said last.
    const newest = below.toSorted((a, b) => (order.get(a.leaf.id) ?? 0) - (order.get(b.leaf.id) ?? 0)).at(-1);
    const isOne = isRemark(entry);
    sums.set(entry.id, {
      leaf: newest?.leaf ?? entry,
      opening: isOne ? entry : (newest?.opening ?? null),
      remarks: below.reduce((sum, { remarks }) => sum + remarks, isOne ? 1 : 0),
    });
  }
  return sums;
}

/** From the head back, as far as it is known. */
function pathTo(head: string | null, byId: ReadonlyMap<string, TreeEntry>): TreeEntry[] {
  const path: TreeEntry[] = [];
  for (let at = head === null ? undefined : byId.get(head); at; at = byId.get(at.parent ?? "")) path.push(at);
  return path;
}

/** By message. What the newest summary on the branch covers is read as that summary. */
function readingsOf(entries: readonly TreeEntry[], path: readonly TreeEntry[]): Map<string, Reading> {
  const readings = new Map<string, Reading>();
  for (const { message_id, kind } of entries) {
    if (message_id !== null && kind === "message") readings.set(message_id, "elsewhere");
  }
  const summary = path.find(({ kind, data }) => kind === "compaction" && typeof data.summary === "string");
  const standing = summary?.data.standing;
  const kept = (id: string | null) => Array.isArray(standing) && standing.includes(id);
  let covered = false;
  for (const { id, message_id } of path) {
    if (message_id !== null) readings.set(message_id, covered && !kept(message_id) ? "summary" : "now");
    if (summary && id === summary.data.first_kept) covered = true;
  }
  return readings;
}

function isLabel({ kind, data }: TreeEntry): boolean {
  return kind === "custom" && data.custom_type === "label";
}

/** By entry: the newest name it was given. */
function labelsOf(entries: readonly TreeEntry[]): Map<string, string> {
  return new Map(entries.filter(isLabel).map(({ parent, data }) => [parent ?? "", String(data.content)]));
}
