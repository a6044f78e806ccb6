import { useState } from "preact/hooks";
import type { Chat } from "../../../message/index.js";
import type { Model } from "../../client/index.js";
import { factsOf } from "../modelFacts.js";
import { explain, type Page, serverModel } from "../state.js";

type Props = { page: Page; chat: Chat; models: readonly Model[] };

/** Which model answers here: those that can be used, and what to set for the others. */
export function Models({ page, chat, models }: Props) {
  const [told, setTold] = useState<{ text: string; failed: boolean } | null>(null);
  const [other, setOther] = useState("");
  const choose = async (model: string | null): Promise<void> => {
    try {
      await page.client.changeChat(chat.jid, { model });
      setTold({ text: "From the next message on.", failed: false });
    } catch (error) {
      setTold({ text: explain(page, error), failed: true });
    }
  };
  const usable = models.filter(({ available }) => available);
  const missing = models.filter(({ available }) => !available);
  return (
    <details class="models">
      <summary>change the model</summary>
      <fieldset>
        <legend class="hint">Prices are dollars for a million tokens, in and out.</legend>
        <Choice
          name={`the server's (${serverModel({ models: [...models] }) ?? "none"})`}
          facts=""
          chosen={chat.model === null}
          onChoose={() => void choose(null)}
        />
        {chat.model !== null && !usable.some(({ name }) => name === chat.model) && (
          <Choice name={chat.model} facts="set now; the server does not list it" chosen onChoose={() => {}} />
        )}
        {usable.map((model) => (
          <Choice
            key={model.name}
            name={model.name}
            facts={factsOf(model)}
            chosen={chat.model === model.name}
            onChoose={() => void choose(model.name)}
          />
        ))}
      </fieldset>
      <form
        class="field"
        onSubmit={(event) => {
          event.preventDefault();
          if (other.trim() !== "") void choose(other.trim());
        }}
      >
        <input
          aria-label="Another model, as provider/model"
          placeholder="another: provider/model"
          spellcheck={false}
          value={other}
          onInput={(event) => setOther(event.currentTarget.value)}
        />
        <button type="submit" disabled={other.trim() === ""}>
          Use it
        </button>
      </form>
      <p class="sheet-status" role="status" data-failed={told?.failed}>
        {told?.text}
      </p>
      {missing.length > 0 && (
        <>
          <h3>not set up</h3>
          <dl class="missing">
            {missing.map(({ name, note }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{note}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </details>
  );
}

type ChoiceProps = { name: string; facts: string; chosen: boolean; onChoose: () => void };

function Choice({ name, facts, chosen, onChoose }: ChoiceProps) {
  return (
    <label class="choice">
      <input type="radio" name="model" checked={chosen} onChange={onChoose} />
      <span>
        <span class="model">{name}</span> <span class="source">{facts}</span>
      </span>
    </label>
  );
}
