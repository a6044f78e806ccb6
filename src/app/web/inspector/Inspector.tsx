import { useState } from "preact/hooks";
import { excerpt } from "../conversation/aside.js";
import { explainOutcome } from "../../../message/why.js";
import { counted, timeOf } from "../figures.js";
import { closeInspector, inspect, inspectNow } from "../inspecting.js";
import { nameOf } from "../layout.js";
import type { Inspection, Page, State } from "../state.js";
import { Blocks } from "./Blocks.js";
import { Compared, isSameCall, Pin } from "./Compared.js";
import { compare } from "./compare.js";
import { LeftOutList } from "./LeftOut.js";
import { Raw } from "./Raw.js";
import type { Seen } from "./seen.js";
import { Summary } from "./Summary.js";

type Props = { page: Page; state: State; inspection: Inspection };

/** The right-hand page: the request as the model received it. */
export function Inspector({ page, state, inspection }: Props) {
  return (
    <aside class="inspector" aria-label="What the model saw">
      <header class="title">
        <button class="quiet back" type="button" onClick={() => page.set({ view: "conversation" })}>
          ‹ {state.open}
        </button>
        <h2>{headingOf(inspection)}</h2>
        <button
          class="quiet close"
          type="button"
          aria-label="Close"
          title="Close (Esc)"
          onClick={() => closeInspector(page)}
        >
          ✕
        </button>
      </header>
      <div class="leaf">
        <Body page={page} state={state} inspection={inspection} />
      </div>
    </aside>
  );
}

function Body({ page, state, inspection }: Props) {
  const [raw, setRaw] = useState(false);
  if (inspection.status === "loading") return <p class="hint">Reading the receipt…</p>;
  if (inspection.status === "failed") {
    return (
      <p class="trouble" role="alert">
        {inspection.why}{" "}
        <button
          type="button"
          onClick={() => void (inspection.about ? inspect(page, inspection.about) : inspectNow(page))}
        >
          Try again
        </button>
      </p>
    );
  }
  const seen = inspection.seen[inspection.shown];
  return (
    <>
      <About inspection={inspection} />
      {inspection.seen.length > 1 && <Calls page={page} inspection={inspection} />}
      {seen ? (
        <Request page={page} state={state} seen={seen} raw={raw} onRaw={setRaw} />
      ) : (
        <Nothing page={page} inspection={inspection} />
      )}
    </>
  );
}

function headingOf(inspection: Inspection): string {
  if (inspection.about === null) return "What it would see now";
  return isUnseen(inspection) ? "What became of it" : "What the model saw";
}

/** No model was asked about it, and that is known. */
function isUnseen(inspection: Inspection): boolean {
  return inspection.status === "ready" && inspection.seen.length === 0;
}

function About({ inspection }: { inspection: Inspection }) {
  const { about, withDraft } = inspection;
  if (about) {
    return (
      <p class="about">
        {isUnseen(inspection) ? "to" : about.is_from_me ? "when it said" : "when it answered"} “
        <bdi>{excerpt(about.content, 48)}</bdi>” ({about.is_from_me ? "" : `${nameOf(about)}, `}
        {timeOf(about.timestamp)})
      </p>
    );
  }
  return (
    <p class="about">
      {withDraft
        ? "if what stands in the composer were said now; it is stored nowhere"
        : "if it were called now; write something first, and it is included"}
    </p>
  );
}

function Nothing({ page, inspection }: { page: Page; inspection: Inspection }) {
  return (
    <div class="hint">
      <p>
        {inspection.outcome
          ? explainOutcome(inspection.outcome)
          : "No model was called for this message, so no model has seen it in a turn of its own."}
      </p>
      <p>
        <button type="button" onClick={() => void inspectNow(page)}>
          What would it see now?
        </button>
      </p>
    </div>
  );
}

/** A turn that used a tool called the model more than once. */
function Calls({ page, inspection }: { page: Page; inspection: Extract<Inspection, { status: "ready" }> }) {
  return (
    <fieldset class="calls" aria-label={counted(inspection.seen.length, "call")}>
      {inspection.seen.map(({ call }, index) => (
        <button
          key={call?.id ?? index}
          type="button"
          aria-pressed={index === inspection.shown}
          onClick={() => page.set({ inspection: { ...inspection, shown: index } })}
        >
          call {index + 1}
        </button>
      ))}
    </fieldset>
  );
}

type RequestProps = { page: Page; state: State; seen: Seen; raw: boolean; onRaw: (raw: boolean) => void };

function Request({ page, state, seen, raw, onRaw }: RequestProps) {
  const rows = state.transcript?.rows ?? [];
  const { pinned } = state;
  const comparison = pinned && !isSameCall(pinned, seen) && !raw ? compare(pinned, seen) : null;
  return (
    <>
      <Summary seen={seen} />
      {seen.gone && <p class="trouble">The words of this request are gone: {seen.gone}</p>}
      {!seen.covers && <p class="trouble">The blocks do not add up to the request; trust the raw bytes.</p>}
      <div class="switch">
        <button type="button" aria-pressed={!raw} onClick={() => onRaw(false)}>
          as blocks
        </button>
        <button type="button" aria-pressed={raw} onClick={() => onRaw(true)}>
          raw bytes
        </button>
        <Pin page={page} pinned={state.pinned} seen={seen} />
      </div>
      {comparison && <Compared pinned={state.pinned} comparison={comparison} />}
      {raw ? (
        <Raw page={page} seen={seen} lit={state.lit} />
      ) : (
        <Blocks page={page} seen={seen} rows={rows} lit={state.lit} parting={comparison?.first ?? null} />
      )}
      <LeftOutList page={page} leftOut={seen.left_out} rows={rows} />
    </>
  );
}
