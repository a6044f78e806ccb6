import {
  displayContent,
  type MessageRow,
  type Source,
  SystemMessage,
  TextContent,
  UserMessage,
} from "../message/index.js";
import { composeAttachments } from "./attachments.js";
import { composeEditNote, composeThreadContextBlock, composeTurn } from "./attribution.js";
import { type ContextInput, Frozen, type PathEntry } from "./context.js";
import { speakerMarker } from "./markers.js";
import { mentionToken } from "./mention.js";
import { entitiesOf, stripTrigger, withoutTrigger } from "./trigger.js";

/** What was frozen when a turn took this message, or null when nothing readable was. */
export function frozenOf(entry: PathEntry): Frozen | null {
  return Frozen.safeParse(entry.data).data ?? null;
}

/** A person's turn as the model reads it: who speaks, their words, what they attached. */
export function personTurn(
  row: MessageRow,
  frozen: Frozen | null,
  label: string,
  input: Omit<ContextInput, "path">,
): UserMessage {
  const token = frozen ? frozen.mention_token : mentionToken({ ...row.metadata, sender_id: row.sender });
  const words = wordsOf(row, frozen, input);
  const { lines, media } = composeAttachments(row.attachments, frozen?.attachments ?? [], input);
  const text = [
    ...(frozen?.time_line ? [frozen.time_line] : []),
    composeTurn(speakerMarker(label, token), words),
    ...lines,
  ].join("\n");
  return UserMessage.of([TextContent.of(text), ...media], stampOf(row));
}

/** What a later turn says about a message its sender edited after a model read it. */
export function editNote(
  row: MessageRow,
  entry: PathEntry,
  nameOf: (row: MessageRow) => string,
): UserMessage {
  const frozen = frozenOf(entry);
  const words = withoutTrigger(displayContent(row), frozen?.trigger_end ?? 0);
  const stamp = { id: entry.id, timestamp: millisecondsOf(entry.at) };
  return UserMessage.text(composeEditNote(frozen?.label ?? nameOf(row), words), stamp);
}

/** The earlier messages of its thread, for the place directly above a person's turn. */
export function threadContext(
  row: MessageRow,
  role: ContextInput["chat"]["thread_context_role"],
): { message: UserMessage | SystemMessage; sources: Source[] } | null {
  const block = composeThreadContextBlock(row.metadata);
  if (block === null) return null;
  const stamp = { ...stampOf(row), id: `${row.id}:thread` };
  return {
    message: role === "system" ? SystemMessage.text(block, stamp) : UserMessage.text(block, stamp),
    sources: [
      { type: "thread_context", id: row.id },
      { type: "message", id: row.id },
    ],
  };
}

/** A row's id and time as a message has them. */
export function stampOf(row: Pick<MessageRow, "id" | "timestamp">): { id: string; timestamp: number } {
  return { id: row.id, timestamp: millisecondsOf(row.timestamp) };
}

/** Milliseconds of an ISO-8601 time; 0 for what is none. */
export function millisecondsOf(at: string): number {
  const parsed = Date.parse(at);
  return Number.isNaN(parsed) ? 0 : parsed;
}

/** The words the model read first, without the trigger; as they stand now, when those are not at hand. */
function wordsOf(
  row: MessageRow,
  frozen: Frozen | null,
  { chat, originals }: Omit<ContextInput, "path">,
): string {
  const original = originals?.get(row.id);
  const words = displayContent({ content: original ?? row.content, metadata: row.metadata });
  if (frozen && (original !== undefined || frozen.revision === row.revision)) {
    return withoutTrigger(words, frozen.trigger_end);
  }
  return stripTrigger(words, { names: [chat.assistant_name, ...chat.aliases], entities: entitiesOf(row) });
}
