import type { MessageRow } from "../../../message/row.js";
import { excerpt } from "../conversation/aside.js";
import { timeOf } from "../figures.js";
import { nameOf } from "../layout.js";
import { session } from "../session.js";
import type { Page } from "../state.js";
import { forkFrom } from "../tree/branching.js";
import { Sheet } from "./Sheet.js";

/** Asks how to go on from an earlier message. */
export function Fork({ page, row, onClose }: { page: Page; row: MessageRow; onClose: () => void }) {
  const go = (summarise: boolean) => () => {
    onClose();
    void forkFrom(page, row, summarise);
  };
  return (
    <Sheet title="Go on from here?" onClose={onClose}>
      <blockquote class="quoted">
        <bdi>{excerpt(row.content, 120)}</bdi>
        <footer>
          {nameOf(row)}, {timeOf(row.timestamp)}
        </footer>
      </blockquote>
      <p class="hint">
        The model then reads the conversation up to this message. What came after it stays on the page, on a
        branch of its own, and you can go back to it at any time.
      </p>
      <p class="actions">
        <button type="button" ref={(button) => button?.focus()} onClick={go(false)}>
          Go on from here
        </button>
        {!session.speaker().isPerson && (
          <button type="button" onClick={go(true)}>
            … with a summary of what is left
          </button>
        )}
      </p>
      <p class="hint">A summary is written by the chat's model, and is paid for like an answer.</p>
    </Sheet>
  );
}
