import type { MessageRow } from "./row.js";

/** A prefix longer than this was no name. */
const MAX_PREFIX = 512;

/** How long the baked prefix of a line is, 0 when it has none. */
type Baked = (line: string) => number;

/** The shapes older systems baked into content, by source. Nothing else is ever peeled. */
const BAKED: ReadonlyMap<string, Baked> = new Map([
  ["slack", (line: string) => slackPrefix(line)],
  ["discord", (line: string) => headedPrefix(line, /^\[Discord channel:[^\s\]]+ user:/)],
  ["imessage", (line: string) => namePrefix(line)],
  ["bluebubbles", (line: string) => namePrefix(line)],
]);

/** Peel the prefix an older system put before the text. Only for rows marked `legacy_ingest`; see `displayContent`. */
export function stripLegacyIngestPrefix(content: string, source: string): string {
  const [line = ""] = content.slice(0, MAX_PREFIX).split("\n", 1);
  return content.slice(BAKED.get(source)?.(line) ?? 0);
}

/** What a screen shows of a row: its content verbatim, and an old import without its baked prefix. */
export function displayContent(row: Pick<MessageRow, "content" | "metadata">): string {
  if (row.metadata.legacy_ingest !== true) return row.content;
  return stripLegacyIngestPrefix(row.content, String(row.metadata.source ?? ""));
}

/** `[Slack channel:C06 user:Olivia (<@U06>)] `; the oldest had no mention. */
function slackPrefix(line: string): number {
  const head = /^\[Slack channel:[^\s\]]+ user:/.exec(line)?.[0].length ?? 0;
  if (head === 0) return 0;
  const end = closing(line, head, "] ");
  const mention = / \(<@[A-Z0-9]+>\)\] /.exec(line.slice(head));
  if (!mention) return end;
  // The name may hold brackets of its own; but a bracket that closed the prefix earlier leaves the rest to the person.
  const mentionStart = head + mention.index;
  const closedBefore = end > 0 && end - 1 < mentionStart;
  return closedBefore ? end : mentionStart + mention[0].length;
}

/** `[Discord channel:1 user:Olivia] `. */
function headedPrefix(line: string, shape: RegExp): number {
  const head = shape.exec(line)?.[0].length ?? 0;
  return head === 0 ? 0 : closing(line, head, "] ");
}

/** `[Olivia]: `. */
function namePrefix(line: string): number {
  return line.startsWith("[") && !line.startsWith("[]") ? closing(line, 1, "]: ") : 0;
}

/** Just after the bracket that closes the prefix, brackets inside the name counted; 0 when none does. */
function closing(line: string, from: number, end: "] " | "]: "): number {
  let open = 0;
  for (let at = from; at < line.length; at++) {
    if (line[at] === "[") open++;
    if (line[at] !== "]") continue;
    if (open === 0) return line.startsWith(end, at) ? at + end.length : 0;
    open--;
  }
  return 0;
}
