import { type Chat, displayContent, type MessageRow, senderKind } from "../message/index.js";
import type { Frozen } from "./context.js";
import { type Label, labelBook, reservedNames } from "./labels.js";
import { mentionToken } from "./mention.js";
import { timeLine } from "./time.js";
import { entitiesOf, triggerEnd } from "./trigger.js";

export type TakeInput = {
  /** What a turn takes, in the order in which it goes on the tree. */
  rows: readonly MessageRow[];
  /** Messages that were edited after a turn took them: what they say now is told before the rows. */
  edits?: readonly MessageRow[];
  /** When the last message before these was said; null when there is none in view. */
  previous: { at: string | null };
  /** The names given out in this chat so far. */
  labels: readonly Label[];
  /** Without a time zone no time is told. */
  chat: Pick<Chat, "assistant_name" | "aliases" | "read"> & { time_zone: string | null };
  /** Our own ids on the platforms, as entities spell them. */
  botIds?: readonly string[] | undefined;
};

/**
 * Decides, once, what depends on the moment: who a speaker is called, what time it is, which stretch is the trigger,
 * what became of attachments. By row id, to be stored as each entry's `data`.
 */
export function takeMessages({ rows, edits = [], previous, labels, chat, botIds }: TakeInput): {
  frozen: Map<string, Frozen>;
  /** Of the edits, by row id. */
  frozenEdits: Map<string, Frozen>;
  newLabels: Label[];
  /** Every name that somebody is called by here, the new ones too. */
  usedLabels: Label[];
} {
  const book = labelBook(labels);
  const names = [chat.assistant_name, ...chat.aliases];
  const reserved = reservedNames(names);
  const frozen = new Map<string, Frozen>();
  const newLabels: Label[] = [];
  const used = new Map<string, Label>();
  let before = previous.at;

  const frozenEdits = new Map(edits.map((row) => [row.id, freezeEdit(row)]));
  for (const row of rows) frozen.set(row.id, freeze(row));
  return { frozen, frozenEdits, newLabels, usedLabels: [...used.values()] };

  /** An edit is told without the time and without what is attached: both are said where the message stands. */
  function freezeEdit(row: MessageRow): Frozen {
    const { label, trigger_end } = spokenBy(row) ?? unspoken(row);
    return { ...unspoken(row), attachments: [], label, trigger_end };
  }

  function freeze(row: MessageRow): Frozen {
    const spoken = spokenBy(row);
    if (!spoken) return unspoken(row);
    const time_line = chat.time_zone === null ? null : timeLine(before, row.timestamp, chat.time_zone);
    before = row.timestamp;
    const mention_token = mentionToken({ ...row.metadata, sender_id: row.sender });
    return { ...unspoken(row), ...spoken, mention_token, time_line };
  }

  /** A sender nobody may read gets no name: it could be the one a welcome person needs. */
  function spokenBy(row: MessageRow): Pick<Frozen, "label" | "trigger_end"> | null {
    if (senderKind(row) !== "person" || !mayRead(chat.read, row.sender)) return null;
    const { isNew, ...label } = book.labelFor(row.sender, displayNameOf(row), reserved);
    if (isNew) newLabels.push(label);
    used.set(label.folded, label);
    return {
      label: label.label,
      trigger_end: triggerEnd(displayContent(row), { names, entities: entitiesOf(row), botIds }),
    };
  }
}

/** Whether a chat's `read` lets this sender's words reach a model. */
export function mayRead(read: Chat["read"], sender: string): boolean {
  return read === "*" || read.includes(sender);
}

/** What a person calls themselves. */
export function displayNameOf(row: MessageRow): string {
  const { sender_display_name: name } = row.metadata;
  return typeof name === "string" ? name : row.sender_name;
}

function unspoken({ revision, attachments }: MessageRow): Frozen {
  return {
    label: null,
    mention_token: null,
    time_line: null,
    trigger_end: 0,
    revision,
    attachments: attachments.map(({ state, reason, sha256, seen_sha256, transcript }) => ({
      state,
      reason,
      sha256: seen_sha256 ?? sha256,
      ...(transcript === undefined ? {} : { transcript }),
    })),
  };
}
