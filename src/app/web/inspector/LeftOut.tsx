import type { LeftOut } from "../../../message/receipt.js";
import type { MessageRow } from "../../../message/row.js";
import { counted, timeOf } from "../figures.js";
import { goTo } from "../reading.js";
import type { Page } from "../state.js";

type Props = { page: Page; leftOut: readonly LeftOut[]; rows: readonly MessageRow[] };

/** What the chat shows and the model was not shown, and why. */
export function LeftOutList({ page, leftOut, rows }: Props) {
  if (leftOut.length === 0) return <p class="left-out none">Nothing was left out.</p>;
  return (
    <section class="left-out" id="left-out" tabIndex={-1} aria-label="Left out">
      <h3>left out: {counted(leftOut.length, "message")}</h3>
      <ul>
        {leftOut.map((left) => (
          <li
            key={left.message_id}
            onMouseEnter={() => page.set({ lit: [left.message_id] })}
            onMouseLeave={() => page.set({ lit: [] })}
          >
            <span class="reason">{left.reason}</span>
            <button class="quiet" type="button" onClick={() => void goTo(page, left.message_id)}>
              → {excerpt(rows.find(({ id }) => id === left.message_id))}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function excerpt(row: MessageRow | undefined): string {
  if (!row) return "a message further back";
  const text = row.content.replace(/\s+/g, " ");
  return `${timeOf(row.timestamp)} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`;
}
