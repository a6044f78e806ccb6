import { matchTrigger, stripTrigger, type TriggerOptions } from "../context/index.js";
import {
  type Admission,
  type Chat,
  type IngestMessageMetadata,
  type OutcomeWord,
  personOfRef,
  personRef,
} from "../message/index.js";
import { matchesPattern } from "./admissionPattern.js";
import { type Command, commandWords, parseCommand } from "./commandWords.js";

/** How the message came in, and what had to be looked up about it. */
export type AdmissionFacts = {
  way: "submit" | "inject" | "passive";
  /** Inject only: the program asks for an answer. */
  run: boolean;
  /** It brings files: more than a command's words. */
  attached: boolean;
  /** The person behind the sender id, where somebody linked them. */
  personId: string | null;
  /** It answers one of our messages, and the platform says so. */
  repliesToUs: boolean;
  /** Messages of bots directly before this one, without a human word between. */
  botsInARow: number;
  /** The same person called the assistant a short while ago. */
  calledBefore: boolean;
  /** Which limit is reached, in words; null while there is money left. */
  overBudget: string | null;
};

/**
 * What a message is. `detail` says more than the reason's one word, where there is more to say; `isFirst` that a row
 * of refusals begins here.
 */
export type Admitted = {
  admission: Admission;
  reason: string;
  outcome: OutcomeWord;
  detail: string;
  isFirst: boolean;
};

/** Why messages run, as `reason` says it. Those that people set off themselves keep a sticky chat awake. */
export const CALLS = ["name", "mention", "reply", "recipient", "pattern"] as const;
export const RUN_REASONS = ["always", ...CALLS, "sticky", "injected with run"] as const;
export const QUIET_REASONS = [
  "no trigger",
  "injected without run",
  "stored as overheard",
  "sender_not_allowed",
  "other_recipient",
  "bot",
  "loop_guard",
  "over_budget",
] as const;
type RunReason = (typeof RUN_REASONS)[number];
type QuietReason = (typeof QUIET_REASONS)[number];

const quiet = (admission: "ignored" | "ambient" | "passive", reason: QuietReason): Admitted => ({
  admission,
  reason,
  outcome: admission,
  detail: "",
  isFirst: false,
});
const pending = (admission: "run" | "command", reason: string): Admitted => ({
  admission,
  reason,
  outcome: "pending",
  detail: "",
  isFirst: false,
});

/**
 * What a message is, from the message, the chat's settings and what was looked up. The order of the questions is
 * part of the contract: the first that applies gives the reason people read.
 */
export function admit(
  content: string,
  metadata: IngestMessageMetadata,
  chat: Chat,
  facts: AdmissionFacts,
): Admitted {
  const isIn = (list: Chat["allow"]) => includes(list, metadata.sender_id, facts.personId);
  if (!isIn(chat.read)) return quiet("ignored", "sender_not_allowed");
  if (facts.way === "passive" || metadata.passive === true) return quiet("passive", "stored as overheard");
  if (facts.way === "inject" && !facts.run) return quiet("ambient", "injected without run");
  if (facts.way === "inject") return runOf("injected with run", isIn(chat.allow), facts);
  const isBot = metadata.sender_type === "bot";
  if (isBot && !chat.allow_bots) return quiet("ignored", "bot");
  if (isBot && facts.botsInARow >= chat.loop_limit)
    return { ...quiet("ignored", "loop_guard"), isFirst: facts.botsInARow === chat.loop_limit };
  const recipient = metadata.recipient_id ?? null;
  if (recipient !== null && recipient !== `bot:${chat.bot_id}`) return quiet("ignored", "other_recipient");
  const command = isBot || facts.attached ? null : commandOf(content, metadata, chat, facts.personId);
  if (command) return pending("command", commandWords(command));
  const trigger = recipient === null ? triggerOf(content, metadata, chat, facts) : "recipient";
  if (trigger === null) return quiet("ambient", "no trigger");
  return runOf(trigger, isIn(chat.allow), facts);
}

/** The last two questions: may this sender make the assistant run, and is there money for it? */
function runOf(reason: RunReason, isAllowed: boolean, facts: AdmissionFacts): Admitted {
  if (!isAllowed) return quiet("ignored", "sender_not_allowed");
  if (facts.overBudget === null) return pending("run", reason);
  return { ...quiet("ignored", "over_budget"), outcome: "over_budget", detail: facts.overBudget };
}

/** Is this sender in a list of sender ids and people that may be everyone? */
export function includes(list: Chat["allow"], sender: string, personId: string | null = null): boolean {
  if (list === "*") return true;
  // Nobody becomes a person by calling themselves one.
  if (personOfRef(sender) === null && list.includes(sender)) return true;
  return personId !== null && list.includes(personRef({ id: personId }));
}

/**
 * The command a message is, if its sender may give it: whoever may run the assistant, and for the shell those the
 * operator named. Whoever acts on a command asks again: settings may have changed since.
 */
export function commandOf(
  content: string,
  metadata: Pick<IngestMessageMetadata, "sender_id" | "entities">,
  chat: Chat,
  personId: string | null,
): Command | null {
  const command = parseCommand(wordsOf(content, metadata, chat));
  if (!command || !includes(chat.read, metadata.sender_id, personId)) return null;
  if (!includes(chat.allow, metadata.sender_id, personId)) return null;
  if (command.type === "shell" && !includes(chat.shell_allow, metadata.sender_id, personId)) return null;
  return command;
}

/** A message without its trigger: where commands and prefixes are read. */
export function wordsOf(
  content: string,
  metadata: Pick<IngestMessageMetadata, "entities">,
  chat: Chat,
): string {
  return stripTrigger(content, callsOf(metadata, chat));
}

function callsOf({ entities }: Pick<IngestMessageMetadata, "entities">, chat: Chat): TriggerOptions {
  return { names: [chat.assistant_name, ...chat.aliases], entities: entities ?? [], botIds: [chat.bot_id] };
}

function triggerOf(
  content: string,
  metadata: IngestMessageMetadata,
  chat: Chat,
  facts: AdmissionFacts,
): RunReason | null {
  if (chat.trigger === "always") return "always";
  if (facts.repliesToUs) return "reply";
  const found = matchTrigger(content, callsOf(metadata, chat));
  if (found) return found.kind;
  if (chat.trigger === "sticky") return facts.calledBefore ? "sticky" : null;
  if (chat.trigger === "mention") return null;
  return matchesPattern(chat.trigger.pattern, content) ? "pattern" : null;
}
