import { useState } from "preact/hooks";
import type { Erasure } from "../../../message/index.js";
import { openChat } from "../reading.js";
import { explain, type Page } from "../state.js";
import type { Somebody } from "./People.js";

const GOES: readonly string[] = [
  "everything they said, in every chat, with every earlier wording; an empty line with its time is left",
  "their name, also as models know it, and who they are among people",
  "files they attached, and what was heard in them",
  "thread contexts of chats they spoke in: those may quote them",
  "their words in stored requests; such a receipt keeps its figures and is marked redacted",
  "summaries written since they first spoke; models read the remaining messages again",
  "their links and tokens, and their place in every list of who may speak",
];

const STAYS: readonly string[] = [
  "what the assistant answered, also where it quotes them: delete such an answer by itself",
  "what other people wrote about them",
  "what was already sent to platforms and model providers: erase it there",
  "backups made before",
];

type Props = { page: Page; whom: Somebody; onDone: (erasure: Erasure | null) => void };

/** Says exactly what goes, and goes on only when the name has been typed. */
export function Erase({ page, whom, onDone }: Props) {
  const [typed, setTyped] = useState("");
  const [state, setState] = useState<{ working: boolean; why: string | null }>({ working: false, why: null });
  const meant = typed.trim() === whom.name.trim();
  const erase = async (): Promise<void> => {
    setState({ working: true, why: null });
    try {
      const erasure = await page.client.eraseSender(whom.ref);
      onDone(erasure);
      // Whatever the page still shows of them is read anew.
      const { open } = page.state();
      page.set({ calls: {}, outcomes: {}, search: null });
      if (open !== null) await openChat(page, open);
    } catch (error) {
      setState({ working: false, why: explain(page, error) });
    }
  };
  return (
    <>
      <p class="senders">{whom.senders.join(", ")}</p>
      <h3>goes, and nothing brings it back</h3>
      <List lines={GOES} />
      <h3>stays</h3>
      <List lines={STAYS} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (meant && !state.working) void erase();
        }}
      >
        <label class="hint" for="erase-name">
          To erase them, type <strong>{whom.name}</strong>:
        </label>
        <div class="field">
          <input
            id="erase-name"
            autocomplete="off"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
        <p class="sheet-status" role="status" data-failed={state.why !== null}>
          {state.working ? "Erasing. In a large database this takes a while…" : state.why}
        </p>
        <p class="actions">
          <button class="grave" type="submit" disabled={!meant || state.working}>
            Erase for good
          </button>
          <button type="button" disabled={state.working} onClick={() => onDone(null)}>
            Keep them
          </button>
        </p>
      </form>
    </>
  );
}

function List({ lines }: { lines: readonly string[] }) {
  return (
    <ul class="lines">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
