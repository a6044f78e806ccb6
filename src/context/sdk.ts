import type { LLMMessage, MessageRow } from "../message/index.js";
import { assemble } from "./assemble.js";
import type { ContextChat, ContextInput, PathEntry } from "./context.js";
import { takeMessages } from "./take.js";

/** How rows are to be read, where they do not say it themselves. */
export type SdkOptions = Partial<Pick<ContextInput, "calls" | "attachments" | "originals">> & {
  chat?: Partial<ContextChat> & { time_zone?: string };
  botIds?: readonly string[];
};

/**
 * Rows of a chat, in order, as messages for a model, through the same assembler as every live turn. Host messages are
 * never among them. Time is told only when a time zone is given.
 */
export function formatMessagesForSdk(rows: readonly MessageRow[], options: SdkOptions = {}): LLMMessage[] {
  const { chat: given = {}, botIds, ...more } = options;
  const { time_zone = null, ...settings } = given;
  const chat: ContextChat = { ...DEFAULT_CHAT, jid: rows[0]?.chat_jid ?? "", ...settings };
  const { frozen } = takeMessages({
    rows,
    previous: { at: null },
    labels: [],
    chat: { ...chat, time_zone },
    botIds,
  });
  const path = rows.map((row): PathEntry => {
    const { id, turn_id, timestamp: at } = row;
    return { id, kind: "message", message: row, turn_id, at, data: { ...frozen.get(id) } };
  });
  return assemble({ calls: new Map(), ...more, path, chat, notices: [] }).messages;
}

const DEFAULT_CHAT: Omit<ContextChat, "jid"> = {
  assistant_name: "Longhand",
  aliases: [],
  system_prompt: null,
  notices: "system",
  thread_context_role: "user",
  read: "*",
  trigger: "always",
};
