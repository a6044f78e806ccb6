import { Fragment } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { audienceOf } from "../../../message/audience.js";
import type { Chat, MessageRow } from "../../../message/index.js";
import { answersFurtherUp, isWaiting } from "../answering.js";
import { dayOf, timeOf } from "../figures.js";
import { inspect, learnCost } from "../inspecting.js";
import { type Item, idsOf, keyOf, layOut } from "../layout.js";
import { QUIET, rowsBeingWritten } from "../live.js";
import { send, takeBack } from "../speaking.js";
import { session } from "../session.js";
import type { Outgoing, Page, State } from "../state.js";
import { EMPTY } from "../transcript.js";
import { type Mark, type Marks, marksOf } from "../tree/marks.js";
import { type Wood, woodOf } from "../tree/tree.js";
import { Entry } from "./Entry.js";
import { MarkView } from "./Marks.js";

/** Wide enough for the right-hand page to stand beside the conversation. */
const ROOM_FOR_INSPECTOR = "(min-width: 1080px)";

/** The rows, then what is being written, then what is on its way. */
export function Transcript({ page, state, chat }: { page: Page; state: State; chat: Chat | null }) {
  const { rows, atStart, atEnd } = state.transcript ?? EMPTY;
  const live = (state.open !== null && state.live[state.open]) || QUIET;
  const name = chat?.assistant_name ?? "Assistant";
  const written = useMemo(() => rowsBeingWritten(live, state.open ?? "", name), [live, state.open, name]);
  const items = useMemo(
    () => layOut(atEnd ? [...rows, ...notStored(written, rows)] : rows),
    [rows, written, atEnd],
  );
  const questions = useMemo(() => answersFurtherUp(items, state.outcomes), [items, state.outcomes]);
  const byId = useMemo(() => new Map(rows.map((row) => [row.id, row])), [rows]);
  const { wood, marks } = useTree(state);
  const due = useMemo(() => marks && dueBehind(items, marks), [items, marks]);
  const actions = useActions(page);
  const last = items.findLast((item) => item.type === "row");

  const entry = (item: Extract<Item, { type: "row" }>) => (
    <Entry
      key={item.key}
      row={item.row}
      result={item.result}
      named={item.named}
      selected={state.selected !== null && idsOf(item).includes(state.selected)}
      lit={idsOf(item).some((id) => state.lit.includes(id))}
      newest={item === last}
      writing={written.includes(item.row)}
      running={item.row.turn_id !== null && live.turns.includes(item.row.turn_id)}
      waits={isWaiting(live, item.row, state.outcomes[item.row.id] ?? null)}
      question={questions.get(item.key) ?? null}
      reading={wood?.readings.get(item.row.id) ?? null}
      goesOn={marks?.goesOn.get(item.row.id)?.message?.content ?? null}
      repliesTo={byId.get(String(item.row.metadata.reply_to)) ?? null}
      outcome={state.outcomes[item.row.id] ?? null}
      call={(item.row.call_id !== null && state.calls[item.row.call_id]) || null}
      deliveries={state.deliveries[item.row.id] ?? null}
      {...actions}
    />
  );

  const draw = (found: readonly Mark[] = []) =>
    found.map((mark) => <MarkView key={mark.key} page={page} mark={mark} />);

  return (
    <>
      {atStart && draw(marks?.behind.get(null))}
      {items.map((item) =>
        item.type === "row" ? (
          <Fragment key={item.key}>
            {entry(item)}
            {draw(due?.get(item.key))}
          </Fragment>
        ) : (
          <Day key={item.key} at={item.at} />
        ),
      )}
      {state.outgoing
        .filter(({ jid }) => jid === state.open)
        .map((outgoing) => (
          <OnItsWay key={outgoing.key} page={page} outgoing={outgoing} />
        ))}
    </>
  );
}

/** Rows may be fetched before the event comes that ends their streaming; then they have the word. */
function notStored(written: MessageRow[], rows: readonly MessageRow[]): MessageRow[] {
  if (written.length === 0) return written;
  const stored = new Set(rows.map(keyOf));
  return written.filter((row) => !stored.has(keyOf(row)));
}

/** Marks by the item they follow. Figures belong to the answer above them: a mark waits until those have been told. */
function dueBehind(items: readonly Item[], marks: Marks): Map<string, Mark[]> {
  const due = new Map<string, Mark[]>();
  let waiting: Mark[] = [];
  items.forEach((item, index) => {
    if (item.type !== "row") return;
    waiting = [...waiting, ...idsOf(item).flatMap((id) => marks.behind.get(id) ?? [])];
    const next = items[index + 1];
    if (waiting.length === 0 || (next?.type === "row" && audienceOf(next.row).shown.hand === "meta")) return;
    due.set(item.key, waiting);
    waiting = [];
  });
  return due;
}

/** What the tree says of the open chat's messages. */
function useTree({ tree, open }: State): { wood: Wood | null; marks: Marks | null } {
  const known = tree?.jid === open ? tree : null;
  const wood = useMemo(() => known && woodOf(known), [known]);
  const marks = useMemo(() => wood && marksOf(wood), [wood]);
  return { wood, marks };
}

function useActions(page: Page) {
  const onInspect = useCallback((row: MessageRow) => void inspect(page, row), [page]);
  const onFork = useCallback((row: MessageRow) => page.set({ sheet: { fork: row } }), [page]);
  const onHistory = useCallback((row: MessageRow) => page.client.revisions(row.chat_jid, row.id), [page]);
  const onSelect = useCallback(
    (row: MessageRow) => {
      if (row.call_id !== null) void learnCost(page, row.call_id);
      const beside = matchMedia(ROOM_FOR_INSPECTOR).matches;
      if (beside && (row.call_id !== null || page.state().inspection !== null)) void inspect(page, row);
      else page.set({ selected: row.id });
    },
    [page],
  );
  const onPoint = useCallback(
    (row: MessageRow | null, result: MessageRow | null) => {
      if (row?.call_id) void learnCost(page, row.call_id);
      if (page.state().inspection !== null) page.set({ lit: row ? idsOf({ row, result }) : [] });
    },
    [page],
  );
  return { onInspect, onFork, onHistory, onSelect, onPoint };
}

function Day({ at }: { at: string }) {
  return (
    <h3 class="day">
      <span>{dayOf(at)}</span>
    </h3>
  );
}

/** One's own words before they are stored: there, but paler. */
function OnItsWay({ page, outgoing }: { page: Page; outgoing: Outgoing }) {
  const { submission, trouble } = outgoing;
  const edit = (): void => {
    session.keepDraft(outgoing.jid, submission.content);
    takeBack(page, outgoing.key);
    page.set({ redrafts: page.state().redrafts + 1 });
  };
  return (
    <article
      class="entry"
      data-hand="person"
      data-named
      data-sending={trouble === null}
      aria-busy={trouble === null}
    >
      <time dateTime={outgoing.at}>{timeOf(outgoing.at)}</time>
      <div class="said">
        <p class="who">
          <bdi class="name">{submission.msg_metadata.sender_display_name}</bdi>
        </p>
        <p class="verbatim" dir="auto">
          {submission.content}
        </p>
        {trouble && (
          <p class="trouble" role="alert">
            not sent: {trouble.why} {trouble.willRetry && "It is sent when the server is back. "}
            <button type="button" onClick={() => send(page, outgoing)}>
              Send again
            </button>{" "}
            <button class="quiet" type="button" onClick={edit}>
              Take back
            </button>
          </p>
        )}
      </div>
    </article>
  );
}
