import { CLOSING, COLONS, DECORATION, INVISIBLE, LINE_BREAKS, OPENING, SPACES } from "./characters.js";
import { fold, foldCharacter } from "./fold.js";
import { EDIT_VERB, MARKER_WORDS } from "./markers.js";

/**
 * A bracket that opens a line, with the backslashes it already has. Before it may stand anything that is no letter:
 * white space, quotes, dashes, a number of a list, what cannot be seen (four letters are among that).
 */
const NO_LETTER = `[^\\p{L}\\\\${OPENING}${CLOSING}${LINE_BREAKS}]|[\\u115F\\u1160\\u3164\\uFFA0]`;
const LINE_OPENING = new RegExp(`(?:^|[${LINE_BREAKS}])(?:${NO_LETTER})*(\\\\*)([${OPENING}])`, "gu");
const ANY_OPENING = new RegExp(`[${OPENING}]`, "u");
const ANY_CLOSING = new RegExp(`[${CLOSING}]`, "u");
const EVERY_CLOSING = new RegExp(ANY_CLOSING, "gu");
const LINE_BREAK = new RegExp(`[${LINE_BREAKS}]`, "u");
/** What may stand between a name and its colon. */
const BETWEEN = new RegExp(`[${SPACES}${LINE_BREAKS}${INVISIBLE}\\p{M}${DECORATION}]`, "u");
const COLON = new RegExp(`[${COLONS}]`, "u");

/** ASCII characters that, behind a bracket, rule out a colon and our verb: most brackets are done with at a glance. */
const RULES_OUT = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return !COLON.test(character) && !BETWEEN.test(character) && !/e/i.test(character);
});

/** Our labels as they are compared. A single word must end where ours ends: `[timeout]` is not `[Time`. */
const WORDS = MARKER_WORDS.map((words) => ({ folded: fold(words), isSingle: !words.includes(" ") }));
const LONGEST_WORD = Math.max(...WORDS.map(({ folded }) => folded.length));
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
  const written: string[] = [];
  let from = 0;
  for (const match of text.matchAll(LINE_OPENING)) {
    const after = match.index + match[0].length;
    if (!isMarker(after)) continue;
    const [, backslashes = "", opening = ""] = match;
    const bracket = after - opening.length;
    written.push(text.slice(from, bracket - backslashes.length), change(backslashes));
    from = bracket;
  }
  return written.length === 0 ? text : written.join("") + text.slice(from);
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
  const closings = text.matchAll(EVERY_CLOSING);
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
    if (RULES_OUT[text.charCodeAt(at)]) return false;
    const character = characterAt(text, at);
    if (COLON.test(character)) return true;
    if (!BETWEEN.test(character)) break;
    at += character.length;
  }
  return readFolded(text, at, EDITED.length).folded.startsWith(EDITED);
}

function beginsWithMarkerWord(text: string, from: number): boolean {
  const { folded, ends } = readFolded(text, from, LONGEST_WORD);
  return WORDS.some(
    (word) => folded.startsWith(word.folded) && (!word.isSingle || ends.has(word.folded.length)),
  );
}

/**
 * The next letters as they are compared, up to a bracket or a line feed, and after how many of them a word ends. More
 * brackets that open on the same line, as in `[[Time`, are passed over.
 */
function readFolded(text: string, from: number, length: number): { folded: string; ends: Set<number> } {
  const ends = new Set<number>();
  let folded = "";
  let sameLine = true;
  for (let at = from, character = ""; at < text.length; at += character.length) {
    character = characterAt(text, at);
    const isOpening = ANY_OPENING.test(character);
    if (isOpening && folded === "" && sameLine) continue;
    if (character === "\n" || isOpening || ANY_CLOSING.test(character)) break;
    const letter = foldCharacter(character);
    if (letter === "") ends.add(folded.length);
    else if (folded.length >= length) return { folded, ends };
    folded += letter;
    sameLine &&= !LINE_BREAK.test(character);
  }
  ends.add(folded.length);
  return { folded, ends };
}

function characterAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0);
}
