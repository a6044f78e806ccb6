import { expiredCall, shortenedLists } from "../expired.js";
import type { Fact } from "../store.js";
import { type Context, roomOf } from "./apply.js";

/** Lets go of these requests, and of blocks that no other one has. */
export function expireReceipts(
  context: Context,
  { chat_jid, call_ids, at, reason }: Extract<Fact, { type: "receipts_expired" }>,
): null {
  const { state, journal } = context;
  const room = roomOf(context, chat_jid);
  for (const id of call_ids) {
    const record = state.calls.get(id);
    if (record?.call.chat_jid !== chat_jid || record.call.expired || record.call.status === "running")
      continue;
    const request = { ...record.request, left_out: [], breaks: [] };
    journal.set(state.calls, id, { ...record, request, call: expiredCall(record.call, { at, reason }) });
  }
  const ofChat = () => [...state.calls.values()].filter(({ call }) => call.chat_jid === chat_jid);
  const lists = ofChat().map(({ call, ...list }) => ({
    ...list,
    id: call.id,
    expired: call.expired !== undefined,
  }));
  for (const [id, block_count] of shortenedLists(lists)) {
    const record = state.calls.get(id);
    if (!record) continue;
    const blocks = record.request.blocks.slice(0, Math.max(0, block_count - record.base_count));
    journal.set(state.calls, id, { ...record, block_count, request: { ...record.request, blocks } });
  }
  const used = new Set(ofChat().flatMap(({ request }) => request.blocks.map((block) => block.id)));
  for (const id of [...room.blocks.keys()]) if (!used.has(id)) journal.remove(room.blocks, id);
  return null;
}
