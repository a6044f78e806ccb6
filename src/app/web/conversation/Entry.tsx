import { Component } from "preact";
import { audienceOf, type Audience, ERASED_SENDER } from "../../../message/audience.js";
import { displayContent } from "../../../message/legacy.js";
import type { Call, Delivery, MessageRow, Outcome } from "../../../message/index.js";
import { momentOf, surface, timeOf } from "../figures.js";
import { nameOf } from "../layout.js";
import type { Revision } from "../../client/index.js";
import type { Reading } from "../tree/tree.js";
import { Attachments } from "./Attachments.js";
import { costOf, deliveredTo, excerpt, joinedTo, whyNot } from "./aside.js";
import { canForkFrom } from "../speaking.js";
import { Edited } from "./Edited.js";
import { Prose } from "./Prose.js";
import { Thinking, Tool } from "./Folded.js";

export type EntryProps = {
  row: MessageRow;
  result: MessageRow | null;
  named: boolean;
  selected: boolean;
  lit: boolean;
  newest: boolean;
  /** It is still being written, and not stored. */
  writing: boolean;
  running: boolean;
  /** Something else is being answered, and this waits. */
  waits: boolean;
  /** What this answers, or replies to, where that does not stand right above. */
  question: MessageRow | null;
  /** How the model would read it now; null where that is not known. */
  reading: Reading | null;
  /** What it goes on from, where that is not the message above. */
  goesOn: string | null;
  repliesTo: MessageRow | null;
  outcome: Outcome | null;
  call: Call | null;
  deliveries: readonly Delivery[] | null;
  onSelect: (row: MessageRow) => void;
  onInspect: (row: MessageRow) => void;
  onFork: (row: MessageRow) => void;
  onHistory: (row: MessageRow) => Promise<{ revisions: Revision[] }>;
  onPoint: (row: MessageRow | null, result: MessageRow | null) => void;
};

/** One message in its own hand. It is drawn again only when something about it changed. */
export class Entry extends Component<EntryProps> {
  override shouldComponentUpdate(next: EntryProps): boolean {
    const keys = Object.keys(next) as (keyof EntryProps)[];
    return keys.some((key) => next[key] !== this.props[key]);
  }

  render(props: EntryProps) {
    const { row, result, named, selected, lit, reading, goesOn, repliesTo, onPoint } = props;
    const { hand } = audienceOf(row).shown;
    return (
      <article
        class="entry"
        data-hand={hand}
        data-id={row.id}
        data-result={result?.id}
        data-answer={typeof row.metadata.answers === "string"}
        data-named={named}
        data-lit={lit}
        data-writing={props.writing}
        data-reading={reading ?? undefined}
        aria-current={selected ? "true" : undefined}
        aria-label={labelOf(row, hand) + (reading ? READINGS[reading] : "")}
        tabIndex={selected ? 0 : -1}
        onClick={this.#clicked}
        onKeyDown={this.#pressed}
        onMouseEnter={() => onPoint(row, result)}
        onMouseLeave={() => onPoint(null, null)}
      >
        <time dateTime={row.timestamp} title={momentOf(row.timestamp)}>
          {timeOf(row.timestamp)}
        </time>
        <div class="said">
          {named && <Name row={row} hand={hand} question={props.question} />}
          {goesOn !== null && (
            <p class="reply">
              ⑂ goes on from “<bdi>{excerpt(goesOn, 60)}</bdi>”
            </p>
          )}
          {repliesTo && (
            <p class="reply">
              ↩ {nameOf(repliesTo)}: “<bdi>{excerpt(repliesTo.content, 60)}</bdi>”
            </p>
          )}
          <Words {...props} />
          {row.edited_at !== null && row.deleted_at === null && (
            <Edited row={row} onHistory={props.onHistory} />
          )}
          <Attachments attachments={row.attachments} />
          <Became {...props} />
        </div>
        <Aside {...props} />
      </article>
    );
  }

  #pressed = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && event.target === event.currentTarget) this.props.onInspect(this.props.row);
  };

  /** A click selects; a click that ends a selection of text, or is meant for a button, does not. */
  #clicked = (event: MouseEvent): void => {
    if (event.target instanceof Element && event.target.closest("a, button, summary")) return;
    if (getSelection()?.isCollapsed === false) return;
    this.props.onSelect(this.props.row);
  };
}

