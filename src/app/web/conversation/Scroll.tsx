import { Component, type ComponentChildren, createRef } from "preact";
import type { State } from "../state.js";

type Props = {
  goal: State["goal"];
  label: string;
  busy: boolean;
  onTop: () => void;
  onBottom: () => void;
  /** Told when the reader leaves the end, and when they are back. */
  onEnd: (there: boolean) => void;
  children: ComponentChildren;
};

/** What must not move on the screen: the end, or the row at the top of what is read. */
type Hold = { end: true } | { end: false; row: HTMLElement | null; top: number };

/** So near to an edge counts as there. */
const NEAR = 48;
/** So far before an edge the next page of rows is asked for. */
const SOON = 1200;

/** A place to read: whatever is added above or below, what one reads stays where it is. */
export class Scroll extends Component<Props> {
  readonly #place = createRef<HTMLDivElement>();
  #hold: Hold = { end: true };
  /** Where the page stood when that was measured. */
  #scrollTop = 0;
  #size = new ResizeObserver(() => this.#restore(this.#hold));

  override componentDidMount(): void {
    if (this.#place.current) this.#size.observe(this.#place.current);
    // Opening a fold at the end is reading, not waiting for more. The event does not bubble, so it is caught above.
    this.#place.current?.addEventListener("toggle", this.#scrolled, true);
    this.#restore(this.#hold);
  }

  override componentWillUnmount(): void {
    this.#size.disconnect();
  }

  /** The reader may have scrolled, and the event that says so be still to come. */
  override getSnapshotBeforeUpdate(): null {
    if (this.#place.current?.scrollTop !== this.#scrollTop) this.#hold = this.#measure();
    return null;
  }

  override componentDidUpdate(old: Props): void {
    this.#restore(this.#hold);
    if (this.props.goal !== old.goal) this.#seek(this.props.goal);
    this.#askForMore();
  }

  render({ children, label, busy }: Props) {
    return (
      <div class="scroll" ref={this.#place} onScroll={this.#scrolled} tabIndex={-1}>
        <div class="transcript" role="log" aria-label={label} aria-busy={busy}>
          {children}
        </div>
      </div>
    );
  }

  #scrolled = (): void => {
    this.#hold = this.#measure();
    this.props.onEnd(this.#hold.end);
    this.#askForMore();
  };

  #askForMore(): void {
    const place = this.#place.current;
    if (!place) return;
    if (place.scrollTop < SOON) this.props.onTop();
    if (place.scrollHeight - place.scrollTop - place.clientHeight < SOON) this.props.onBottom();
  }

  #measure(): Hold {
    const place = this.#place.current;
    if (!place) return { end: true };
    this.#scrollTop = place.scrollTop;
    if (place.scrollHeight - place.scrollTop - place.clientHeight < NEAR) return { end: true };
    const row = firstBelow(place, place.getBoundingClientRect().top);
    return { end: false, row, top: row?.getBoundingClientRect().top ?? 0 };
  }

  #restore(hold: Hold): void {
    const place = this.#place.current;
    if (!place) return;
    if (hold.end) place.scrollTop = place.scrollHeight;
    else if (hold.row?.isConnected) place.scrollTop += hold.row.getBoundingClientRect().top - hold.top;
    this.#hold = this.#measure();
  }

  #seek(goal: State["goal"]): void {
    const place = this.#place.current;
    if (!place || !goal) return;
    if ("end" in goal) {
      this.#restore({ end: true });
      return;
    }
    const id = CSS.escape(goal.id);
    const row = place.querySelector<HTMLElement>(`[data-id="${id}"], [data-result="${id}"]`);
    row?.scrollIntoView({ block: isOutOfSight(row, place) ? "center" : "nearest" });
    row?.focus({ preventScroll: true });
    this.#hold = this.#measure();
  }
}

/** The first row that reaches below a line, found by halving: there may be hundreds. */
function firstBelow(place: HTMLElement, line: number): HTMLElement | null {
  const rows = place.firstElementChild?.children ?? [];
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.getBoundingClientRect().bottom ?? 0) > line) high = middle;
    else low = middle + 1;
  }
  const found = rows[low];
  return found instanceof HTMLElement ? found : null;
}

/** Far away, a message is brought to the middle; nearby the page moves as little as it can. */
function isOutOfSight(row: HTMLElement, place: HTMLElement): boolean {
  const { top, bottom } = row.getBoundingClientRect();
  const seen = place.getBoundingClientRect();
  return bottom < seen.top - seen.height / 2 || top > seen.bottom + seen.height / 2;
}
