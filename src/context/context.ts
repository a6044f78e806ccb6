import { z } from "zod";
import {
  ATTACHMENT_STATES,
  type CallEnvelope,
  type Chat,
  type LeftOut,
  type LLMMessage,
  type MessageRow,
  type Origin,
  type SystemPart,
} from "../message/index.js";

/** What was decided when a turn took a message, and never changes after: the same bytes in every later call. */
export const Frozen = z.object({
  /** The speaker's name as the model reads it, unique in its chat. Null on rows nobody speaks (system, tools, …). */
  label: z.string().nullable(),
  /** The token with which the assistant can notify the speaker, if it is a plain one of theirs. */
  mention_token: z.string().nullable(),
  /** One line with the local date and time, when the day changed or a long pause lies before. */
  time_line: z.string().nullable(),
  /** How much of the content's start is the trigger, in UTF-16 code units. */
  trigger_end: z.int().min(0).default(0),
  /** The revision the model read first. */
  revision: z.int().min(0).default(0),
  /** What had become of each attachment. */
  attachments: z
    .array(
      z.object({
        state: z.enum(ATTACHMENT_STATES),
        reason: z.string().nullable(),
        /** Of the bytes the model got. */
        sha256: z.string().nullable(),
        transcript: z.string().optional(),
      }),
    )
    .default([]),
});
export type Frozen = z.infer<typeof Frozen>;

/** An entry of the tree with the row it stands for: what the store's `path` gives. */
export type PathEntry = {
  id: string;
  kind: "message" | "edit" | "compaction" | "branch_summary" | "custom" | "model_change";
  message: MessageRow | null;
  turn_id: string | null;
  at: string;
  /**
   * `Frozen` of a message, and of an edit, whose `message` is the edited one as it read then; `{ summary, first_kept }` of
   * a compaction, the latter being an entry's id; `{ summary }` of a branch; `{ custom_type, content }` of a custom entry.
   */
  data: Record<string, unknown>;
};

/** News for the model in this turn only. */
export type Notice = {
  id: string;
  text: string;
  /** It quotes people, as what was looked up does. */
  quotes?: boolean;
};

/** A call's envelope, with what each part of its answer carried that no row keeps. */
export type AnsweredCall = {
  call: CallEnvelope;
  leftovers: { part: number; data: Record<string, unknown> }[];
};

/** What the assembler needs to know of a chat. `read` holds sender ids: people are looked up before. */
export type ContextChat = Pick<
  Chat,
  | "jid"
  | "assistant_name"
  | "aliases"
  | "system_prompt"
  | "notices"
  | "thread_context_role"
  | "read"
  | "trigger"
>;

export type ContextInput = {
  path: readonly PathEntry[];
  chat: ContextChat;
  notices: readonly Notice[];
  /** By call id: every call whose answer is on the path. */
  calls: ReadonlyMap<string, AnsweredCall>;
  /** By SHA-256: the bytes of delivered attachments on the path. */
  attachments?: ReadonlyMap<string, Uint8Array>;
  /** By row id: the words the model read first, of messages edited since. Without them a row reads as it stands now. */
  originals?: ReadonlyMap<string, string>;
  /** Persistent system rows that a compaction or a fresh branch left behind the path: they open the window. */
  standing?: readonly MessageRow[];
};

/** What goes to the provider boundary, with where each piece came from and what stayed behind. */
export type Assembled = {
  system: SystemPart[];
  messages: LLMMessage[];
  /** By message id. */
  origins: Map<string, Origin>;
  left_out: LeftOut[];
};
