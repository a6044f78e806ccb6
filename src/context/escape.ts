import {
  BLANKS,
  CLOSING,
  COLON_SIGNS,
  COLONS,
  LETTERS_LIKE_MARKS,
  LINE_BREAKS,
  OPENING,
  SPACES,
} from "./characters.js";
import { fold, foldCharacter } from "./fold.js";
import { EDIT_VERB, MARKER_WORDS } from "./markers.js";

/**
 * A bracket that opens a line. Before it may stand anything that is no letter: white space, quotes, dashes, a number of
 * a list, a bracket that closes, backslashes, what cannot be seen.
 */
const NO_LETTER = `(?![${OPENING}${LINE_BREAKS}])[\\P{L}${LETTERS_LIKE_MARKS}]`;
const LINE_OPENING = new RegExp(`(?:^|[${LINE_BREAKS}])(?:${NO_LETTER})*([${OPENING}])`, "gu");
const ANY_OPENING = new RegExp(`[${OPENING}]`, "u");
const ANY_CLOSING = new RegExp(`[${CLOSING}]`, "u");
const EVERY_CLOSING = new RegExp(ANY_CLOSING, "gu");
const LINE_BREAK = new RegExp(`[${LINE_BREAKS}]`, "u");
/**
 * What may stand between a name and its colon. Backslashes must: whether a line is a marker may not hang on one that
 * escaping put before the next line's bracket.
 */
const BETWEEN = new RegExp(
  `(?![${OPENING}${CLOSING}])[${SPACES}${LINE_BREAKS}\\p{C}${BLANKS}\\p{M}\\p{P}\\p{S}${LETTERS_LIKE_MARKS}]`,
  "u",
);
const COLON = new RegExp(`[${COLONS}${COLON_SIGNS}]`, "u");
/** Words aside, as in `[Olivia] (slack):`. */
const ASIDE_OPENING = new RegExp(`(?![${OPENING}])[\\p{Ps}<]`, "u");
const ASIDE_CLOSING = new RegExp(`(?![${CLOSING}])[\\p{Pe}>]`, "u");
/** A name may be broken in the middle, with an empty line at most. */
const BREAKS_IN_NAME = 2;

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
    const bracket = after - (match[1] ?? "").length;
    let backslashes = bracket;
    while (text[backslashes - 1] === "\\") backslashes--;
    written.push(text.slice(from, backslashes), change(text.slice(backslashes, bracket)));
    from = bracket;
  }
  return written.length === 0 ? text : written.join("") + text.slice(from);
}

/** Whether what follows an opening bracket makes its line a marker. To be asked from left to right. */
function markerTest(text: string): (after: number) => boolean {
  const firstEnd = nextClosing(text, () => true);
  const nameEnd = nextClosing(text, (after) => speaksAfter(text, after));
  const lineEnds = nextLineEnds(text);
  return (after) => {
    if (beginsWithMarkerWord(text, after)) return true;
    const end = nameEnd(after);
    if (end === -1) return false;
    const { line, broken } = lineEnds(after);
    // A bracket that closes only further down holds one name, broken in the middle.
    return end < line || (end < broken && end === firstEnd(after));
  };
}

/**
 * Where the line of a place ends, and where a name broken in the middle would have to. Only a line feed ends a line
 * for every reader; one that knows no other break reads on until there. Places must not go back.
 */
function nextLineEnds(text: string): (from: number) => { line: number; broken: number } {
  const endFrom = (from: number): number => {
    const end = text.indexOf("\n", from);
    return end === -1 ? text.length : end;
  };
  let ends = { line: -1, broken: -1 };
  return (from) => {
    if (ends.line >= from) return ends;
    const line = endFrom(from);
    let broken = line;
    for (let breaks = 0; breaks < BREAKS_IN_NAME; breaks++) broken = endFrom(broken + 1);
    ends = { line, broken };
    return ends;
  };
}

/** Where, from a place on, the next bracket closes whose end passes the test. Places must not go back. */
function nextClosing(text: string, test: (after: number) => boolean): (from: number) => number {
  const closings = text.matchAll(EVERY_CLOSING);
  let found = -2;
  return (from) => {
    while (found !== -1 && found < from) {
      const next = closings.next();
      if (next.done) found = -1;
      else if (next.value.index >= from && test(next.value.index + next.value[0].length)) {
        found = next.value.index;
      }
    }
    return found;
  };
}

/** Whether a colon or our verb follows a bracket. Looks no further than the next one that closes: linear in all. */
function speaksAfter(text: string, from: number): boolean {
  let aside: "none" | "open" | "words" = "none";
  let hasWords = false;
  for (let at = from, character = ""; at < text.length; at += character.length) {
    if (aside === "none" && RULES_OUT[text.charCodeAt(at)]) return false;
    character = characterAt(text, at);
    if (ANY_CLOSING.test(character)) return false;
    if (ASIDE_CLOSING.test(character)) aside = "none";
    else if (aside === "words") {
      if (character === "\n") return false;
    } else if (COLON.test(character)) return true;
    else if (ASIDE_OPENING.test(character)) aside = "open";
    else if (!BETWEEN.test(character)) {
      // Of many asides only the first is read: reading each would cost too much.
      if ((aside === "none" || !hasWords) && isEdited(text, at)) return true;
      if (aside === "none") return false;
      aside = "words";
      hasWords = true;
    }
  }
  return false;
}

function isEdited(text: string, at: number): boolean {
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
