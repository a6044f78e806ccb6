import type { MessageRow } from "../message/index.js";
import type { ContextChat, PathEntry } from "./context.js";
import { fold } from "./fold.js";
import { type Label, labelBook, reservedNames } from "./labels.js";
import { displayNameOf } from "./take.js";
import { frozenOf } from "./turn.js";

/**
 * Names for speakers whose entries are from before names were frozen: none that another sender on the path has. Costs
 * nothing while every entry has its name.
 */
export function speakerNames(
  window: readonly PathEntry[],
  chat: Pick<ContextChat, "assistant_name" | "aliases">,
): (row: MessageRow) => string {
  let name: ((row: MessageRow) => string) | null = null;
  return (row) => {
    name ??= namer();
    return name(row);
  };

  function namer(): (row: MessageRow) => string {
    const book = labelBook(window.flatMap(frozenLabel));
    const reserved = reservedNames([chat.assistant_name, ...chat.aliases]);
    return (row) => book.labelFor(row.sender, displayNameOf(row), reserved).label;
  }
}

function frozenLabel(entry: PathEntry): Label[] {
  const label = entry.message ? frozenOf(entry)?.label : null;
  return label && entry.message ? [{ folded: fold(label), label, sender: entry.message.sender }] : [];
}
