import { matchTrigger } from "../context/index.js";
import type { Admission, Chat, IngestMessageMetadata, OutcomeWord } from "../message/index.js";

/** How the message came in, and what had to be looked up about it. */
export type AdmissionFacts = {
  way: "submit" | "inject" | "passive";
  /** Inject only: the program asks for an answer. */
  run: boolean;
  /** It answers one of our messages, and the platform says so. */
  repliesToUs: boolean;
};

export type Admitted = { admission: Admission; reason: string; outcome: OutcomeWord };

const ignored = (reason: string): Admitted => ({ admission: "ignored", reason, outcome: "ignored" });
const ambient = (reason: string): Admitted => ({ admission: "ambient", reason, outcome: "ambient" });
const passive = (reason: string): Admitted => ({ admission: "passive", reason, outcome: "passive" });
const run = (reason: string): Admitted => ({ admission: "run", reason, outcome: "pending" });

/**
 * What a message is, from the message and the chat's settings alone. The order of the questions is part of the
 * contract: the first that applies gives the reason people read.
 */
export function admit(
  content: string,
  metadata: IngestMessageMetadata,
  chat: Chat,
  facts: AdmissionFacts,
): Admitted {
  if (!includes(chat.read, metadata.sender_id)) return ignored("sender_not_allowed");
  if (facts.way === "passive" || metadata.passive === true) return passive("stored as overheard");
  if (facts.way === "inject" && !facts.run) return ambient("injected without run");
  if (facts.way === "inject") return mayRun(metadata, chat) ?? run("injected with run");
  if (metadata.sender_type === "bot" && !chat.allow_bots) return ignored("bot");
  const recipient = metadata.recipient_id ?? null;
  if (recipient !== null && recipient !== `bot:${chat.bot_id}`) return ignored("other_recipient");
  const trigger = recipient === null ? triggerOf(content, metadata, chat, facts) : "recipient";
  if (trigger === null) return ambient("no trigger");
  return mayRun(metadata, chat) ?? run(trigger);
}

/** Why this sender may not make the assistant run; null when they may. */
function mayRun(metadata: IngestMessageMetadata, chat: Chat): Admitted | null {
  return includes(chat.allow, metadata.sender_id) ? null : ignored("sender_not_allowed");
}

/** Is this sender in a list that may be everyone? */
export function includes(list: Chat["allow"], sender: string): boolean {
  return list === "*" || list.includes(sender);
}

function triggerOf(
  content: string,
  metadata: IngestMessageMetadata,
  chat: Chat,
  facts: AdmissionFacts,
): string | null {
  if (chat.trigger === "always") return "always";
  if (facts.repliesToUs) return "reply";
  const names = [chat.assistant_name, ...chat.aliases];
  const found = matchTrigger(content, { names, entities: metadata.entities ?? [], botIds: [chat.bot_id] });
  return found ? found.kind : null;
}
