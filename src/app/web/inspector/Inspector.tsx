import { useState } from "preact/hooks";
import { excerpt } from "../conversation/aside.js";
import { explainOutcome } from "../../../message/why.js";
import { counted, timeOf } from "../figures.js";
import { closeInspector, inspect, inspectNow } from "../inspecting.js";
import { nameOf } from "../layout.js";
import { session } from "../session.js";
import type { Inspection, Page, State } from "../state.js";
import { Blocks } from "./Blocks.js";
import { Again } from "./Again.js";
import { Changes } from "./Changes.js";
import { Compared, Pin } from "./Compared.js";
import { compare } from "./compare.js";
import { Lead } from "./Lead.js";
import { LeftOutList } from "./LeftOut.js";
import { missedBy } from "./missed.js";
import { Raw } from "./Raw.js";
import { isSame, type Seen } from "./seen.js";
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
  const [view, setView] = useState<View>("blocks");
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
        <Request page={page} state={state} seen={seen} view={view} onView={setView} />
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

/** How a request is looked at. */
type View = "blocks" | "raw" | "changes" | "again";
const VIEWS: readonly (readonly [View, string])[] = [
  ["blocks", "as blocks"],
  ["raw", "raw bytes"],
  ["changes", "what changed"],
  ["again", "ask again"],
];

type RequestProps = { page: Page; state: State; seen: Seen; view: View; onView: (view: View) => void };

function Request({ page, state, seen, view: wanted, onView }: RequestProps) {
  const { call } = seen;
  const view = isOffered(wanted, call !== null) ? wanted : "blocks";
  const leftOut = [...seen.left_out, ...missedBy(seen, state)];
  return (
    <>
      <Lead seen={seen} missing={leftOut.length} onChanges={() => onView("changes")} />
      <Summary seen={seen} />
      {seen.gone && <p class="trouble">The words of this request are gone: {seen.gone}</p>}
      {!seen.covers && <p class="trouble">The blocks do not add up to the request; trust the raw bytes.</p>}
      <div class="switch">
        {VIEWS.filter(([name]) => isOffered(name, call !== null)).map(([name, words]) => (
          <button key={name} type="button" aria-pressed={name === view} onClick={() => onView(name)}>
            {words}
          </button>
        ))}
        <Pin page={page} pinned={state.pinned} seen={seen} />
      </div>
      {view === "blocks" && <AsBlocks page={page} state={state} seen={seen} />}
      {view === "raw" && <Raw page={page} seen={seen} lit={state.lit} />}
      {view === "changes" && call && <Changes page={page} state={state} call={call} />}
      {view === "again" && call && <Again key={call.id} page={page} state={state} call={call} />}
      {(view === "blocks" || view === "raw") && (
        <LeftOutList page={page} leftOut={leftOut} rows={state.transcript?.rows ?? []} />
      )}
    </>
  );
}

/** A request that was never sent has no other to compare with; asking again costs money, which is the operator's. */
function isOffered(view: View, sent: boolean): boolean {
  if (view === "again") return sent && !session.speaker().isPerson;
  return sent || view !== "changes";
}

function AsBlocks({ page, state, seen }: { page: Page; state: State; seen: Seen }) {
  const { pinned } = state;
  const comparison = pinned && !isSame(pinned, seen) ? compare(pinned, seen) : null;
  return (
    <>
      {comparison && <Compared pinned={pinned} comparison={comparison} />}
      <Blocks
        page={page}
        seen={seen}
        rows={state.transcript?.rows ?? []}
        lit={state.lit}
        parting={comparison?.first ?? null}
        breaks={seen.call?.breaks ?? []}
      />
    </>
  );
}
