import type { Block } from "./receipt.js";

/** What two requests are compared by: a block's kind and sources, and its words where they can be read. */
export type Comparable = Pick<Block, "id" | "kind" | "size" | "sources"> & {
  /** Null, or empty, where it was erased: then only the id tells. */
  text: string | null;
};

/** Where two requests part. Frames, the JSON between blocks, do not count: they close or go on with every message. */
export type Comparison<B extends Comparable> = {
  /** How many blocks, and bytes of them, both begin with. */
  count: number;
  same: number;
  /** Bytes that come after that, and cannot come from the provider's cache. */
  fresh: number;
  /** Of those, bytes that the earlier request had sent too, elsewhere. */
  resent: number;
  /** The first block of each that is not in the other at this place; null where there is none. */
  firstBefore: B | null;
  first: B | null;
  /** The earlier request is all there: the later one only goes on. */
  extends: boolean;
};

export type Change<B extends Comparable> =
  | { change: "added"; before: null; after: B }
  | { change: "removed"; before: B; after: null }
  /** Made of the same thing, and reads differently. */
  | { change: "changed"; before: B; after: B }
  /** Reads the same, and stands elsewhere among the others. */
  | { change: "moved"; before: B; after: B };

/** What a request has in common with an earlier one, from its beginning. */
export function compareBlocks<B extends Comparable>(
  earlier: readonly B[],
  later: readonly B[],
): Comparison<B> {
  const before = earlier.filter(isSpoken);
  const after = later.filter(isSpoken);
  const count = commonCount(before, after);
  const rest = after.slice(count);
  const sent = new Set(before.slice(count).map(wordsOf));
  return {
    count,
    same: sizeOf(after.slice(0, count)),
    fresh: sizeOf(rest),
    resent: sizeOf(rest.filter((block) => sent.has(wordsOf(block)))),
    firstBefore: before[count] ?? null,
    first: after[count] ?? null,
    extends: count === before.length,
  };
}

/** Every block that is not the same in both, in the order of the later request. */
export function changesBetween<B extends Comparable>(
  earlier: readonly B[],
  later: readonly B[],
): Change<B>[] {
  const before = earlier.filter(isSpoken);
  const after = later.filter(isSpoken);
  const twins = twinsOf(before, after);
  const steady = longestRising(twins);
  const twinned = new Set(twins);
  const partners = partnersOf(
    before.filter((_, index) => twins[index] === null),
    after.filter((_, index) => !twinned.has(index)),
  );
  const places = new Map(after.map((block, index) => [block, index]));
  const placed: { place: number; change: Change<B> }[] = [];
  const put = (place: number | undefined, change: Change<B>) => placed.push({ place: place ?? 0, change });
  before.forEach((block, index) => {
    const twin = after[twins[index] ?? -1];
    const partner = partners.get(block);
    if (twin && steady.has(index)) return;
    if (twin) put(places.get(twin), { change: "moved", before: block, after: twin });
    else if (partner) put(places.get(partner), { change: "changed", before: block, after: partner });
    else put(index - 0.5, { change: "removed", before: block, after: null });
  });
  const paired = new Set(partners.values());
  after.forEach((block, index) => {
    if (twinned.has(index) || paired.has(block)) return;
    put(index, { change: "added", before: null, after: block });
  });
  return placed.sort((a, b) => a.place - b.place).map(({ change }) => change);
}

function isSpoken({ kind }: Comparable): boolean {
  return kind !== "frame";
}

/** A marker for the cache says nothing to the model. In a string its quotes would be escaped, so this is no text. */
const CACHE_MARKER = /,"cache_control":\{"type":"ephemeral"[^{}]*\}/g;

/** Two chats give the same words different ids, so words tell where they can be read. */
function wordsOf({ id, kind, text }: Comparable): string {
  return text ? `${kind} ${text.replace(CACHE_MARKER, "")}` : `#${id}`;
}

function commonCount(before: readonly Comparable[], after: readonly Comparable[]): number {
  let count = 0;
  for (const block of after) {
    const twin = before[count];
    if (!twin || wordsOf(twin) !== wordsOf(block)) break;
    count++;
  }
  return count;
}

/** For each earlier block, where the later request has the same words: the first with the first, and so on. */
function twinsOf(before: readonly Comparable[], after: readonly Comparable[]): (number | null)[] {
  const places = new Map<string, number[]>();
  after.forEach((block, index) => {
    const words = wordsOf(block);
    const known = places.get(words);
    if (known) known.push(index);
    else places.set(words, [index]);
  });
  for (const found of places.values()) found.reverse();
  return before.map((block) => places.get(wordsOf(block))?.pop() ?? null);
}

/** The most blocks that stand in the same order in both, by their place in the earlier one; the others moved. */
function longestRising(twins: readonly (number | null)[]): Set<number> {
  /** Of each length, where the run that ends lowest ends. */
  const ends: number[] = [];
  const previous = new Map<number, number | undefined>();
  twins.forEach((twin, index) => {
    if (twin === null) return;
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((twins[ends[middle] ?? 0] ?? 0) < twin) low = middle + 1;
      else high = middle;
    }
    previous.set(index, ends[low - 1]);
    ends[low] = index;
  });
  const run = new Set<number>();
  for (let at = ends.at(-1); at !== undefined; at = previous.get(at)) run.add(at);
  return run;
}

/** Blocks of the same kind that were made of the same thing. Parameters are made of nothing and are one of a kind. */
function partnersOf<B extends Comparable>(gone: readonly B[], come: readonly B[]): Map<B, B> {
  const bySource = new Map<string, B[]>();
  for (const block of come) {
    for (const key of sourceKeys(block)) bySource.set(key, [...(bySource.get(key) ?? []), block]);
  }
  const partners = new Map<B, B>();
  const taken = new Set<B>();
  for (const block of gone) {
    const found = sourceKeys(block)
      .flatMap((key) => bySource.get(key) ?? [])
      .find((candidate) => !taken.has(candidate));
    if (!found) continue;
    taken.add(found);
    partners.set(block, found);
  }
  return partners;
}

function sourceKeys({ kind, sources }: Comparable): string[] {
  if (sources.length === 0) return [kind];
  return sources.map(({ type, id }) => `${kind} ${type} ${id}`);
}

function sizeOf(blocks: readonly Comparable[]): number {
  return blocks.reduce((sum, { size }) => sum + size, 0);
}
