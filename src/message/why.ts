import type { Outcome, OutcomeWord } from "./outcome.js";

type Asked = Pick<Outcome, "outcome" | "reason">;

/** Words of the system, in words of people. */
const QUIET = wordsFor({
  "no trigger": "nobody called the assistant",
  "injected without run": "a program said it, and asked for no answer",
  "stored as overheard": "it was only overheard",
  sender_not_allowed: "this sender may not call the assistant here",
  other_recipient: "it was meant for another assistant",
  bot: "it is from a bot, and bots are not answered here",
  echo: "it was our own message coming back",
  loop_guard: "too many messages of bots came in a row, without a person's word between them",
});

const CALLED = wordsFor({
  always: "every message is answered here",
  name: "it begins with the assistant's name",
  mention: "it mentions the assistant",
  reply: "it replies to the assistant",
  recipient: "it is addressed to the assistant",
  pattern: "it matches the chat's pattern",
  sticky: "the same person had called the assistant shortly before",
  "injected with run": "a program asked for an answer",
});

/** A map, because a reason may be anybody's words, such as `constructor`. */
function wordsFor(words: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(words));
}

/** Why a message got no answer of its own, as the rest of a sentence; null when it got one, or may still. */
export function whyNotAnswered({ outcome, reason }: Asked): string | null {
  const usual = usualReason(outcome);
  if (usual === null) return null;
  const isSilent = reason === "" || reason === outcome || CALLED.has(reason);
  return QUIET.get(reason) ?? (isSilent ? usual : reason);
}

function usualReason(outcome: OutcomeWord): string | null {
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
      return "somebody stopped the assistant";
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

/** "Why did it not answer?", or why it did: one sentence for each outcome and reason. */
export function explainOutcome(asked: Asked): string {
  const called = CALLED.get(asked.reason);
  const because = called ? `, because ${called}` : "";
  switch (asked.outcome) {
    case "pending":
      return `It is not answered yet; it will be${because}.`;
    case "answered":
      return `It was answered${because}.`;
    case "collected":
      return "It was answered together with the messages that came after it.";
    case "steered":
      return "It joined a turn that was running, whose answer is for it too.";
    case "command":
      return `It was a command${asked.reason ? `: ${asked.reason.replace(/[.\s]+$/, "")}` : ""}.`;
    case "ambient":
    case "passive":
    case "stopped":
    case "superseded":
    case "ignored":
    case "over_budget":
    case "expired":
    case "failed":
      return `It was not answered: ${whyNotAnswered(asked)?.replace(/[.\s]+$/, "")}.`;
  }
}
