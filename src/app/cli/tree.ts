import { clip } from "../../message/index.js";
import type { Client, HeadMoved, TreeEntry } from "../client/index.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { plain } from "./plain.js";

const WORDS_SHOWN = 60;

/** The newest entries of a chat's tree: what the assistant reads now, and what stands on other branches. */
export async function tree(
  { client }: Connection,
  chat: string,
  out: Output,
  { count }: { count: number },
): Promise<void> {
  const { tree: entries, head } = await client.tree(chat, { limit: count, newest: true });
  if (out.json) {
    for (const entry of entries) out.result({ ...entry, head: entry.id === head }, "");
    return;
  }
  if (entries.length === 0) return out.line(`Nothing has been read in ${plain(chat)} yet.`);
  const labels = labelsOf(entries);
  const shown = entries.filter((entry) => !isLabel(entry));
  const branch = branchTo(head, entries);
  const rows = shown.map((entry, index) => {
    const mark = entry.id === head ? "●" : branch.has(entry.id) ? "│" : "·";
    const parent = entry.parent ?? "the start";
    const jumps = index > 0 && entry.parent !== shown[index - 1]?.id ? `after ${parent}` : "";
    return [mark, entry.id, inWords(entry), jumps, labels.get(entry.id) ?? ""];
  });
  out.line(columns(rows));
  if (head === null) out.line("The next message starts a fresh branch.");
}

/** Go on from a message: by its id, by its number in the chat, or by an entry's id. */
export async function fork(
  { client }: Connection,
  chat: string,
  from: string,
  out: Output,
  { summarise }: { summarise: boolean },
): Promise<void> {
  const moved = await client.fork(chat, { from: await messageId(client, chat, from), summarise });
  tellMoved(
    moved,
    out,
    "The conversation goes on from there. What came after it stays, on a branch of its own.",
  );
}

/** Move the head to an entry; `fresh` starts a new branch. */
export async function head({ client }: Connection, chat: string, to: string, out: Output): Promise<void> {
  const moved = await client.moveHead(chat, to === "fresh" ? null : to);
  tellMoved(moved, out, "The conversation goes on from there.");
}

export async function label(
  { client }: Connection,
  chat: string,
  [entry = "", ...words]: readonly string[],
  out: Output,
): Promise<void> {
  if (words.length === 0) throw new CommandFailed(2, "A label needs words: longhand label <entry> <words…>");
  out.result(await client.label(chat, entry, words.join(" ")), "Labelled.");
}

/** Summarise what is old. */
export async function compact({ client }: Connection, chat: string, out: Output): Promise<void> {
  const made = await client.compact(chat);
  if ("waiting" in made) return out.result(made, `${plain(made.waiting)}.`);
  const { id, parent, data } = made.entry;
  const lines = [
    plain(String(data.summary ?? "")),
    "",
    `This stands for what was said before; all of it stays in the chat. To undo it: longhand head ${parent}`,
  ];
  out.result({ id, ...data }, lines.join("\n"));
}

function tellMoved(moved: HeadMoved, out: Output, words: string): void {
  out.result(moved, "waiting" in moved ? `${plain(moved.waiting)}.` : words);
}

async function messageId(client: Client, chat: string, asked: string): Promise<string> {
  const seq = /^#?(\d{1,15})$/.exec(asked)?.[1];
  if (seq === undefined) return asked;
  const { messages } = await client.messages(chat, { before_seq: Number(seq) + 1, limit: 1 });
  const row = messages.find((message) => message.seq === Number(seq));
  if (!row)
    throw new CommandFailed(4, `There is no message ${seq} in ${plain(chat)}. See: longhand log --ids`);
  return row.id;
}

/** The beginning of what it says, on one line. */
function clipped(text: unknown): string {
  return clip(plain(String(text ?? "").replace(/\s+/g, " ")), WORDS_SHOWN);
}

function inWords({ kind, message, data }: TreeEntry): string {
  switch (kind) {
    case "message":
      if (!message) return "(its message is gone)";
      return message.deleted ? "(deleted)" : `${clipped(message.sender_name)}: ${clipped(message.content)}`;
    case "edit":
      return `edit: ${clipped(message?.content)}`;
    case "compaction":
      return `compaction: ${clipped(data.summary)}`;
    case "branch_summary":
      return `summary of another branch: ${clipped(data.summary)}`;
    default:
      return `${clipped(data.custom_type ?? kind)}: ${clipped(data.content)}`;
  }
}

/** What stands between the start and the head, as far as it is among these. */
function branchTo(head: string | null, entries: readonly TreeEntry[]): Set<string> {
  const parents = new Map(entries.map(({ id, parent }) => [id, parent]));
  const branch = new Set<string>();
  for (let at = head; at !== null && parents.has(at); at = parents.get(at) ?? null) branch.add(at);
  return branch;
}

function isLabel({ kind, data }: TreeEntry): boolean {
  return kind === "custom" && data.custom_type === "label";
}

/** By entry: the newest name it was given. */
function labelsOf(entries: readonly TreeEntry[]): Map<string, string> {
  const labels = entries.filter(isLabel);
  return new Map(labels.map(({ parent, data }) => [parent ?? "", `“${clipped(data.content)}”`]));
}
