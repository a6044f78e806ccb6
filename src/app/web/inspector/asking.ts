import type { CallEnvelope } from "../../../message/index.js";
import { explain, type Asked, type Page } from "../state.js";
import type { Seen } from "./seen.js";

/** Asks what changed since the pinned call, or since the one before. */
export async function askChanges(page: Page, call: CallEnvelope): Promise<void> {
  const about = changesKey(page.state().pinned, call);
  page.set({ diff: { about, status: "loading" } });
  const diff = await answered(page, about, async () => {
    const before = pinnedBefore(page.state().pinned, call) ?? (await callBefore(page, call));
    return before === null ? null : page.client.diff(before, call.id);
  });
  if (page.state().diff?.about === about) page.set({ diff });
}

/** Gives a model the same context again. Nothing of it becomes part of the chat. */
export async function askAgain(page: Page, call: CallEnvelope, model: string): Promise<void> {
  const about = call.id;
  page.set({ replay: { about, status: "loading" } });
  const replay = await answered(page, about, () => page.client.replay(call.id, model));
  if (page.state().replay?.about === about) page.set({ replay });
}

/** What a stored difference is between. */
export function changesKey(pinned: Seen | null, call: CallEnvelope): string {
  return `${pinnedBefore(pinned, call) ?? ""} ${call.id}`;
}

function pinnedBefore(pinned: Seen | null, call: CallEnvelope): string | null {
  return pinned?.call && pinned.call.id !== call.id ? pinned.call.id : null;
}

async function answered<Answer>(
  page: Page,
  about: string,
  ask: () => Promise<Answer>,
): Promise<Asked<string, Answer>> {
  try {
    return { about, status: "ready", answer: await ask() };
  } catch (error) {
    return { about, status: "failed", why: explain(page, error) };
  }
}

/** The call before this one: of the same turn, or the last of the turn before. Null when it was the first. */
async function callBefore(page: Page, call: CallEnvelope): Promise<string | null> {
  const { client } = page;
  const { chat_jid, turn_id } = call;
  const { calls } = turn_id === null ? { calls: [] } : await client.calls(chat_jid, { turn_id, limit: 500 });
  const mine = calls.findIndex(({ id }) => id === call.id);
  const sameTurn = calls.slice(0, Math.max(0, mine)).findLast(({ purpose }) => purpose === call.purpose);
  if (sameTurn) return sameTurn.id;
  const rows = page.state().transcript?.rows ?? [];
  const first = rows.find((row) => row.turn_id === turn_id && row.call_id !== null);
  if (!first) return null;
  const near = rows.findLast((row) => row.seq < first.seq && isOther(row.call_id, calls));
  if (near) return near.call_id;
  const { messages } = await client.messages(chat_jid, {
    before_seq: first.seq,
    type: "assistant",
    limit: 20,
  });
  return messages.findLast((row) => isOther(row.call_id, calls))?.call_id ?? null;
}

function isOther(call_id: string | null, calls: readonly CallEnvelope[]): boolean {
  return call_id !== null && !calls.some(({ id }) => id === call_id);
}
