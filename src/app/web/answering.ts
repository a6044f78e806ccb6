import { audienceOf } from "../../message/audience.js";
import type { MessageRow, Outcome } from "../../message/index.js";
import type { Item } from "./layout.js";
import type { Live } from "./live.js";

type Outcomes = Readonly<Record<string, Outcome>>;

/**
 * Which answers are to something else than the words right above them, and to what: while the assistant
 * is at work people go on talking, and what waited is answered further down.
 */
export function answersFurtherUp(items: readonly Item[], outcomes: Outcomes): Map<string, MessageRow> {
  const rows = items.flatMap((item) => (item.type === "row" ? [item] : []));
  const asked = questions(rows, outcomes);
  const further = new Map<string, MessageRow>();
  let above: MessageRow | null = null;
  for (const { key, row, named } of rows) {
    if (audienceOf(row).shown.hand === "person") above = row;
    else if (named && row.turn_id !== null && above) {
      const question = asked.get(row.turn_id);
      if (question && question !== above && outcomes[above.id]?.turn_id !== row.turn_id)
        further.set(key, question);
    }
  }
  return further;
}

/** For each turn, the message that got its answer. */
function questions(rows: readonly { row: MessageRow }[], outcomes: Outcomes): Map<string, MessageRow> {
  const asked = new Map<string, MessageRow>();
  for (const { row } of rows) {
    const outcome = outcomes[row.id];
    if (outcome?.turn_id && outcome.trace_id === row.id) asked.set(outcome.turn_id, row);
  }
  return asked;
}

/** Something else is being answered, and this waits. Not said while it is unknown what is being answered. */
export function isWaiting(live: Live, row: MessageRow, outcome: Outcome | null): boolean {
  if (outcome?.outcome !== "pending" || live.turns.length === 0) return false;
  return live.turns.every((turn) => live.asked[turn] !== undefined && live.asked[turn] !== row.id);
}

/** What is known of a message that has just come in: nothing yet. */
export function pendingOutcome(message_id: string): Outcome {
  return {
    message_id,
    trace_id: message_id,
    outcome: "pending",
    reason: "",
    turn_id: null,
    call_ids: [],
    deliveries: [],
  };
}
