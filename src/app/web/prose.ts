/** What the assistant wrote, as a tree of plain values: the page makes elements of it and never parses HTML. */
export type Span =
  | { type: "text" | "code" | "strong" | "em"; text: string }
  | { type: "link"; text: string; href: string };
export type Paragraph =
  | { type: "paragraph" | "heading" | "quote"; spans: Span[] }
  | { type: "code"; label: string; text: string }
  | { type: "list"; ordered: boolean; start: number; items: Span[][] }
  | { type: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const ITEM = /^ {0,6}(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;

/** Reads the little formatting that models use: paragraphs, fences, lists, headings, quotes. All else is text. */
export function readProse(text: string): Paragraph[] {
  const lines = text.split(/\r\n|\n|\r/);
  const paragraphs: Paragraph[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const [paragraph, next] = readFence(lines, at) ?? readList(lines, at) ?? readLines(lines, at);
    paragraphs.push(paragraph);
    at = next;
  }
  return paragraphs;
}

type Read = [Paragraph, next: number];

/** A fence that is not closed yet is still being written: it runs to the end. */
function readFence(lines: string[], at: number): Read | null {
  const [, fence = "", label = ""] = FENCE.exec(lines[at] ?? "") ?? [];
  if (fence === "") return null;
  const isEnd = (line: string): boolean => line.trim().startsWith(fence) && /^[`~\s]+$/.test(line);
  const found = lines.findIndex((line, index) => index > at && isEnd(line));
  const end = found < 0 ? lines.length : found;
  return [{ type: "code", label: label.trim(), text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function readList(lines: string[], at: number): Read | null {
  const first = ITEM.exec(lines[at] ?? "");
  if (!first) return null;
  const ordered = first[2] !== undefined;
  const items: string[] = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? "";
    const item = ITEM.exec(line);
    if (item && (item[2] !== undefined) === ordered) items.push(item[3] ?? "");
    else if (/^\s+\S/.test(line) && !item) items.push(`${items.pop() ?? ""}\n${line.trim()}`);
    else break;
  }
  return [{ type: "list", ordered, start: Number(first[2] ?? 1), items: items.map(readSpans) }, next];
}

function readLines(lines: string[], at: number): Read {
  const line = lines[at] ?? "";
  if (/^ {0,3}([-*_])\s*(?:\1\s*){2,}$/.test(line)) return [{ type: "rule" }, at + 1];
  const heading = /^ {0,3}#{1,6}\s+(.+?)\s*#*$/.exec(line);
  if (heading) return [{ type: "heading", spans: readSpans(heading[1] ?? "") }, at + 1];
  const quoted = line.startsWith(">");
  const end = lines.findIndex(
    (other, index) => index > at && (isBoundary(other) || other.startsWith(">") !== quoted),
  );
  const next = end < 0 ? lines.length : end;
  const own = lines.slice(at, next);
  const text = quoted ? own.map((other) => other.replace(/^>\s?/, "")) : own;
  return [{ type: quoted ? "quote" : "paragraph", spans: readSpans(text.join("\n")) }, next];
}

function isBoundary(line: string): boolean {
  return line.trim() === "" || FENCE.test(line) || ITEM.test(line) || /^ {0,3}#{1,6}\s/.test(line);
}

const SPAN =
  /(?<tick>`+)(?<code>.+?)\k<tick>(?!`)|\*\*(?<strong>\S(?:[^*]*\S)?)\*\*|(?<![\w*])\*(?<em>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|!?\[(?<label>[^[\]\n]*)\]\((?<target>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)|(?<bare>https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]])/gs;

/** Code, emphasis and links. An image becomes a link: text of a model must not make the browser fetch anything. */
export function readSpans(text: string): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const found of text.matchAll(SPAN)) {
    const span = spanOf(found.groups ?? {});
    if (!span) continue;
    if (found.index > end) spans.push({ type: "text", text: text.slice(end, found.index) });
    spans.push(span);
    end = found.index + found[0].length;
  }
  if (end < text.length) spans.push({ type: "text", text: text.slice(end) });
  return spans;
}

function spanOf({ code, strong, em, label, target, bare }: Record<string, string | undefined>): Span | null {
  if (code !== undefined) return { type: "code", text: code };
  if (strong !== undefined) return { type: "strong", text: strong };
  if (em !== undefined) return { type: "em", text: em };
  if (bare !== undefined) return { type: "link", text: bare, href: bare };
  if (target === undefined || !/^(?:https?:\/\/|mailto:)/i.test(target)) return null;
  return { type: "link", text: label || target, href: target };
}
