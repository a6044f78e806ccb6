import { z } from "zod";
import { Entity as EntitySchema, type MessageRow } from "../message/index.js";

/** A stretch of a message that the platform marked, counted in UTF-16 code units. */
type Entity = z.infer<typeof EntitySchema>;

export type TriggerOptions = {
  /** The assistant's name and its aliases, without the `@`. */
  names: readonly string[];
  /** `metadata.entities` of the message. */
  entities?: readonly Entity[] | null | undefined;
  /** Our own ids on the platform, as entities spell them. */
  botIds?: readonly string[] | undefined;
};

/** Where a message calls the assistant: by its name at the start, or by the platform's own mention. */
export type TriggerMatch = { start: number; end: number; kind: "name" | "mention" };

/** What a message says that holds nothing but the trigger. */
export const BARE_MENTION = "(mention)";

// U+FEFF is missing on purpose: white space does not include what cannot be seen.
const LEADING_SPACE = /^[\t-\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*/;
/** What continues a name: letters, digits, marks and the invisible; also a joining sign with a letter behind it. */
const GOES_ON = /[\p{L}\p{N}\p{M}\p{Cf}\p{DI}_]|(?:[-\u2010\u2011]+|[.@/'’+&=#$%~\\])[\p{L}\p{N}_]/uy;

const Entities = z.array(EntitySchema).max(1000);

/** What the platform marked in a row. Stretches of an old import do not fit its text any more. */
export function entitiesOf({ metadata }: Pick<MessageRow, "metadata">): Entity[] {
  if (!Array.isArray(metadata.entities) || metadata.legacy_ingest === true) return [];
  return Entities.safeParse(metadata.entities).data ?? [];
}

/** Does this message call the assistant, and where? */
export function matchTrigger(content: string, options: TriggerOptions): TriggerMatch | null {
  const start = LEADING_SPACE.exec(content)?.[0].length ?? 0;
  return matchName(content, start, options.names) ?? matchMention(content, start, options);
}

/** How much of the message's start is its trigger, with the comma or colon and the space behind it. */
export function triggerEnd(content: string, options: TriggerOptions): number {
  const match = matchTrigger(content, options);
  if (!match || match.start !== LEADING_SPACE.exec(content)?.[0].length) return 0;
  const rest = /^[,:]?(?:\r\n|[\t-\r \u00A0\u3000])?/.exec(content.slice(match.end, match.end + 3));
  return match.end + (rest?.[0].length ?? 0);
}

/** The message without so much of its start; with nothing left it reads `(mention)`. */
export function withoutTrigger(content: string, end: number): string {
  if (end <= 0) return content;
  const rest = content.slice(end);
  return rest.trim() === "" ? BARE_MENTION : rest;
}

/** The message as the model reads it, without its trigger. */
export function stripTrigger(content: string, options: TriggerOptions): string {
  return withoutTrigger(content, triggerEnd(content, options));
}

function matchName(content: string, start: number, names: readonly string[]): TriggerMatch | null {
  if (content[start] !== "@") return null;
  let longest = 0;
  for (const name of names) {
    // The same letters may be typed composed or decomposed.
    for (const spelling of new Set([name, name.normalize("NFC"), name.normalize("NFD")])) {
      const length = spelling === "" ? 0 : sameLetters(content, start + 1, spelling);
      if (length > longest && endsHere(content, start + 1 + length)) longest = length;
    }
  }
  return longest === 0 ? null : { start, end: start + 1 + longest, kind: "name" };
}

/** How many code units of the text, from here on, spell this name in any case; 0 when they do not. */
function sameLetters(content: string, from: number, name: string): number {
  let at = from;
  for (const letter of name) {
    const point = content.codePointAt(at);
    if (point === undefined || !sameLetter(String.fromCodePoint(point), letter)) return 0;
    at += point > 0xffff ? 2 : 1;
  }
  return at - from;
}

/** Only case is folded. Signs that merely fold to a letter, such as the Kelvin sign to k, are look-alikes. */
function sameLetter(typed: string, letter: string): boolean {
  if (typed === letter) return true;
  return typed.normalize("NFKC") === typed && small(typed) === small(letter);
}

function small(letter: string): string {
  return letter === "ς" ? "σ" : letter.toLowerCase();
}

function endsHere(content: string, at: number): boolean {
  GOES_ON.lastIndex = at;
  return !GOES_ON.test(content);
}

function matchMention(
  content: string,
  start: number,
  { entities, botIds }: TriggerOptions,
): TriggerMatch | null {
  if (!entities || !botIds || botIds.length === 0) return null;
  const ours = entities
    .filter(({ type, id }) => /mention/i.test(type) && typeof id === "string" && botIds.includes(id))
    .filter(({ offset, length }) => length > 0 && offset >= start && offset + length <= content.length)
    .sort((a, b) => a.offset - b.offset);
  if (ours.length === 0) return null;
  const isAside = asideTest(content, entities);
  const found = ours.find(({ offset }) => !isAside(offset));
  return found ? { start: found.offset, end: found.offset + found.length, kind: "mention" } : null;
}

const ASIDES = /```[\s\S]*?(?:```|(?![\s\S]))|`[^`\n]*`|^[\t ]*>[^\n]*/gm;
const ASIDE_TYPES = new Set(["code", "pre", "blockquote", "expandable_blockquote", "quote"]);

/** Whether a place is inside a quote or code. To be asked from left to right. */
function asideTest(content: string, entities: readonly Entity[]): (offset: number) => boolean {
  const marked = entities
    .filter(({ type }) => ASIDE_TYPES.has(type))
    .map(({ offset, length }) => ({ from: offset, to: offset + length }));
  const written = [...content.matchAll(ASIDES)].map(({ index, 0: text }) => ({
    from: index,
    to: index + text.length,
  }));
  const asides = [...marked, ...written].sort((a, b) => a.from - b.from);
  let next = 0;
  let reach = 0;
  return (offset) => {
    for (let aside = asides[next]; aside && aside.from <= offset; aside = asides[++next]) {
      reach = Math.max(reach, aside.to);
    }
    return offset < reach;
  };
}
