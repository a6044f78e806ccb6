import { useState } from "preact/hooks";
import type { Call, CallEnvelope, Replay } from "../../../message/index.js";
import { costOf } from "../conversation/aside.js";
import { Prose } from "../conversation/Prose.js";
import { Thinking } from "../conversation/Folded.js";
import { factsOf } from "../modelFacts.js";
import type { Page, State } from "../state.js";
import { askAgain } from "./asking.js";

type Props = { page: Page; state: State; call: Call };

/** The same context for another model, with both answers side by side. */
export function Again({ page, state, call }: Props) {
  const usable = state.models.filter(({ available }) => available);
  const mine = `${call.provider}/${call.model}`;
  const [model, setModel] = useState(usable.find(({ name }) => name !== mine)?.name ?? mine);
  const asked = state.replay?.about === call.id ? state.replay : null;
  const chosen = usable.find(({ name }) => name === model);
  return (
    <section class="again" aria-label="Ask again">
      <form
        class="field"
        onSubmit={(event) => {
          event.preventDefault();
          void askAgain(page, call, model.trim());
        }}
      >
        <label for="again">the same request, for</label>
        <input
          id="again"
          list="again-models"
          spellcheck={false}
          value={model}
          onInput={(event) => setModel(event.currentTarget.value)}
        />
        <datalist id="again-models">
          {[...new Set([mine, ...usable.map(({ name }) => name)])].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <button type="submit" disabled={asked?.status === "loading" || model.trim() === ""}>
          Ask
        </button>
      </form>
      <p class="hint">
        {chosen ? `${factsOf(chosen)}. ` : ""}It is paid for like an answer; nothing of it becomes part of the
        chat, and no tool is run.
      </p>
      {asked?.status === "loading" && (
        <p class="hint" role="status">
          Asking {model}…
        </p>
      )}
      {asked?.status === "failed" && (
        <p class="trouble" role="alert">
          {asked.why}
        </p>
      )}
      {asked?.status === "ready" && <Both replay={asked.answer} />}
    </section>
  );
}

function Both({ replay }: { replay: Replay }) {
  const { original, replay: again, context, notes } = replay;
  return (
    <>
      <div class="both">
        <Answered title="then" {...original} />
        <Answered title="now" {...again} />
      </div>
      <ul class="lines">
        {context.exact
          ? null
          : context.differences.map((line) => <li key={line}>Not quite the same request: {line}</li>)}
        {notes.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  );
}

type AnsweredProps = { title: string; call: CallEnvelope; answer: Replay["original"]["answer"] };

function Answered({ title, call, answer }: AnsweredProps) {
  return (
    <article class="answered" aria-label={`${title}: ${call.model}`}>
      <h3>
        {title}: <span class="model">{call.model}</span>
      </h3>
      {call.error && <p class="trouble">{call.error}</p>}
      {answer === null && !call.error && <p class="hint">Its answer is not kept.</p>}
      {answer?.thinking && <Thinking text={answer.thinking} writing={false} />}
      {answer?.tool_calls.map(({ name, args }, index) => (
        <p key={index} class="wording" data-hand="tool">
          🔧 {name} {JSON.stringify(args)}
        </p>
      ))}
      {answer?.text && <Prose text={answer.text} />}
      <p class="source figures">{costOf(call)}</p>
    </article>
  );
}
