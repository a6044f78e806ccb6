import type { CallEnvelope, MessageRow } from "../message/index.js";
import type { AnsweredCall, ContextChat, ContextInput, PathEntry } from "../context/context.js";
import type { Label } from "../context/labels.js";
import { takeMessages } from "../context/take.js";

/** Made-up conversations for tests. Ids and times count up, so that every run is the same. */

export const CHAT: ContextChat & { time_zone: string } = {
  jid: "slack:C06RY3YBSLE",
  assistant_name: "Longhand",
  aliases: ["lh"],
  system_prompt: null,
  notices: "system",
  thread_context_role: "user",
  read: "*",
  trigger: "mention",
  time_zone: "Europe/Copenhagen",
};

const START = Date.UTC(2026, 10, 15, 14, 18);

export type Scene = {
  path: PathEntry[];
  calls: Map<string, AnsweredCall>;
  /** Someone says something. Gives back the row. */
  person(sender: string, name: string, content: string, more?: Partial<MessageRow>): MessageRow;
  /** Someone makes something else of what they said, after it was read. */
  edit(row: MessageRow, content: string): void;
  /** A row of our own. */
  own(
    sender: string,
    type: MessageRow["message_type"],
    content: string,
    more?: Partial<MessageRow>,
  ): MessageRow;
  /** A call and its answer: text, thinking and tool calls, one row each. */
  answer(parts: AnswerPart[], call?: Partial<CallEnvelope>): MessageRow[];
  result(toolUseId: string, content: string, more?: Partial<MessageRow>): MessageRow;
  entry(kind: PathEntry["kind"], data: Record<string, unknown>): PathEntry;
  input(more?: Partial<ContextInput>): ContextInput;
};
export type AnswerPart =
  | { sender: "bot"; content: string }
  | { sender: "thinking"; content: string; signature?: string }
  | { sender: "tool_use"; id: string; name: string; args: Record<string, unknown> };

/** An empty conversation to be filled. Each person's entry is taken, and its facts frozen, as it is added. */
export function scene(chat: ContextChat & { time_zone: string | null } = CHAT): Scene {
  const path: PathEntry[] = [];
  const calls = new Map<string, AnsweredCall>();
  const labels: Label[] = [];
  let count = 0;
  let before: string | null = null;

  const put = (row: MessageRow): MessageRow => {
    const { frozen, newLabels } = takeMessages({ rows: [row], previous: { at: before }, labels, chat });
    labels.push(...newLabels);
    before = row.timestamp;
    const { id, turn_id, timestamp: at } = row;
    path.push({ id: `e${id}`, kind: "message", message: row, turn_id, at, data: { ...frozen.get(id) } });
    return row;
  };
  const edit = (row: MessageRow, content: string): void => {
    const edited = { ...row, content, revision: row.revision + 1 };
    const taken = { rows: [], edits: [edited], previous: { at: before }, labels, chat };
    const { frozenEdits } = takeMessages(taken);
    count++;
    const { turn_id, timestamp: at } = row;
    const data = { ...frozenEdits.get(row.id) };
    path.push({ id: `edit${count}`, kind: "edit", message: edited, turn_id, at, data });
  };
  const blank = (): MessageRow => {
    count++;
    return {
      id: `m${count}`,
      chat_jid: chat.jid,
      seq: count,
      sender: "",
      sender_name: "",
      content: "",
      timestamp: new Date(START + count * 1000).toISOString(),
      is_from_me: false,
      message_type: "user",
      metadata: {},
      turn_id: null,
      call_id: null,
      part: null,
      attachments: [],
      revision: 0,
      edited_at: null,
      deleted_at: null,
    };
  };
  const own: Scene["own"] = (sender, message_type, content, more = {}) =>
    put({ ...blank(), sender, sender_name: sender, content, is_from_me: true, message_type, ...more });

  return {
    path,
    calls,
    edit,
    own,
    person(sender, name, content, more = {}) {
      const { metadata, ...others } = more;
      return put({
        ...blank(),
        sender,
        sender_name: name,
        content,
        metadata: {
          source: sender.split(":")[0],
          sender_id: sender,
          sender_display_name: name,
          sender_type: "human",
          ...metadata,
        },
        ...others,
      });
    },
    answer(parts, given = {}) {
      const call = envelope(`c${count + 1}`, chat.jid, parts, given);
      calls.set(call.id, { call, leftovers: [] });
      return parts.map((part, index) =>
        own(part.sender, "assistant", part.sender === "tool_use" ? part.name : part.content, {
          call_id: call.id,
          part: index,
          metadata: metadataOf(part),
        }),
      );
    },
    result(tool_use_id, content, more = {}) {
      const { metadata, ...others } = more;
      return own("tool_result", "tool_result", content, {
        metadata: { tool_use_id, ...metadata },
        ...others,
      });
    },
    entry(kind, data) {
      count++;
      const entry: PathEntry = {
        id: `e${count}`,
        kind,
        message: null,
        turn_id: null,
        at: new Date(START + count * 1000).toISOString(),
        data,
      };
      path.push(entry);
      return entry;
    },
    input: (more = {}) => ({ path: [...path], chat, notices: [], calls, ...more }),
  };
}

function metadataOf(part: AnswerPart): Record<string, unknown> {
  switch (part.sender) {
    case "bot":
      return {};
    case "thinking":
      return { signature: part.signature ?? "" };
    case "tool_use":
      return { tool_use_id: part.id, name: part.name, args: part.args };
  }
}

function envelope(
  id: string,
  chat_jid: string,
  parts: readonly AnswerPart[],
  given: Partial<CallEnvelope>,
): CallEnvelope {
  return {
    id,
    chat_jid,
    turn_id: null,
    attempt: 1,
    purpose: "turn",
    provider: "demo",
    api: "demo",
    model: "demo",
    status: "ok",
    error_kind: null,
    error: null,
    stop_reason: parts.some((part) => part.sender === "tool_use") ? "tool_use" : "stop",
    started_at: new Date(START).toISOString(),
    first_token_ms: null,
    duration_ms: null,
    usage: null,
    cost: null,
    request_sha256: "",
    request_size: 0,
    redacted: false,
    ...given,
  };
}
