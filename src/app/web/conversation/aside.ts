import type { Call, Delivery, Outcome } from "../../../message/index.js";
import { dollars, number, seconds, surface } from "../figures.js";

/** What one call cost, in one line. */
export function costOf(call: Call): string {
  const { usage, cost, duration_ms } = call;
  const facts = [usage && `${number(contextSize(usage))} tokens`, usage && dollars(cost?.total ?? null)];
  return [...facts, duration_ms === null ? null : seconds(duration_ms)].filter(Boolean).join(" · ");
}

/** The four classes of tokens do not overlap; together they are what the call took. */
export function contextSize(usage: NonNullable<Call["usage"]>): number {
  return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
}

type Sent = Pick<Delivery, "channel" | "state" | "last_error">;

/** Where a message went. */
export function deliveredTo(deliveries: readonly Sent[]): string {
  return deliveries.map((delivery) => `${surface(delivery.channel)} ${arrival(delivery)}`).join(", ");
}

function arrival({ state, last_error }: Sent): string {
  switch (state) {
    case "sent":
      return "✓";
    case "pending":
    case "sending":
      return "on its way";
    case "retry":
      return "trying again";
    case "unknown":
      return "perhaps arrived";
    case "dead":
      return `given up${last_error ? ` (${last_error})` : ""}`;
    case "skipped":
      return "skipped";
    case "expired":
      return "too late";
  }
}

/** The reasons that are words of the system, in words of people. */
const REASONS: Readonly<Record<string, string>> = {
  "no trigger": "nobody called the assistant",
  "injected without run": "a program said it, and asked for no answer",
  "stored as overheard": "it was only overheard",
  sender_not_allowed: "this sender may not call the assistant",
  other_recipient: "it was meant for another assistant",
  bot: "bots are not answered here",
  echo: "it was our own message coming back",
  loop_guard: "two bots were answering each other",
};

/** Why a message was not answered, in words; null when it was, or when it is not known yet. */
export function whyNot({ outcome, reason }: Outcome): string | null {
  const usual = usualReason(outcome);
  return usual === null ? null : `not answered: ${REASONS[reason] ?? (reason || usual)}`;
}

function usualReason(outcome: Outcome["outcome"]): string | null {
  switch (outcome) {
    case "pending":
    case "answered":
    case "collected":
    case "steered":
    case "command":
      return null;
    case "ambient":
      return "nobody called the assistant";
    case "passive":
      return "it was only overheard";
    case "stopped":
      return "somebody stopped it";
    case "superseded":
      return "a newer message took its place";
    case "ignored":
      return "it was ignored";
    case "over_budget":
      return "the budget is used up";
    case "expired":
      return "the answer would have come too late";
    case "failed":
      return "the model could not be reached";
  }
}
