/** What is measured, and how figures are made of it. */

/**
 * @typedef {object} Line One line of the table.
 * @property {string} what
 * @property {string} unit of `ours` and `reference`
 * @property {number} ours
 * @property {number | null} reference null where the target is a figure of its own
 * @property {"ratio" | "difference" | "figure"} compare how `ours` is held against `reference`
 * @property {number} score the ratio, the difference or the figure itself
 * @property {{ atLeast: number } | { atMost: number } | null} target null for what is only told
 */

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/** @param {ArrayLike<number>} values @param {number} q */
export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * q;
  const [low, high] = [Math.floor(place), Math.ceil(place)];
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

/**
 * Both sides, round by round and taking turns to go first, so that whatever else the machine does hits both alike.
 * @template Ours, Reference
 * @param {number} rounds
 * @param {{ ours: (round: number) => Promise<Ours>, reference: (round: number) => Promise<Reference> }} sides
 * @param {(done: number, of: number) => void} progress
 */
export async function interleaved(rounds, { ours, reference }, progress) {
  /** @type {{ ours: Ours, reference: Reference }[]} */
  const pairs = [];
  for (let round = 0; round < rounds; round++) {
    progress(round + 1, rounds);
    if (round % 2 === 0) {
      const first = await ours(round);
      pairs.push({ ours: first, reference: await reference(round) });
    } else {
      const first = await reference(round);
      pairs.push({ ours: await ours(round), reference: first });
    }
  }
  return pairs;
}

/**
 * The ratio is the median over the rounds, each against its neighbour, and so steadier than that of the two medians.
 * @param {readonly { ours: number, reference: number }[]} pairs
 * @returns {Pick<Line, "ours" | "reference" | "compare" | "score">}
 */
export function ratioOf(pairs) {
  return {
    ...medians(pairs),
    compare: "ratio",
    score: median(pairs.map((pair) => pair.ours / pair.reference)),
  };
}

/**
 * @param {readonly { ours: number, reference: number }[]} pairs
 * @returns {Pick<Line, "ours" | "reference" | "compare" | "score">}
 */
export function differenceOf(pairs) {
  return {
    ...medians(pairs),
    compare: "difference",
    score: median(pairs.map((pair) => pair.ours - pair.reference)),
  };
}

/**
 * @param {readonly number[]} values
 * @returns {Pick<Line, "ours" | "reference" | "compare" | "score">}
 */
export function figureOf(values) {
  return { ours: median(values), reference: null, compare: "figure", score: median(values) };
}

/** @param {readonly { ours: number, reference: number }[]} pairs */
function medians(pairs) {
  return {
    ours: median(pairs.map((pair) => pair.ours)),
    reference: median(pairs.map((pair) => pair.reference)),
  };
}

/** @param {Line} line */
export function isMet({ score, target }) {
  if (target === null) return null;
  return "atLeast" in target ? score >= target.atLeast : score <= target.atMost;
}
