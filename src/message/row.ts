import { z } from "zod";
import { MESSAGE_TYPES } from "./audience.js";
import { replaceBadCharacters } from "./text.js";

export const ATTACHMENT_STATES = ["delivered", "transcribed", "unavailable"] as const;

export const AttachmentRow = z.object({
  name: z.string(),
  mime_type: z.string(),
  size: z.int(),
  sha256: z.string().nullable(),
  state: z.enum(ATTACHMENT_STATES),
  reason: z.string().nullable(),
  /** Where it is to be fetched from, when it came as a URL. */
  url: z.string().nullable(),
  /**
   * The bytes a model gets of it: the file itself, or a picture made smaller. Settled by the turn that takes the message;
   * absent until then.
   */
  seen_sha256: z.string().optional(),
  /** What is said in it, where it was transcribed. */
  transcript: z.string().optional(),
});
export type AttachmentRow = z.infer<typeof AttachmentRow>;

/** One utterance of one sender, as stored and as the API gives it. */
export const MessageRow = z.object({
  id: z.string(),
  chat_jid: z.string(),
  /** The order of the chat: without gaps, handed out at commit. */
  seq: z.int(),
  sender: z.string(),
  sender_name: z.string(),
  content: z.string(),
  /** ISO-8601 UTC, for people. */
  timestamp: z.string(),
  is_from_me: z.boolean(),
  message_type: z.enum(MESSAGE_TYPES),
  metadata: z.record(z.string(), z.unknown()),
  turn_id: z.string().nullable(),
  call_id: z.string().nullable(),
  /** Which part of the call's answer this is, from 0. */
  part: z.int().nullable(),
  attachments: z.array(AttachmentRow).max(1000),
  /** 0 until edited; `content` is always the newest. */
  revision: z.int(),
  edited_at: z.string().nullable(),
  deleted_at: z.string().nullable(),
});
export type MessageRow = z.infer<typeof MessageRow>;

/** A row before a store has numbered it. */
export type NewRow = Omit<MessageRow, "seq" | "attachments" | "revision" | "edited_at" | "deleted_at">;

/** A row as written or as read back. */
export type AnyRow = NewRow & Partial<Pick<MessageRow, "revision" | "deleted_at">>;

/** Text a store can keep; where that differs from the truth, the truth goes along inside JSON, which can hold it. */
export function keepable(
  exact: string,
  metadata: Record<string, unknown>,
): Pick<NewRow, "content" | "metadata"> {
  const content = replaceBadCharacters(exact);
  return { content, metadata: content === exact ? metadata : { ...metadata, exact } };
}

/** The text a row was made from, unless somebody revised it since. */
export function exactText(row: AnyRow): string {
  return typeof row.metadata.exact === "string" && !row.revision ? row.metadata.exact : row.content;
}
