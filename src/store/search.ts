/**
 * Search finds the characters of a word anywhere in a text, so it needs no idea of where words end:
 * scripts without spaces are served like all others.
 */

const ACCENTS = /(?<=[\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu;
const BETWEEN_WORDS = /[\s\p{Cc}]+/u;
const NOT_ASCII = /[^\u0000-\u007f]/;

/** A text as search compares it: case, width and the accents of Latin and Greek letters do not count. */
export function folded(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(ACCENTS, "").normalize("NFKC").toLowerCase();
}

/** The words of a query, folded. All of them must occur. */
export function termsOf(query: string): string[] {
  return [...new Set(folded(query).split(BETWEEN_WORDS))].filter((term) => term !== "");
}

/** Does a text hold all the terms? */
export function holds(text: string, terms: readonly string[]): boolean {
  const plain = folded(text);
  return terms.every((term) => plain.includes(term));
}

/** Add every stretch of one, two and three characters that stands in a word of the text. */
export function addGrams(text: string, grams: Set<string>): void {
  let before = "";
  let last = "";
  for (const character of folded(text)) {
    if (isBetweenWords(character)) {
      before = "";
      last = "";
      continue;
    }
    grams.add(character);
    if (last !== "") grams.add(last + character);
    if (before !== "") grams.add(before + last + character);
    before = last;
    last = character;
  }
}

/** No more of a long word is looked up; what is found is compared in full anyway. */
const MAX_GRAMS = 24;

/** The stretches a text must have to hold the terms. */
export function gramsToFind(terms: readonly string[]): string[] {
  const grams = new Set<string>();
  for (const term of terms) {
    const characters = [...term].slice(0, MAX_GRAMS + 2);
    if (characters.length <= 3) grams.add(characters.join(""));
    for (let i = 0; i + 3 <= characters.length; i++) grams.add(characters.slice(i, i + 3).join(""));
  }
  return [...grams];
}

function isBetweenWords(character: string): boolean {
  if (character > " " && character < "\u007f") return false;
  return BETWEEN_WORDS.test(character);
}
