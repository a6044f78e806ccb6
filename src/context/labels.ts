import { TERMINAL_SENDER } from "../message/index.js";
import { CLOSING, COLONS, INVISIBLE, LINE_BREAKS, OPENING, SPACES } from "./characters.js";
import { readsAsLabel } from "./escape.js";
import { fold } from "./fold.js";

/** A name that belongs to one sender of a chat, for ever; `folded` is what no other name of the chat may fold to. */
export type Label = { folded: string; label: string; sender: string };

const MAX_NAME = 64;
const APOSTROPHES = /[\u2019\u02BC\uFF07]/g;
const GAPS = new RegExp(`[${SPACES}${LINE_BREAKS}]+`, "gu");
const COLONS_IN_NAMES = new RegExp(`[${COLONS}]`, "gu");
const SQUARE = `${OPENING}${CLOSING}`;
const ALL_BRACKETS = new RegExp(
  `[${SQUARE}\\p{Ps}\\p{Pe}\\p{Pi}\\p{Pf}<>\\uFE64\\uFE65\\uFF1C\\uFF1E]`,
  "gu",
);
const SQUARE_BRACKETS = new RegExp(`[${SQUARE}]`, "gu");
const UNSEEN = new RegExp(`[${INVISIBLE}]`, "gu");
/** `@U06STGBF4Q0` in a name would read as the token of whoever has that id. */
const MENTIONS = /[@\uFE6B\uFF20][^ ]+/g;
/** Some platforms know people only by their address; whole, it is nobody's token. */
const ADDRESS = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;
const BACKSLASHES = /[\\\u2216\u29F5\u29F9\uFE68\uFF3C]/g;

/** Words of our own that no person may be called, as they would read like one of our rows. */
const OUR_WORDS = [
  ...[
    "system",
    "host",
    "bot",
    "assistant",
    "user",
    "human",
    "tool",
    "tool use",
    "tool call",
    "tool result",
    "developer",
  ],
  ...[
    "thinking",
    "result meta",
    "deploy",
    "model",
    "command",
    "command output",
    "notice",
    "system notice",
    "summary",
  ],
  ...["thread context", "time", "attachment"],
].map(fold);

/**
 * A name without anything that could break out of its brackets or hide in them: one line, no brackets, colons or
 * backslashes, no `@id`, at most 64 characters. A name of which nothing is left becomes the sender's id.
 */
export function neutraliseName(name: string, senderId: string): string {
  const bare = bareText(name.replace(APOSTROPHES, "'").replace(COLONS_IN_NAMES, " "), ALL_BRACKETS);
  const isAddress = bare.length <= MAX_NAME && ADDRESS.test(bare);
  const plain = isAddress ? bare : shortText(bare.replace(MENTIONS, ""), MAX_NAME);
  return fold(plain) === "" ? plainId(senderId) : plain;
}

/** Words for the inside of one of our markers: a file's name, a media type, a reason. */
export function plainWords(words: string, limit: number): string {
  return plainText(words, SQUARE_BRACKETS, limit);
}

/**
 * The name a sender goes by in this chat. A name somebody else has, or that would pass for theirs, gets a number;
 * one that reads like our own markers gives way to the sender's id.
 */
export function labelFor(
  known: readonly Label[],
  sender: string,
  displayName: string,
  reserved: readonly string[],
): { label: string; folded: string; isNew: boolean } {
  const book = labelBook(known);
  return book.labelFor(sender, displayName, reservedNames(reserved));
}

/** What no person is called in a chat, as it is compared: the assistant's names and our own words. */
export function reservedNames(names: readonly string[]): ReadonlySet<string> {
  return new Set([...OUR_WORDS, ...names.map(fold)]);
}

