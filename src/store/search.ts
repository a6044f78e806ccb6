/**
 * Search finds the characters of a word anywhere in a text, so it needs no idea of where words end:
 * scripts without spaces are served like all others.
 */

const ACCENTS = /(?<=[\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu;

/** A text as search compares it: case, width and the accents of Latin and Greek letters do not count. */
export function folded(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(ACCENTS, "").normalize("NFKC").toLowerCase();
}

/** The words of a query, folded. All of them must occur. */
export function termsOf(query: string): string[] {
  return [...new Set(folded(query).split(/[\s\p{Cc}]+/u))].filter((term) => term !== "");
}

/** Does a text hold all the terms? */
export function holds(text: string, terms: readonly string[]): boolean {
  const plain = folded(text);
  return terms.every((term) => plain.includes(term));
}

const GRAM = 3;
/** No more of a long word is looked up; what is found is compared in full anyway. */
const MAX_GRAMS = 24;

/** Every stretch of three characters in a text, and the shorter ones at the ends of its words; each once. */
export function gramsOf(text: string): string[] {
  const grams = new Set<string>();
  for (const word of folded(text).split(/[\s\p{Cc}]+/u)) {
    const characters = [...word];
    for (let i = 0; i < characters.length; i++) grams.add(characters.slice(i, i + GRAM).join(""));
  }
  return [...grams];
}

/** What to look up for a term: its grams, or, for a short one, the start of grams. */
export function lookupOf(term: string): { grams: string[] } | { prefix: string } {
  const characters = [...term];
  if (characters.length < GRAM) return { prefix: term };
  const grams = new Set<string>();
  for (let i = 0; i + GRAM <= characters.length && grams.size < MAX_GRAMS; i++) {
    grams.add(characters.slice(i, i + GRAM).join(""));
  }
  return { grams: [...grams] };
}

function isAscii(text: string): boolean {
  return !/[^\u0000-\u007f]/.test(text);
}
