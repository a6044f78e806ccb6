import type { Call, CallEnvelope, Delivery, Outcome } from "../../../message/index.js";
import { whyNotAnswered } from "../../../message/why.js";
import { dollars, number, seconds, surface } from "../figures.js";

/** What one call cost, in one line. */
export function costOf(call: CallEnvelope): string {
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

/** How a message that has no answer of its own was answered all the same, or that it waits. */
export function joinedTo(outcome: Outcome | null, waits: boolean): string | null {
  if (waits) return "waits its turn";
  if (outcome?.outcome === "steered") return "joined the answer that was being written";
  return outcome?.outcome === "collected" ? "answered together with what came after it" : null;
}

/** The first words of a message, to tell it by. */
export function excerpt(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

/** Why a message was not answered, in words; null when it was, or when it is not known yet. */
export function whyNot(outcome: Outcome): string | null {
  const why = whyNotAnswered(outcome);
  return why === null ? null : `not answered: ${why}`;
}
