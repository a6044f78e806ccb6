import type { CallEnvelope, Chat, LeftOut, LLMMessage, MessageRow, Origin, SystemPart } from "../message/index.js";

/** What was decided when a turn took a message, and never changes after: the same bytes in every later call. */
export type Frozen = {
  /** The speaker's name as the model reads it, unique in its chat. Null on rows nobody speaks (system, tools, …). */
  label: string | null;
  /** The token with which the assistant can notify the speaker, if it is a plain one of theirs. */
  mention_token: string | null;
  /** One line with the local date and time, when the day changed or a long pause lies before. */
  time_line: string | null;
};

/** An entry of the tree with the row it stands for: what the store's `path` gives. */
export type PathEntry = {
  id: string;
  kind: "message" | "compaction" | "branch_summary" | "custom" | "model_change";
  message: MessageRow | null;
  turn_id: string | null;
  at: string;
  /** Frozen facts of a message entry, or the summary of a compaction or branch. */
  data: Record<string, unknown>;
};

/** News for the model in this turn only. */
export type Notice = { id: string; text: string };

/** A call's envelope, with what each part of its answer carried that no row keeps. */
export type AnsweredCall = { call: CallEnvelope; leftovers: { part: number; data: Record<string, unknown> }[] };

export type ContextInput = {
  path: readonly PathEntry[];
  chat: Pick<Chat, "jid" | "assistant_name" | "aliases" | "system_prompt" | "notices" | "thread_context_role" | "read" | "trigger">;
  notices: readonly Notice[];
  /** By call id: every call whose answer is on the path. */
  calls: ReadonlyMap<string, AnsweredCall>;
};

/** What goes to the provider boundary, with where each piece came from and what stayed behind. */
export type Assembled = {
  system: SystemPart[];
  messages: LLMMessage[];
  /** By message id. */
  origins: Map<string, Origin>;
  left_out: LeftOut[];
};
