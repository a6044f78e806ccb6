import type { TreeEntry } from "../../client/index.js";
import { counted, timeOf } from "../figures.js";
import { session } from "../session.js";
import type { Page } from "../state.js";
import { goToEntry } from "../tree/branching.js";
import type { Mark } from "../tree/marks.js";
import type { Branch } from "../tree/tree.js";
import { excerpt } from "./aside.js";

/** What the tree has to say between two messages. */
export function MarkView({ page, mark }: { page: Page; mark: Mark }) {
  if (mark.type === "fork") return <Forked page={page} branches={mark.branches} />;
  return <Summarised page={page} entry={mark.entry} state={mark.state} />;
}

/** Where the conversation took more than one way. */
function Forked({ page, branches }: { page: Page; branches: Branch[] }) {
  return (
    <nav class="entry mark-line" data-mark="fork" aria-label="Here the conversation forked">
      <span class="glyph" aria-hidden="true">
        ⑂
      </span>
      <ul class="said">
        {branches.map((branch) => (
          <li key={branch.first.id} data-current={branch.isCurrent}>
            <Way page={page} branch={branch} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Way({ page, branch }: { page: Page; branch: Branch }) {
  const { label, opening, remarks, leaf, isCurrent } = branch;
  const words = label ?? excerpt(opening?.message?.content ?? "nothing said yet", 44);
  const size = remarks > 0 ? `${counted(remarks, "remark")}, until ${timeOf(leaf.at)}` : "";
  const told = (
    <>
      <bdi>“{words}”</bdi> <span class="source">{size}</span>
    </>
  );
  if (isCurrent)
    return (
      <span>
        {told} <span class="source">· the model reads this one</span>
      </span>
    );
  return (
    <>
      {told}{" "}
      {!session.speaker().isPerson && (
        <button class="quiet" type="button" onClick={() => void goToEntry(page, leaf)}>
          go there
        </button>
      )}
    </>
  );
}

type SummarisedProps = { page: Page; entry: TreeEntry; state: "read" | "covered" | "elsewhere" };

/** A summary the model reads instead of messages, set apart from what people said. */
function Summarised({ page, entry, state }: SummarisedProps) {
  const { summary } = entry.data;
  const gone = typeof summary !== "string";
  return (
    <section
      class="entry mark-line"
      data-mark="summary"
      data-state={state}
      aria-label="A summary for the model"
    >
      <span class="glyph" aria-hidden="true">
        ❧
      </span>
      <div class="said">
        <p>
          {titleOf(entry)} <span class="source">{timeOf(entry.at)}</span>
          {gone ? " It is read no more: somebody whose words it may hold was erased." : STATES[state]}
        </p>
        {!gone && (
          <details>
            <summary>the summary</summary>
            <p class="verbatim">{summary}</p>
          </details>
        )}
        {!gone && !session.speaker().isPerson && <Undo page={page} entry={entry} state={state} />}
      </div>
    </section>
  );
}

const STATES: Readonly<Record<SummarisedProps["state"], string>> = {
  read: "",
  covered: " A newer summary has taken this one over.",
  elsewhere: " It is not read now: the conversation stands elsewhere.",
};

function titleOf({ kind, data }: TreeEntry): string {
  if (kind === "branch_summary") return "The branch that was left is read as a summary.";
  const covers = data.covers;
  const count =
    typeof covers === "object" && covers !== null && "messages" in covers ? Number(covers.messages) : 0;
  return count > 0
    ? `Compacted: the model reads a summary instead of the ${counted(count, "message")} before.`
    : "Compacted: the model reads a summary instead of what came before.";
}

/** Undoing is going on from the entry before; using it again is going back to it. */
function Undo({ page, entry, state }: SummarisedProps) {
  if (state === "covered") return null;
  if (state === "elsewhere")
    return (
      <button class="quiet" type="button" onClick={() => void goToEntry(page, entry)}>
        go on from this summary
      </button>
    );
  const { tree } = page.state();
  const before = tree?.entries.find(({ id }) => id === entry.parent);
  const goesOn = tree?.head !== entry.id;
  return before ? (
    <button
      class="quiet"
      type="button"
      title={
        goesOn ? "What was said since then stays, on a branch of its own" : "Every message is read again"
      }
      onClick={() => void goToEntry(page, before)}
    >
      {goesOn ? "go on from before it" : "undo"}
    </button>
  ) : null;
}
