import type { Entry, Fact, Turn } from "../store.js";
import { type Context, conflict, type Refusal, roomOf } from "./apply.js";
import { plain } from "./state.js";

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

export function startTurn({ state, journal }: Context, turn: Turn): Refusal | null {
  if (state.turns.has(turn.id)) return conflict(`there is already a turn ${turn.id}`);
  journal.set(state.turns, turn.id, { ...turn });
  return null;
}

export function endTurn({ state, journal }: Context, fact: Of<"turn_ended">): Refusal | null {
  const turn = state.turns.get(fact.turn_id);
  if (turn?.status !== "running" || turn.chat_jid !== fact.chat_jid) {
    return conflict(`turn ${fact.turn_id} is not running`);
  }
  journal.set(state.turns, turn.id, { ...turn, status: fact.status, ended_at: fact.at });
  return null;
}

export function addEntry(context: Context, entry: Entry): Refusal | null {
  const room = roomOf(context, entry.chat_jid);
  const { id, parent, message_id } = entry;
  if (parent !== null && !room.entries.has(parent)) return conflict(`there is no entry ${parent}`);
  if (message_id !== null) {
    const seq = room.seqById.get(message_id);
    const message = seq === undefined ? undefined : room.messages[seq - 1];
    if (!message) return conflict(`there is no message ${message_id}`);
    // A message on the tree waits no longer.
    context.journal.put(room.messages, message.seq - 1, { ...message, untaken: false });
  }
  if (room.entries.has(id)) return conflict(`there is already an entry ${id}`);
  context.journal.set(room.entries, id, { ...entry, data: plain(entry.data) });
  return null;
}

export function moveHead(context: Context, fact: Of<"head">): Refusal | null {
  const room = roomOf(context, fact.chat_jid);
  if (fact.entry_id !== null && !room.entries.has(fact.entry_id))
    return conflict(`there is no entry ${fact.entry_id}`);
  context.journal.set(room.heads, fact.thread_id, fact.entry_id);
  return null;
}
