import type { MessageRow } from "../../message/row.js";
import { putChatInAddress } from "./route.js";
import { explain, type Outgoing, type Page } from "./state.js";
import { PAGE, type Transcript, transcriptOf, withEarlier, withLater } from "./transcript.js";

/** Asking for what comes before this gives the newest rows. */
const BEYOND_ALL = Number.MAX_SAFE_INTEGER;

/** Opens a chat at its end. */
export async function openChat(page: Page, jid: string): Promise<void> {
  putChatInAddress(jid);
  const { [jid]: _, ...unread } = page.state().unread;
  page.set({
    open: jid,
    leaf: null,
    view: "conversation",
    transcript: null,
    opening: null,
    trouble: null,
    selected: null,
    search: null,
    inspection: null,
    pinned: null,
    tree: null,
    remark: null,
    lit: [],
    unread,
  });
  await goToEnd(page);
}

/** Shows the newest rows of the open chat. */
export async function goToEnd(page: Page): Promise<void> {
  const { transcript: here, open } = page.state();
  if (here?.atEnd) return page.set({ goal: { end: true } });
  if (open === null) return;
  page.set({ opening: { jid: open, missed: false } });
  await read(page, async (jid) => {
    const rows = await rowsOf(page, jid, { before_seq: BEYOND_ALL });
    return { transcript: transcriptOf(rows, rows.length < PAGE, true), goal: { end: true } };
  });
  const { opening } = page.state();
  if (opening?.jid !== open) return;
  page.set({ opening: null });
  if (opening.missed) await catchUp(page);
}

/** Reads on upwards. */
export const earlier = onlyOnce(async (page: Page) => {
  const first = page.state().transcript?.rows[0];
  if (!first || page.state().transcript?.atStart) return;
  await read(page, async (jid, now) => {
    const rows = await rowsOf(page, jid, { before_seq: first.seq });
    return { transcript: withEarlier(now() ?? transcriptOf([], false, false), rows, rows.length < PAGE) };
  });
});

/** Reads on downwards, after the end was let go. */
export const later = onlyOnce(async (page: Page) => {
  const last = page.state().transcript?.rows.at(-1);
  if (!last || page.state().transcript?.atEnd) return;
  await read(page, async (jid, now) => {
    const rows = await rowsOf(page, jid, { after_seq: last.seq });
    return { transcript: withLater(now() ?? transcriptOf([], false, false), rows, rows.length < PAGE) };
  });
});

/** Fetches what was said while the page was not listening. Far behind, it starts again from the end. */
export const catchUp = onceMore(async (page: Page) => {
  const { transcript: here, opening } = page.state();
  if (opening !== null) return page.set({ opening: { ...opening, missed: true } });
  if (here === null) return goToEnd(page);
  if (!here.atEnd) return;
  await read(page, async (jid, now) => {
    const rows = await rowsOf(page, jid, { after_seq: here.rows.at(-1)?.seq ?? 0 });
    const known = now();
    if (rows.length < PAGE && known) return { transcript: withLater(known, rows, true) };
    const newest = await rowsOf(page, jid, { before_seq: BEYOND_ALL });
    return { transcript: transcriptOf(newest, newest.length < PAGE, true) };
  });
});

/** Brings a message into view and selects it, wherever in the chat it is. */
export async function goTo(page: Page, id: string): Promise<void> {
  const shown = { selected: id, view: "conversation", search: null } as const;
  if (page.state().transcript?.rows.some((row) => row.id === id)) {
    return page.set({ ...shown, goal: { id } });
  }
  await read(page, async (jid) => {
    const { seq } = await page.client.message(jid, id);
    const before = await rowsOf(page, jid, { before_seq: seq + 1 });
    const after = await rowsOf(page, jid, { after_seq: seq });
    const transcript = transcriptOf([...before, ...after], before.length < PAGE, after.length < PAGE);
    return { ...shown, transcript, goal: { id } };
  });
}

/** Looks for words in the open chat. */
export async function search(page: Page, words: string): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  page.set({ search: { words, found: null, trouble: null } });
  if (words.trim() === "") return;
  const answer = (found: MessageRow[] | null, trouble: string | null): void => {
    // An answer that took longer than the next keystroke is no longer asked for.
    if (page.state().search?.words === words) page.set({ search: { words, found, trouble } });
  };
  try {
    answer((await page.client.messages(jid, { q: words, limit: 100 })).messages, null);
  } catch (error) {
    answer(null, explain(page, error));
  }
}

type Reading = Partial<ReturnType<Page["state"]>>;

async function read(
  page: Page,
  work: (jid: string, now: () => Transcript | null) => Promise<Reading>,
): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  const still = (): boolean => page.state().open === jid;
  try {
    const change = await work(jid, () => page.state().transcript);
    if (!still()) return;
    const outgoing = notYetThere(page.state().outgoing, change.transcript?.rows ?? []);
    page.set({ ...change, outgoing, trouble: null });
  } catch (error) {
    const trouble = explain(page, error);
    if (still()) page.set({ trouble });
  }
}

async function rowsOf(page: Page, jid: string, ask: { before_seq: number } | { after_seq: number }) {
  const { messages } = await page.client.messages(jid, { ...ask, limit: PAGE });
  void readOutcomes(page, jid, messages);
  return messages;
}

/** What became of the messages on this page of rows; the conversation is readable without it. */
async function readOutcomes(page: Page, jid: string, rows: MessageRow[]): Promise<void> {
  const first = rows[0];
  if (!first) return;
  try {
    const { outcomes } = await page.client.outcomes(jid, { after_seq: first.seq - 1, limit: PAGE });
    const known = Object.fromEntries(outcomes.map((outcome) => [outcome.message_id, outcome]));
    page.set({ outcomes: { ...page.state().outcomes, ...known } });
  } catch {
    // Said again by the next event, or when the row is selected.
  }
}

/** What was sent from here and does not stand on the page yet. */
export function notYetThere(outgoing: Outgoing[], rows: readonly MessageRow[]): Outgoing[] {
  if (outgoing.length === 0) return outgoing;
  const there = new Set(rows.map((row) => row.metadata.external_message_id));
  return outgoing.filter(({ key }) => !there.has(key));
}

/** Not twice at a time; but whoever asks meanwhile is not told old news: it is done once more. */
export function onceMore(work: (page: Page) => Promise<void>): (page: Page) => Promise<void> {
  let asked = false;
  const once = onlyOnce(async (page) => {
    do {
      asked = false;
      await work(page);
    } while (asked);
  });
  return (page) => {
    asked = true;
    return once(page);
  };
}

function onlyOnce(work: (page: Page) => Promise<void>): (page: Page) => Promise<void> {
  let busy = false;
  return async (page) => {
    if (busy) return;
    busy = true;
    try {
      await work(page);
    } finally {
      busy = false;
    }
  };
}
