import type { Outcome } from "../message/index.js";
import type { Inbound } from "../store/store.js";
import type { Hall } from "./hall.js";

/** What became of a message, with everything that can be traced from it. Null when it never came in. */
export async function outcomeOf(
  hall: Pick<Hall, "store">,
  chatJid: string,
  messageId: string,
): Promise<Outcome | null> {
  const inbound = await hall.store.read.inbound(chatJid, messageId);
  return inbound ? traced(hall, inbound) : null;
}

export async function traced(hall: Pick<Hall, "store">, inbound: Inbound): Promise<Outcome> {
  const { chat_jid, message_id, turn_id } = inbound;
  const calls =
    turn_id === null ? [] : await hall.store.read.calls({ chat_jid, turn_id, after: null, limit: 500 });
  const turn = turn_id === null ? null : await hall.store.read.turn(turn_id);
  return {
    message_id,
    trace_id: turn?.trigger_id ?? message_id,
    outcome: inbound.outcome,
    reason: inbound.outcome_reason || inbound.reason,
    turn_id,
    call_ids: calls.map((call) => call.id),
    deliveries: await deliveriesFor(hall, inbound),
  };
}

/** Deliveries of the answer; of the message itself when it was only mirrored. */
async function deliveriesFor(
  hall: Pick<Hall, "store">,
  { chat_jid, message_id, turn_id }: Inbound,
): Promise<Outcome["deliveries"]> {
  const rows = turn_id === null ? [] : await hall.store.read.messagesOfTurn(chat_jid, turn_id);
  const ids = [message_id, ...rows.map((row) => row.id)];
  const found = [];
  for (const id of ids) {
    found.push(
      ...(await hall.store.read.deliveries({
        chat_jid,
        message_id: id,
        state: null,
        after: null,
        limit: 500,
      })),
    );
  }
  return found.map(({ id, channel, address, state, external_id, attempts, last_error }) => ({
    id,
    channel,
    address,
    state,
    external_id,
    attempts,
    last_error,
  }));
}