/** The names of a chat, for many questions in a row. What it gives out new it remembers. */
export function labelBook(known: readonly Label[]): {
  labelFor(sender: string, displayName: string, reserved: ReadonlySet<string>): Label & { isNew: boolean };
} {
  const owners = new Map(known.map((label) => [label.folded, label]));
  const walks = new Map<string, Walk>();
  return {
    labelFor(sender, displayName, reserved) {
      const base = baseName(sender, displayName);
      const walk = walkOf(walks, fold(base));
      const isFree = (folded: string) => !isReserved(folded, sender, reserved);
      const found = findLabel(walk, owners, sender, base, isFree);
      if (found.isNew) owners.set(found.folded, { folded: found.folded, label: found.label, sender });
      return found;
    },
  };
}

/**
 * How far the numbers of one name have been gone through, so that the ten-thousandth Guest need not pass all others:
 * every number below `next` has an owner, except the `passed` ones, which were reserved when they were met.
 */
type Walk = { next: number; passed: number[]; first: Map<string, { number: number; label: Label }> };

function walkOf(walks: Map<string, Walk>, foldedBase: string): Walk {
  const known = walks.get(foldedBase);
  if (known) return known;
  const walk: Walk = { next: 1, passed: [], first: new Map() };
  walks.set(foldedBase, walk);
  return walk;
}

/** The lowest number of a name that is the sender's already, or free. */
function findLabel(
  walk: Walk,
  owners: ReadonlyMap<string, Label>,
  sender: string,
  base: string,
  isFree: (folded: string) => boolean,
): Label & { isNew: boolean } {
  for (const number of walk.passed) {
    if ((walk.first.get(sender)?.number ?? Number.POSITIVE_INFINITY) < number) break;
    const label = numbered(base, number);
    const folded = fold(label);
    const owner = owners.get(folded);
    if (owner?.sender === sender) return { ...owner, isNew: false };
    if (!owner && isFree(folded)) return { folded, label, sender, isNew: true };
  }
  for (;;) {
    const own = walk.first.get(sender);
    if (own) return { ...own.label, isNew: false };
    const number = walk.next;
    const label = numbered(base, number);
    const folded = fold(label);
    const owner = owners.get(folded);
    if (!owner && isFree(folded)) return { folded, label, sender, isNew: true };
    walk.next++;
    if (!owner) walk.passed.push(number);
    else if (!walk.first.has(owner.sender)) walk.first.set(owner.sender, { number, label: owner });
  }
}

function numbered(base: string, number: number): string {
  return number === 1 ? base : `${base} ${number}`;
}

function baseName(sender: string, displayName: string): string {
  const name = neutraliseName(displayName, sender);
  return readsAsLabel(name) ? plainId(sender) : name;
}

const TERMINAL = fold(TERMINAL_SENDER);

function isReserved(folded: string, sender: string, reserved: ReadonlySet<string>): boolean {
  if (folded === TERMINAL) return sender !== TERMINAL_SENDER;
  return folded === "" || reserved.has(folded);
}

function plainId(senderId: string): string {
  const plain = plainText(senderId, ALL_BRACKETS, MAX_NAME);
  if (fold(plain) === "") return "Someone";
  // A namespace may be called `time` or `system`.
  return readsAsLabel(plain) ? `id ${plain}` : plain;
}

function plainText(text: string, brackets: RegExp, limit: number): string {
  return shortText(bareText(text, brackets), limit);
}

function bareText(text: string, brackets: RegExp): string {
  return text
    .normalize("NFC")
    .replace(GAPS, " ")
    .replace(UNSEEN, "")
    .replace(brackets, "")
    .replace(BACKSLASHES, "")
    .trim();
}

function shortText(text: string, limit: number): string {
  const bare = text
    .replace(/ +/g, " ")
    .trim()
    // A mark without a letter would settle on our bracket.
    .replace(/^[\p{M} ]+/u, "")
    .normalize("NFC");
  return shorten(bare, limit).trim();
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** At most so many code points, whole characters as people see them where that is possible. */
function shorten(text: string, limit: number): string {
  const points = [...text];
  if (points.length <= limit) return text;
  let kept = "";
  let count = 0;
  for (const { segment } of graphemes.segment(text)) {
    count += [...segment].length;
    if (count > limit) break;
    kept += segment;
  }
  return kept === "" ? points.slice(0, limit).join("") : kept;
}
