import type { MessageRow } from "./row.js";

/** Every kind of sender a row can have. A person is any namespaced id, and the terminal's own. */
export type SenderKind =
  | "person"
  | "bot"
  | "thinking"
  | "tool_use"
  | "tool_result"
  | "command_output"
  | "system"
  | "deploy"
  | "host"
  | "result_meta";

export const MESSAGE_TYPES = ["user", "assistant", "system", "tool_result", "host"] as const;
export type MessageType = (typeof MESSAGE_TYPES)[number];

/** How a row reaches a model: not at all, as a person's turn, as a system message, as part of an assistant or tool message, or as user-role text. */
type ToModel = "never" | "attributed" | "system" | "assistant" | "tool" | "user_text";

export type Audience = {
  messageType: MessageType;
  toModel: ToModel;
  /** How screens and channels tell it apart. */
  shown: {
    glyph: string;
    hand: "person" | "assistant" | "thinking" | "tool" | "system" | "host" | "meta";
    folded: boolean;
  };
};

/**
 * The one table of who sees what. Storage, assembly and every screen read it; nothing else decides.
 */
export const AUDIENCE: Readonly<Record<SenderKind, Audience>> = {
  person: { messageType: "user", toModel: "attributed", shown: { glyph: "", hand: "person", folded: false } },
  bot: {
    messageType: "assistant",
    toModel: "assistant",
    shown: { glyph: "", hand: "assistant", folded: false },
  },
  thinking: {
    messageType: "assistant",
    toModel: "assistant",
    shown: { glyph: "💭", hand: "thinking", folded: true },
  },
  tool_use: {
    messageType: "assistant",
    toModel: "assistant",
    shown: { glyph: "🔧", hand: "tool", folded: true },
  },
  tool_result: {
    messageType: "tool_result",
    toModel: "tool",
    shown: { glyph: "🔧", hand: "tool", folded: true },
  },
  command_output: {
    messageType: "tool_result",
    toModel: "user_text",
    shown: { glyph: "🔧", hand: "tool", folded: true },
  },
  system: { messageType: "system", toModel: "system", shown: { glyph: "⚙️", hand: "system", folded: false } },
  deploy: { messageType: "system", toModel: "system", shown: { glyph: "⚙️", hand: "system", folded: false } },
  host: { messageType: "host", toModel: "never", shown: { glyph: "🏠", hand: "host", folded: false } },
  result_meta: { messageType: "host", toModel: "never", shown: { glyph: "📊", hand: "meta", folded: false } },
};

type OwnKind = Exclude<SenderKind, "person">;

const isOwnKind = (sender: string): sender is OwnKind =>
  sender !== "person" && Object.hasOwn(AUDIENCE, sender);

/** A notice is never a row, but its word is ours all the same. */
const NOTICE_SENDER = "system_notice";

/** Who is said to have said what was erased. */
export const ERASED_SENDER = "erased";

/** Is this one of the words we sign with ourselves? */
export function isOwnSender(sender: string): boolean {
  return sender === NOTICE_SENDER || sender === ERASED_SENDER || isOwnKind(sender);
}

/**
 * The kind of a row. Where sender and type disagree (an import, a hand-edited row), the quieter reading wins:
 * anything typed `host`, and anything we cannot place, stays away from models.
 */
export function senderKind(row: Pick<MessageRow, "sender" | "message_type">): SenderKind {
  if (row.message_type === "host") return row.sender === "result_meta" ? "result_meta" : "host";
  if (isOwnKind(row.sender))
    return AUDIENCE[row.sender].messageType === row.message_type ? row.sender : "host";
  if (row.sender === NOTICE_SENDER) return "host";
  return row.message_type === "user" ? "person" : "host";
}

/** Who sees this row. */
export function audienceOf(row: Pick<MessageRow, "sender" | "message_type">): Audience {
  return AUDIENCE[senderKind(row)];
}
