import { type MessageRow, type TerminalOutcome, Usage } from "../message/index.js";
import type { Fact, NewMessage, TurnStatus } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { newRow } from "./rows.js";
import { outcomeFact, type TurnState } from "./turnState.js";

/** How a turn ends, and what becomes of its messages. */
export type Ending = {
  outcome: "answered" | "stopped" | "superseded" | "over_budget" | "expired" | "failed";
  reason: string;
};

/** The facts that end a turn: its figures, the outcome of each of its messages, and its status. */
export function endingFacts(hall: Hall, state: TurnState, ending: Ending, usage: Usage | null): Fact[] {
  const { turn, chat, members } = state;
  const at = iso(hall.clock.now());
  const figures: Fact[] = usage ? [{ type: "message", message: resultMeta(hall, state, usage) }] : [];
  return [
    ...figures,
    ...members.map(({ message }, index) => {
      // What happens to those who joined later does not take an answer back.
      const own: Ending = index < state.answered ? { outcome: "answered", reason: state.why } : ending;
      return outcomeFact(hall, message, outcomeOfMember(message, state, own), own.reason, turn.id);
    }),
    { type: "turn_ended", turn_id: turn.id, chat_jid: chat.jid, status: statusOf(ending), at },
  ];
}

/** Of an answered turn, the trigger was answered; what it waited with was collected, what came later steered. */
function outcomeOfMember(message: MessageRow, { trigger }: TurnState, { outcome }: Ending): TerminalOutcome {
  if (outcome !== "answered" || message.id === trigger.id) return outcome;
  return message.seq < trigger.seq ? "collected" : "steered";
}

function statusOf({ outcome }: Ending): Exclude<TurnStatus, "running"> {
  switch (outcome) {
    case "answered":
      return "ended";
    case "expired":
      return "ended";
    case "over_budget":
      return "failed";
    case "stopped":
    case "superseded":
    case "failed":
      return outcome;
  }
}

function resultMeta(hall: Hall, { chat, turn }: TurnState, usage: Usage): NewMessage {
  const duration = hall.clock.now() - Date.parse(turn.started_at);
  const money = usage.cost === null ? "cost unknown" : `$${usage.cost.total.toFixed(4)}`;
  const tokensIn = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  // No call uses nothing: a server that tells no figures is not a free one.
  const tokens =
    Usage.contextSize(usage) === 0 ? "tokens unknown" : `${tokensIn} tokens in, ${usage.outputTokens} out`;
  const seconds = (duration / 1000).toFixed(1);
  return newRow({
    id: hall.clock.newId(),
    chat_jid: chat.jid,
    sender: "result_meta",
    sender_name: "result_meta",
    content: `${tokens} · ${money} · ${seconds} s`,
    timestamp: iso(hall.clock.now()),
    message_type: "host",
    metadata: { usage, duration_ms: duration },
    turn_id: turn.id,
  });
}
