import { useState } from "preact/hooks";
import type { MessageRow } from "../../../message/row.js";
import type { Revision } from "../../client/index.js";
import { momentOf, timeOf } from "../figures.js";
import { session } from "../session.js";

type Props = { row: MessageRow; onHistory: (row: MessageRow) => Promise<{ revisions: Revision[] }> };

/** Says that these are not the first words, and shows those on demand. */
export function Edited({ row, onHistory }: Props) {
  const [told, setTold] = useState<{ revision: number; history: Revision[] | string } | null>(null);
  const ask = async (): Promise<void> => {
    if (told !== null) return setTold(null);
    const history = await onHistory(row).then(
      ({ revisions }) => revisions,
      () => "Its earlier words could not be read.",
    );
    setTold({ revision: row.revision, history });
  };
  if (session.speaker().isPerson) return <p class="edited">edited</p>;
  const history = told?.revision === row.revision ? told.history : null;
  return (
    <div class="edited">
      <button
        class="quiet"
        type="button"
        aria-expanded={history !== null}
        title={momentOf(row.edited_at ?? row.timestamp)}
        onClick={() => void ask()}
      >
        edited
      </button>
      {typeof history === "string" && <p>{history}</p>}
      {Array.isArray(history) && (
        <ol>
          {history
            .filter(({ content }) => content !== row.content)
            .map(({ revision, content, at }) => (
              <li key={revision}>
                <time dateTime={at}>{timeOf(at)}</time>{" "}
                <span class="verbatim">{content ?? "(its words are gone)"}</span>
              </li>
            ))}
        </ol>
      )}
    </div>
  );
}
