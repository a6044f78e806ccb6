/** An open code fence: the line that opened it, and the marker that closes it. */
type Fence = { opening: string; marker: string };

/** A line with its line break, and whether code is open after it. `marker`: it opens or closes a fence itself. */
type Line = { start: number; end: number; before: Fence | null; after: Fence | null; marker: boolean };

/** A place to cut, and whether code is open there. */
type Cut = { at: number; fence: Fence | null };

const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const BLANK = /^\s*$/;
const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** A cluster longer than this is no letter anybody drew. */
const LONGEST_GRAPHEME = 64;

/**
 * The text in parts of at most `limit` UTF-16 units (at least 2, so that every character fits). Cuts after a paragraph
 * where it can, else after a line, else after a word, and never inside a character. Code that a cut goes through is
 * closed there and opened again in the next part; apart from that, and from parts that would be blank, the parts put
 * together are the text.
 *
 * @example
 * splitText("one two three", 8); // ["one two ", "three"]
 */
export function splitText(text: string, limit: number): string[] {
  const most = Math.max(2, Math.floor(limit));
  if (text.length <= most) return [text];
  const lines = linesOf(text, most);
  const parts: string[] = [];
  let at = 0;
  let fence: Fence | null = null;
  let line = 0;
  while (at < text.length) {
    const head: string = fence ? `${fence.opening}\n` : "";
    const cut = nextCut(text, lines, line, at, most - head.length);
    parts.push(head + closed(text.slice(at, cut.at), cut.at < text.length ? cut.fence : null));
    at = cut.at;
    fence = cut.fence;
    while (line < lines.length - 1 && (lines[line]?.end ?? 0) <= at) line++;
  }
  return parts.filter((part) => !BLANK.test(part));
}

/** Where the part that begins at `from` ends, given room for `room` units. */
function nextCut(text: string, lines: readonly Line[], first: number, from: number, room: number): Cut {
  if (text.length - from <= room) return { at: text.length, fence: null };
  const paragraph: Cut = { at: 0, fence: null };
  const outside: Cut = { at: 0, fence: null };
  let inside: Cut = { at: 0, fence: null };
  for (let index = first; index < lines.length; index++) {
    const line = lines[index];
    if (!line || line.end - from > room) break;
    const next = lines[index + 1];
    if (line.after) {
      // An empty block would be left on one side of the cut.
      const emptyBlock = line.marker || (next?.marker ?? false);
      if (!emptyBlock && fits(text, from, line.end, line.after, room))
        inside = { at: line.end, fence: line.after };
    } else {
      outside.at = line.end;
      const blank = BLANK.test(text.slice(line.start, line.end));
      if (blank && next && !BLANK.test(text.slice(next.start, next.end))) paragraph.at = line.end;
    }
  }
  // A cut too early would leave a stub of a part, so the next kind of place gets its turn.
  const enough = from + room / 3;
  return (
    [paragraph, outside, inside].find((cut) => cut.at > enough) ?? cutInLine(text, lines, first, from, room)
  );
}

/** No line ends in a good place: after a word, or where one letter ends and another begins. */
function cutInLine(text: string, lines: readonly Line[], first: number, from: number, room: number): Cut {
  let index = first;
  while ((lines[index + 1]?.start ?? Number.POSITIVE_INFINITY) < from + room) index++;
  // Closing the code takes room too, which may push the cut back into an earlier line.
  for (; index >= first; index--) {
    const line = lines[index];
    if (!line) break;
    const fence = line.before;
    const begin = Math.max(line.start, from);
    const end = from + room - (fence ? fence.marker.length + 1 : 0);
    if (line.marker && begin > from && begin <= end) return { at: begin, fence };
    if (line.marker || end <= begin) continue;
    const space = lastSpace(text, begin, end);
    return { at: space > from + room / 3 ? space : graphemeEnd(text, begin, end), fence };
  }
  throw new RangeError("fences are short against the limit, so there is always room behind them");
}

/** The place behind the last white space before `end`. */
function lastSpace(text: string, from: number, end: number): number {
  for (let at = end; at > from; at--) if (/\s/.test(text.charAt(at - 1))) return at;
  return from;
}

/** The last place up to `end` where no letter, flag or family is torn apart; always ahead of `from`. */
function graphemeEnd(text: string, from: number, end: number): number {
  const begin = Math.max(from, end - LONGEST_GRAPHEME);
  const window = text.slice(begin, end + LONGEST_GRAPHEME);
  const segment = graphemes.segment(window).containing(end - begin);
  const at = begin + (segment?.index ?? end - begin);
  if (at > from) return at;
  return splitsPair(text, end) ? end - 1 : end;
}

function splitsPair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
}

function fits(text: string, from: number, end: number, fence: Fence, room: number): boolean {
  return closed(text.slice(from, end), fence).length <= room;
}

function closed(part: string, fence: Fence | null): string {
  if (!fence) return part;
  return part.endsWith("\n") ? part + fence.marker : `${part}\n${fence.marker}`;
}

function linesOf(text: string, limit: number): Line[] {
  const lines: Line[] = [];
  let open: Fence | null = null;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline + 1;
    const after: Fence | null = fenceAfter(text, start, end, open, limit);
    lines.push({ start, end, before: open, after, marker: after !== open });
    open = after;
    start = end;
  }
  return lines;
}

function fenceAfter(
  text: string,
  start: number,
  end: number,
  open: Fence | null,
  limit: number,
): Fence | null {
  // A fence that would eat up the parts it stands in is treated as any other line.
  if (end - start > limit / 4) return open;
  const line = text.slice(start, end).trimEnd();
  const marker = FENCE.exec(line)?.[1];
  if (marker === undefined) return open;
  if (!open) return { opening: line, marker };
  return marker.startsWith(open.marker) && line.trimStart() === marker ? null : open;
}
