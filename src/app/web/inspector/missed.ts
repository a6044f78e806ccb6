import type { LeftOut } from "../../../message/receipt.js";
import { whyNotAnswered } from "../../../message/why.js";
import type { State } from "../state.js";
import type { Seen } from "./seen.js";

/** Of what was never for this assistant, so many are named. */
const NAMED = 20;

type Known = Pick<State, "transcript" | "outcomes" | "tree">;

/**
 * What people said before a call and no model ever reads, because it was turned away at the door: it is on no branch, so
 * no receipt names it.
 */
export function missedBy({ call, blocks, left_out }: Seen, { transcript, outcomes, tree }: Known): LeftOut[] {
  const rows = transcript?.rows ?? [];
  const own = call && rows.find(({ call_id }) => call_id === call.id);
  const until = call ? (own?.seq ?? 0) : Number.POSITIVE_INFINITY;
  const seen = new Set([
    ...blocks.flatMap(({ sources }) => sources.map(({ id }) => id)),
    ...left_out.map(({ message_id }) => message_id),
    ...(tree?.entries ?? []).map(({ message_id }) => message_id),
  ]);
  const missed = rows.flatMap(({ id, seq, message_type }) => {
    const outcome = outcomes[id];
    if (message_type !== "user" || seq >= until || seen.has(id) || outcome?.outcome !== "ignored") return [];
    return [{ message_id: id, reason: `not read here: ${whyNotAnswered(outcome) ?? "it was ignored"}` }];
  });
  return missed.slice(-NAMED);
}
