import type { MessageRow } from "../../../message/row.js";
import type { HeadMoved, TreeEntry } from "../../client/index.js";
import { onceMore } from "../reading.js";
import { session } from "../session.js";
import { say } from "../speaking.js";
import { explain, type Page } from "../state.js";
import type { Tree } from "./tree.js";

/** Entries asked for at once. */
const ENTRIES = 500;

/** Reads what was added to the open chat's tree, and where it stands. The conversation is readable without it. */
export const readTree = onceMore(async (page: Page) => {
  const { open: jid, tree: known } = page.state();
  if (jid === null) return;
  try {
    const tree = await grown(page, jid, known?.jid === jid ? known : null);
    if (page.state().open === jid && page.state().tree === known) page.set({ tree });
  } catch (error) {
    explain(page, error);
  }
});

async function grown(page: Page, jid: string, known: Tree | null): Promise<Tree> {
  const last = known?.entries.at(-1);
  if (known && last) {
    const { tree, head } = await page.client.tree(jid, { after: last.id, limit: ENTRIES });
    if (tree.length < ENTRIES) return { ...known, entries: [...known.entries, ...tree], head };
  }
  const { tree: entries, head } = await page.client.tree(jid, { newest: true, limit: ENTRIES });
  return { jid, entries, head, whole: entries.length < ENTRIES };
}

/** Goes on from this message: what came after it stays in the chat, on a branch of its own. */
export async function forkFrom(page: Page, row: MessageRow, summarise: boolean): Promise<void> {
  // A personal link may speak, not operate: the word does the same.
  if (session.speaker().isPerson) return say(page, "fork", [], row.id);
  await move(page, summarise ? "Summarising what is left…" : null, (jid) =>
    page.client.fork(jid, { from: row.id, summarise }),
  );
}

/** Goes to an entry, on whatever branch it is; null starts afresh. */
export async function goToEntry(page: Page, entry: TreeEntry | null): Promise<void> {
  await move(page, null, (jid) => page.client.moveHead(jid, entry?.id ?? null));
}

/** Has everything old summarised now. */
export async function compactNow(page: Page): Promise<void> {
  await move(page, "Summarising what is old…", (jid) => page.client.compact(jid));
}

/** Gives the end of a branch a name. */
export async function nameBranch(page: Page, leaf: TreeEntry, label: string): Promise<void> {
  await move(page, null, (jid) => page.client.label(jid, leaf.id, label));
}

async function move(
  page: Page,
  meanwhile: string | null,
  work: (jid: string) => Promise<HeadMoved | { entry: TreeEntry }>,
): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  const tell = (text: string | null, failed = false): void => {
    if (page.state().open === jid) page.set({ remark: text === null ? null : { text, failed } });
  };
  tell(meanwhile);
  try {
    const done = await work(jid);
    tell("waiting" in done ? `${done.waiting[0]?.toUpperCase()}${done.waiting.slice(1)}.` : null);
    await readTree(page);
  } catch (error) {
    tell(explain(page, error), true);
  }
}
