import { audienceOf } from "../../../message/audience.js";
import { displayContent } from "../../../message/legacy.js";
import type { MessageRow } from "../../../message/row.js";
import { counted, dayOf, timeOf } from "../figures.js";
import { nameOf } from "../layout.js";
import { goTo, search } from "../reading.js";
import type { Page, State } from "../state.js";

/** The field in the heading, and what was found. */
export function SearchField({ page, words }: { page: Page; words: string }) {
  return (
    <div class="field search">
      <input
        type="search"
        aria-label="Search this chat"
        placeholder="search this chat"
        value={words}
        ref={(field) => {
          if (field && document.activeElement !== field) field.focus();
        }}
        onInput={(event) => void search(page, event.currentTarget.value)}
      />
      <button
        class="quiet"
        type="button"
        aria-label="Close search"
        onClick={() => page.set({ search: null })}
      >
        ✕
      </button>
    </div>
  );
}

export function Found({ page, given }: { page: Page; given: NonNullable<State["search"]> }) {
  const { words, found, trouble } = given;
  if (words.trim() === "") return null;
  return (
    <section class="found" aria-label="Found">
      <p class="hint" role="status">
        {trouble ?? (found === null ? "Looking…" : summary(found, words))}
      </p>
      <ol>
        {found?.toReversed().map((row) => (
          <li key={row.id}>
            <button type="button" onClick={() => goTo(page, row.id)}>
              <span class="when">
                {dayOf(row.timestamp)}, {timeOf(row.timestamp)}
              </span>
              <span class="name">
                {audienceOf(row).shown.glyph} <bdi>{nameOf(row)}</bdi>
              </span>
              <span class="preview">{excerpt(displayContent(row), words)}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function summary(found: MessageRow[], words: string): string {
  return found.length === 0 ? `Nobody said “${words}” here.` : counted(found.length, "message");
}

/** The stretch of a message around the words. */
function excerpt(text: string, words: string): string {
  const first = words.trim().split(/\s+/)[0] ?? "";
  const at = Math.max(0, text.toLowerCase().indexOf(first.toLowerCase()) - 60);
  return `${at > 0 ? "…" : ""}${text.slice(at, at + 240).replace(/\s+/g, " ")}`;
}
