import { useEffect, useState } from "preact/hooks";
import { isOwnSender } from "../../../message/audience.js";
import type { Erasure, MessageRow, Person } from "../../../message/index.js";
import { counted } from "../figures.js";
import { nameOf } from "../layout.js";
import { explain, type Page, type State } from "../state.js";
import { Erase } from "./Erase.js";
import { Sheet } from "./Sheet.js";

/** Somebody who can be forgotten: a person, or a sender id that belongs to nobody known. */
export type Somebody = { ref: string; name: string; senders: readonly string[] };

type Props = { page: Page; state: State; onClose: () => void };

/** Who is who, and how somebody is forgotten. */
export function People({ page, state, onClose }: Props) {
  const [people, setPeople] = useState<Person[] | string | null>(null);
  const [chosen, setChosen] = useState<Somebody | null>(null);
  const [erased, setErased] = useState<Erasure | null>(null);
  useEffect(() => {
    page.client.people().then(
      (answer) => setPeople(answer.people),
      (error: unknown) => setPeople(explain(page, error)),
    );
  }, [page, erased]);

  if (chosen)
    return (
      <Sheet title={`Erase ${chosen.name}?`} onClose={onClose}>
        <Erase
          page={page}
          whom={chosen}
          onDone={(done) => {
            setChosen(null);
            setErased(done);
          }}
        />
      </Sheet>
    );
  const known = Array.isArray(people) ? people.map(somebodyOf) : [];
  const others = Array.isArray(people) ? strangersIn(state.transcript?.rows ?? [], people) : [];
  return (
    <Sheet title="People" onClose={onClose}>
      {erased && <Erased erasure={erased} />}
      {people === null && <p class="hint">Looking…</p>}
      {typeof people === "string" && (
        <p class="trouble" role="alert">
          {people}
        </p>
      )}
      <Listed somebody={known} onErase={setChosen} />
      {known.length === 0 && Array.isArray(people) && (
        <p class="hint">
          Nobody is known by name in several places yet. Where the server runs:{" "}
          <code>longhand people add Olivia slack:U06STGBF4Q0</code>
        </p>
      )}
      {others.length > 0 && (
        <>
          <h3>who else spoke in this chat lately</h3>
          <Listed somebody={others} onErase={setChosen} />
        </>
      )}
    </Sheet>
  );
}

type ListedProps = { somebody: readonly Somebody[]; onErase: (somebody: Somebody) => void };

function Listed({ somebody, onErase }: ListedProps) {
  return (
    <ul class="people">
      {somebody.map((one) => (
        <li key={one.ref}>
          <span>
            <bdi class="name">{one.name}</bdi> <span class="senders">{one.senders.join(", ")}</span>
          </span>
          <button class="quiet" type="button" aria-label={`Erase ${one.name}`} onClick={() => onErase(one)}>
            erase…
          </button>
        </li>
      ))}
    </ul>
  );
}

/** What was erased is counted, and never named again. */
function Erased({ erasure }: { erasure: Erasure }) {
  const { messages, attachments, receipts, summaries, scrubbed } = erasure;
  return (
    <p class="sheet-status" role="status">
      Erased: {counted(messages, "message")}, {counted(attachments, "file")}. Redacted:{" "}
      {counted(receipts, "receipt")}. Read no more: {counted(summaries, "summary", "summaries")}.
      {!scrubbed && " The disk still has traces; the server takes them away as soon as it can."}
    </p>
  );
}

function somebodyOf({ id, name, senders }: Person): Somebody {
  return { ref: `person:${id}`, name, senders };
}

/** Sender ids among these rows that belong to no person, each with the name it last had. */
function strangersIn(rows: readonly MessageRow[], people: readonly Person[]): Somebody[] {
  const taken = new Set(people.flatMap(({ senders }) => senders));
  const found = new Map<string, string>();
  for (const row of rows) {
    const isSomebody = row.message_type === "user" && !isOwnSender(row.sender) && !taken.has(row.sender);
    if (isSomebody) found.set(row.sender, nameOf(row));
  }
  return [...found].map(([ref, name]) => ({ ref, name, senders: [ref] }));
}
