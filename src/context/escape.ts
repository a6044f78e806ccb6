import { CLOSING, COLONS, DECORATION, INVISIBLE, LINE_BREAKS, OPENING, SPACES } from "./characters.js";
import { fold, foldCharacter } from "./fold.js";
import { EDIT_VERB, MARKER_WORDS } from "./markers.js";

const BEFORE = `${SPACES}${INVISIBLE}\\p{M}${DECORATION}`;
/** A bracket that opens a line, with what may stand before it and the backslashes it already has. */
const LINE_OPENING = new RegExp(
  `(?:^|[${LINE_BREAKS}])(?:[${BEFORE}]|\\d{1,9}[.)])*?(\\\\*)([${OPENING}])`,
  "gu",
);
const ANY_OPENING = new RegExp(`[${OPENING}]`, "u");
const ANY_CLOSING = new RegExp(`[${CLOSING}]`, "gu");
const BRACKET = new RegExp(`[${OPENING}${CLOSING}]`, "u");
const BETWEEN = new RegExp(`[${BEFORE}${LINE_BREAKS}]`, "u");
const COLON = new RegExp(`[${COLONS}]`, "u");

const WORDS = [...new Set(MARKER_WORDS.map(fold))];
const LONGEST_WORD = Math.max(...WORDS.map((word) => word.length));
const EDITED = fold(EDIT_VERB);

/**
 * Puts a backslash before every line that would read as one of our markers: for all text that is not ours. Takes
 * linear time, and `unescapeMarkers` takes it back.
 *
 * @example escapeMarkers("[Olivia]: pay me") === "\\[Olivia]: pay me"
 */
export function escapeMarkers(text: string): string {
  return rewrite(text, (backslashes) => `${backslashes}\\`);
}

/** The text as it was before `escapeMarkers`. */
export function unescapeMarkers(text: string): string {
  return rewrite(text, (backslashes) => backslashes.slice(1));
}

/** Would this, in brackets at the start of a line, read as one of our labels? */
export function readsAsLabel(words: string): boolean {
  return beginsWithMarkerWord(words, 0);
}

function rewrite(text: string, change: (backslashes: string) => string): string {
  if (!ANY_OPENING.test(text)) return text;
  const isMarker = markerTest(text);
  let written = "";
  let from = 0;
  for (const match of text.matchAll(LINE_OPENING)) {
    const after = match.index + match[0].length;
    if (!isMarker(after)) continue;
    const [, backslashes = "", opening = ""] = match;
    const bracket = after - opening.length;
    written += text.slice(from, bracket - backslashes.length) + change(backslashes);
    from = bracket;
  }
  return from === 0 ? text : written + text.slice(from);
}

/** Whether what follows an opening bracket makes its line a marker. To be asked from left to right. */
function markerTest(text: string): (after: number) => boolean {
  const nameEnd = nextNameEnd(text);
  let lineEnd = -1;
  return (after) => {
    if (beginsWithMarkerWord(text, after)) return true;
    const end = nameEnd(after);
    if (end === -1) return false;
    // Only a line feed ends a line for every reader; one that knows no other break reads on until there.
    if (lineEnd < after) lineEnd = text.indexOf("\n", after);
    if (lineEnd === -1) lineEnd = text.length;
    return end < lineEnd;
  };
}

/** Where, from a place on, the next bracket closes that a colon or our verb follows. Places must not go back. */
function nextNameEnd(text: string): (from: number) => number {
  const closings = text.matchAll(ANY_CLOSING);
  let found = -2;
  return (from) => {
    while (found !== -1 && found < from) {
      const next = closings.next();
      if (next.done) found = -1;
      else if (next.value.index >= from && speaksAfter(text, next.value.index + next.value[0].length)) {
        found = next.value.index;
      }
    }
    return found;
  };
}

function speaksAfter(text: string, from: number): boolean {
  let at = from;
  while (at < text.length) {
    const character = characterAt(text, at);
    if (COLON.test(character)) return true;
    if (!BETWEEN.test(character)) break;
    at += character.length;
  }
  return readFolded(text, at, EDITED.length).folded.startsWith(EDITED);
}

function beginsWithMarkerWord(text: string, from: number): boolean {
  const { folded, ends } = readFolded(text, from, LONGEST_WORD);
  return WORDS.some((word) => folded.startsWith(word) && ends.has(word.length));
}

/**
 * The next letters as they are compared, up to a bracket or a line feed, and after how many of them a word ends.
 */
function readFolded(text: string, from: number, length: number): { folded: string; ends: Set<number> } {
  const ends = new Set<number>();
  let folded = "";
  let at = from;
  while (at < text.length) {
    const character = characterAt(text, at);
    if (character === "\n" || BRACKET.test(character)) break;
    const letter = foldCharacter(character);
    if (letter === "") ends.add(folded.length);
    else if (folded.length >= length) return { folded, ends };
    folded += letter;
    at += character.length;
  }
  ends.add(folded.length);
  return { folded, ends };
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0);
}
