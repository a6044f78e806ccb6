import { BLANKS } from "./characters.js";

/**
 * Folds letters that look alike onto one another, so that `Olivia`, `OLIVIA`, `0livia` and `Оlivia` with a Cyrillic О
 * are one name. Meant for comparing, never for showing.
 */

/** For each plain letter, other letters that pass for it, in lower case. Accents are taken off before. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "аɑαᴀꓮꭺⲁ⍺ᗅ𐊠𐌀",
  b: "вβьʙƅꓐꮟⲃᗷᏼ𐊂𐊡𐌁",
  c: "сᴄҫꓚꮯϲⲥᑕ𐐽𐊢𐌂",
  d: "ԁɗđðᴅꓓꭰᗪ",
  e: "еεҽɛᴇꓰꭼ℮ⲉⴹ𐊆𐌄",
  f: "ƒϝꓝꞙᖴ𐊇𐊥𐌅",
  g: "ɡԍɢցꓖꮐ",
  h: "һнʜհħꓧꮋⲏᕼ",
  j: "јϳʝᴊꓙꭻᒍ",
  k: "кκᴋꓗꮶⲕ𐌊",
  l: "iı1іιɩɪӏǀ|ʟłƚꓡꓲꮮꭵⲓ⍳∣❘ⵏᒪ𐑃𐊊𐌉𐌠",
  m: "мᴍꓟꮇⲙᗰ𐊰𐌑",
  n: "пոɴꓠⲛᑎ𐔓",
  o: "0оοσøөօᴏꓳⲟჿⵔⵙ𐐬𐓪〇○◯⭕⚬∅⌀𐊒𐊫𐌏𐔖",
  p: "рρᴘꓑꮲⲣᑭ⍴𐊕",
  q: "ԛգզϥ",
  r: "гʀꓣꭱⲅᖇ",
  s: "ѕꜱʂꓢꮪⴝ𐑈𐊖",
  t: "тτᴛŧꓔꭲⲧ⊤𐊗𐊱𐌕",
  u: "иսᴜʋꓴᑌ∪⋃𐓶",
  v: "ѵᴠꓦꮩ∨⋁ᐯⴸ𐌖",
  w: "ԝωѡᴡꓪꮤⲱϣ⍵ꮃ",
  x: "хχ×ꓫⲭⵝ᙭𐊐𐊴𐌗𐌢",
  y: "уγүʏყꓬꭹⲩꮍ𐊲",
  z: "ζᴢʐꓜꮓⲍ",
  "3": "зʒ",
  "6": "б",
  æ: "ӕ",
};
/** Greek letters whose capital passes for one plain letter and whose small form for another. */
const CAPITALS: Readonly<Record<string, string>> = { Η: "h", Μ: "m", Ν: "n", Υ: "y" };
const SMALL: Readonly<Record<string, string>> = { η: "n", μ: "u", ν: "v", υ: "u" };

const PLAIN: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([plain, alike]) =>
    [...alike].map((letter) => [letter, plain] as const),
  ),
);

/** Accents go; marks that make another letter in their script (Indic vowels, kana voicing) stay. */
const ACCENTS = /(?![\u3099\u309A])\p{Script=Inherited}/gu;
const UNSEEN = new RegExp(`[\\p{P}\\p{Z}\\p{C}${BLANKS}]|(?![\\u{1F3FB}-\\u{1F3FF}])\\p{Sk}`, "gu");
const TAGS = /[\u{E0020}-\u{E007E}]/gu;
const DIGIT = /^\p{Nd}$/u;
const LATIN = /\p{Script=Latin}/u;

/** A name as it is compared: look-alikes are equal; case, accents, spaces and punctuation do not count. */
export function fold(text: string): string {
  const letters = bare(text);
  // In a name all in Greek, capital and small are the same letter; among Latin ones, each is what it looks like.
  const byLook = LATIN.test(letters);
  let folded = "";
  for (const letter of letters) folded += foldLetter(letter, byLook);
  return folded;
}

const foldedCharacters = new Map<string, string>();

/** One character as it is compared; empty when it does not count. */
export function foldCharacter(character: string): string {
  const known = foldedCharacters.get(character);
  if (known !== undefined) return known;
  let folded = "";
  for (const letter of bare(character)) folded += foldLetter(letter, true);
  // Bounded: text holds what people please.
  if (foldedCharacters.size < 4096) foldedCharacters.set(character, folded);
  return folded;
}

function bare(text: string): string {
  return text
    .replace(TAGS, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000))
    .replace(/[\u03F2\u03F9]/g, "c")
    .normalize("NFKD")
    .replace(ACCENTS, "")
    .replace(/\|/g, "l")
    .replace(UNSEEN, "")
    .normalize("NFKC");
}

function foldLetter(letter: string, byLook: boolean): string {
  const looks = byLook ? (CAPITALS[letter] ?? SMALL[letter]) : CAPITALS[letter.toUpperCase()];
  if (looks !== undefined) return looks;
  const small = asciiDigit(letter).toLowerCase().replace("ς", "σ");
  return PLAIN.get(small) ?? small;
}

/** A digit of any script as ours. Unicode keeps the ten of a script together, so its place among them is its value. */
function asciiDigit(letter: string): string {
  if (letter <= "\x7F" || !DIGIT.test(letter)) return letter;
  let value = -1;
  for (let code = letter.codePointAt(0) ?? 0; DIGIT.test(String.fromCodePoint(code)); code--) value++;
  return String(value % 10);
}