type NameProps = { row: MessageRow; hand: Audience["shown"]["hand"]; question: MessageRow | null };

function Name({ row, hand, question }: NameProps) {
  const source = row.metadata.source;
  const from = hand === "person" && typeof source === "string" ? surface(source) : null;
  return (
    <p class="who">
      <bdi class="name">{nameOf(row)}</bdi>
      {from && <span class="source"> · {from}</span>}
      {row.metadata.sender_type === "bot" && <span class="source"> · a bot</span>}
      {row.metadata.passive === true && <span class="source"> · overheard</span>}
      {question && (
        <span class="source">
          {" "}
          · to “<bdi>{excerpt(question.content, 40)}</bdi>”
        </span>
      )}
    </p>
  );
}

function Words({ row, result, running, writing }: EntryProps) {
  const { shown } = audienceOf(row);
  if (row.deleted_at !== null)
    return <p class="gone">{row.sender === ERASED_SENDER ? "erased" : "deleted"}</p>;
  switch (shown.hand) {
    case "person":
      return (
        <p class="verbatim" dir="auto">
          {displayContent(row)}
        </p>
      );
    case "assistant":
      return (
        <>
          <Prose text={row.content} />
          {row.metadata.cut === true && <p class="cut">cut off here</p>}
        </>
      );
    case "thinking":
      return <Thinking text={row.content} writing={writing} />;
    case "tool":
      return <Tool row={row} result={result} running={running} />;
    case "system":
      return (
        <div class="set-apart">
          <span class="glyph">{shown.glyph}</span>
          <p class="verbatim">{row.content}</p>
        </div>
      );
    case "host":
      return (
        <p class="margin" title="News for people. No model sees it.">
          <span class="glyph">{shown.glyph}</span> <span class="verbatim">{row.content}</span>
          <span class="unseen">the model does not see this</span>
        </p>
      );
    case "meta":
      return (
        <p class="figures" title="News for people. No model sees it.">
          <span class="glyph">{shown.glyph}</span> {row.content}
        </p>
      );
  }
}

/** What became of a message, where its answer does not show it. */
function Became({ outcome, waits, newest }: EntryProps) {
  const joined = joinedTo(outcome, waits);
  if (joined) return <p class="joined">{joined}</p>;
  const why = outcome && whyNot(outcome);
  return why && (newest || !isUsual(outcome)) ? <p class="why-not">{why}</p> : null;
}

/** Most of what people say among themselves is not for the assistant; that is told only to whoever points at it. */
function isUsual({ outcome }: Outcome): boolean {
  return outcome === "ambient" || outcome === "passive";
}

/** What it cost and where it went, for whoever points at it. */
function Aside({ row, call, deliveries, outcome, newest, writing, onInspect, onFork }: EntryProps) {
  const { hand } = audienceOf(row).shown;
  if (hand === "host" || hand === "meta") return null;
  const why = outcome && isUsual(outcome) && !newest ? whyNot(outcome) : null;
  const sent = deliveredTo(deliveries ?? outcome?.deliveries ?? []);
  const facts = [why, call && costOf(call), sent].filter(Boolean);
  return (
    <p class="aside">
      {facts.length > 0 && <span>{facts.join(" · ")}</span>}
      <button class="quiet" type="button" tabIndex={-1} onClick={() => onInspect(row)}>
        {outcome && whyNot(outcome) ? "why" : "what it saw"}
      </button>
      {canForkFrom(row) && !writing && (
        <button
          class="quiet"
          type="button"
          tabIndex={-1}
          title="Go on from here; what came after stays in the chat, on a branch of its own (f)"
          onClick={() => onFork(row)}
        >
          fork
        </button>
      )}
    </p>
  );
}

/** For whoever does not see the ink. */
const READINGS: Readonly<Record<Reading, string>> = {
  now: "",
  summary: ", read as part of a summary",
  elsewhere: ", on another branch",
};

function labelOf(row: MessageRow, hand: Audience["shown"]["hand"]): string {
  const time = timeOf(row.timestamp);
  switch (hand) {
    case "person":
    case "assistant":
      return `${nameOf(row)}, ${time}`;
    case "thinking":
      return `Thought, ${time}`;
    case "tool":
      return `Tool, ${time}`;
    case "system":
      return `System message, ${time}`;
    case "host":
      return `Host note, not seen by the model, ${time}`;
    case "meta":
      return `Figures, not seen by the model, ${time}`;
  }
}
