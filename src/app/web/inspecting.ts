import type { Call, MessageRow, Outcome } from "../../message/index.js";
import { ApiProblem } from "../client/index.js";
import { type Seen, seenOfCall, seenOfPreview } from "./inspector/seen.js";
import { randomId, session } from "./session.js";
import { submissionOf } from "./speaking.js";
import { explain, type Inspection, type Page } from "./state.js";

/** Shows what the model saw when it said this; for a person's message, what it saw when it answered. */
export async function inspect(page: Page, row: MessageRow): Promise<void> {
  const about = { about: row, withDraft: false, outcome: null };
  page.set({ selected: row.id, view: "inspector", inspection: { ...about, status: "loading" } });
  const show = stillAbout(page, row);
  try {
    const outcome = row.turn_id === null || !row.is_from_me ? await outcomeOf(page, row) : null;
    const turn_id = row.turn_id ?? outcome?.turn_id ?? null;
    const ids = await callsOf(page, row, turn_id, outcome);
    const seen = await Promise.all(ids.map((id) => seenOf(page, id)));
    const mine = seen.findIndex(({ call }) => call?.id === row.call_id);
    show({
      ...about,
      outcome,
      status: "ready",
      seen,
      shown: mine >= 0 ? mine : Math.max(0, seen.length - 1),
    });
  } catch (error) {
    show({ ...about, status: "failed", why: explain(page, error) });
  }
}

/** Shows what the next call would send, with the words that are in the composer and said nowhere yet. */
export async function inspectNow(page: Page): Promise<void> {
  const jid = page.state().open;
  if (jid === null) return;
  const draft = session.draft(jid);
  const about = { about: null, withDraft: draft.trim() !== "", outcome: null };
  page.set({ view: "inspector", inspection: { ...about, status: "loading" } });
  const show = stillAbout(page, null);
  try {
    const asked = about.withDraft ? submissionOf(draft, [], randomId()) : undefined;
    const seen = seenOfPreview(await page.client.context(jid, asked));
    show({ ...about, status: "ready", seen: [seen], shown: 0 });
  } catch (error) {
    show({ ...about, status: "failed", why: explain(page, error) });
  }
}

export function closeInspector(page: Page): void {
  page.set({ inspection: null, lit: [], view: "conversation" });
}

/** Learns what an answer cost, once, when somebody wants to know. */
export async function learnCost(page: Page, call_id: string): Promise<void> {
  if (!page.state().calls[call_id]) await callOf(page, call_id).catch(() => null);
}

function stillAbout(page: Page, row: MessageRow | null): (inspection: Inspection) => void {
  return (inspection) => {
    const now = page.state().inspection;
    if (now !== null && (now.about?.id ?? null) === (row?.id ?? null)) page.set({ inspection });
  };
}

/** A message that is no inbound one has no outcome. */
async function outcomeOf(page: Page, row: MessageRow): Promise<Outcome | null> {
  try {
    return await page.client.outcome(row.chat_jid, row.id);
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return null;
    throw error;
  }
}

async function callsOf(page: Page, row: MessageRow, turn_id: string | null, outcome: Outcome | null) {
  if (turn_id === null) return outcome?.call_ids ?? [];
  const { calls } = await page.client.calls(row.chat_jid, { turn_id, limit: 500 });
  const listed = calls.filter((call) => call.turn_id === turn_id).map((call) => call.id);
  if (listed.length > 0) return listed;
  return outcome?.call_ids ?? (row.call_id === null ? [] : [row.call_id]);
}

async function callOf(page: Page, id: string): Promise<Call> {
  const call = await page.client.call(id);
  page.set({ calls: { ...page.state().calls, [id]: call } });
  return call;
}

async function seenOf(page: Page, id: string): Promise<Seen> {
  const call = await callOf(page, id);
  try {
    return seenOfCall(call, await page.client.requestBytes(id), null);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 410) throw error;
    return seenOfCall(call, null, error.message);
  }
}
