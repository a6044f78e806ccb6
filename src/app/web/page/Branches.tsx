import { useMemo, useState } from "preact/hooks";
import type { TreeEntry } from "../../client/index.js";
import { excerpt } from "../conversation/aside.js";
import { counted, momentOf, timeOf } from "../figures.js";
import { goTo } from "../reading.js";
import { session } from "../session.js";
import type { Page, State } from "../state.js";
import { compactNow, goToEntry, nameBranch } from "../tree/branching.js";
import { type Branch, countBranches, isRemark, type Wood, woodOf } from "../tree/tree.js";
import { Sheet } from "./Sheet.js";

type Props = { page: Page; state: State; onClose: () => void };

/** Every way the conversation has taken. */
export function Branches({ page, state, onClose }: Props) {
  const { tree, remark } = state;
  const wood = useMemo(() => tree && woodOf(tree), [tree]);
  return (
    <Sheet title="Branches" wide onClose={onClose}>
      {wood === null ? <p class="hint">Reading the tree…</p> : <Whole page={page} wood={wood} />}
      <p class="sheet-status" role="status" data-failed={remark?.failed}>
        {remark?.text}
      </p>
      {!session.speaker().isPerson && (
        <p class="actions">
          <button
            type="button"
            title="Older messages are read as a summary from now on; all of them stay on the page"
            onClick={() => void compactNow(page)}
          >
            Compact now
          </button>
          <button
            type="button"
            title="The next message begins a branch of its own"
            onClick={() => void goToEntry(page, null)}
          >
            Start afresh
          </button>
        </p>
      )}
    </Sheet>
  );
}

function Whole({ page, wood }: { page: Page; wood: Wood }) {
  const beginnings = wood.branchesFrom(null);
  if (beginnings.length === 0)
    return <p class="hint">The assistant has not read anything here yet, so there is no branch.</p>;
  return (
    <>
      <p class="hint">
        {countBranches(wood) === 1
          ? "The conversation has not forked. To try another way, press fork beside any message."
          : `The conversation went ${counted(countBranches(wood), "way")}. The model reads the one in ink.`}
        {wood.tree.head === null && " The next message begins a fresh branch."}
        {!wood.tree.whole && " Only its newest part is drawn."}
      </p>
      <ol class="wood" onKeyDown={walk}>
        {inDrawingOrder(beginnings).map((branch) => (
          <Line key={branch.first.id} page={page} wood={wood} branch={branch} />
        ))}
      </ol>
    </>
  );
}

/** Arrow keys go from line to line, as in a list. */
function walk(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.currentTarget instanceof HTMLElement)) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("button.said")];
  const at = event.target instanceof HTMLElement ? all.indexOf(event.target) : -1;
  event.preventDefault();
  all[at + step]?.focus();
}

/** Side branches hang below the place they left; the way that is read, or the newest, goes on at the margin. */
function inDrawingOrder(branches: Branch[]): Branch[] {
  const main = branches.find(({ isCurrent }) => isCurrent) ?? branches.at(-1);
  return [...branches.filter((branch) => branch !== main), ...(main ? [main] : [])];
}

/** Entries of a stretch that are shown at its beginning and at its end; those between are counted. */
const SHOWN = 2;

type LineProps = { page: Page; wood: Wood; branch: Branch };

/** One way from where it left, with its own side branches. */
function Line({ page, wood, branch }: LineProps) {
  const { stretches, leaf } = stretchesOf(wood, branch);
  const isRead = wood.tree.head === leaf.id;
  return (
    <li class="way" data-current={branch.isCurrent}>
      {stretches.map(({ entries, sides }, index) => (
        <div key={entries[0]?.id ?? index}>
          <Stretch page={page} wood={wood} entries={entries} />
          {sides.length > 0 && (
            <ol>
              {sides.map((side) => (
                <Line key={side.first.id} page={page} wood={wood} branch={side} />
              ))}
            </ol>
          )}
        </div>
      ))}
      {isRead ? (
        <p class="here">● the conversation stands here</p>
      ) : (
        <End page={page} wood={wood} leaf={leaf} />
      )}
    </li>
  );
}

/** Where a way ends: its name, and how to go there. */
function End({ page, wood, leaf }: { page: Page; wood: Wood; leaf: TreeEntry }) {
  const [name, setName] = useState<string | null>(null);
  const label = wood.labels.get(leaf.id);
  if (session.speaker().isPerson) return label ? <p class="here">“{label}”</p> : null;
  if (name !== null) {
    return (
      <form
        class="field"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== "") void nameBranch(page, leaf, name.trim());
          setName(null);
        }}
      >
        <input
          aria-label="Name of this branch"
          placeholder="its name"
          maxLength={255}
          value={name}
          ref={(input) => input?.focus()}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit">Keep</button>
      </form>
    );
  }
  return (
    <p class="here">
      {label && <bdi>“{label}” </bdi>}
      <button type="button" onClick={() => void goToEntry(page, leaf)}>
        Go on here
      </button>
      <button class="quiet" type="button" onClick={() => setName(label ?? "")}>
        {label ? "rename" : "name it"}
      </button>
    </p>
  );
}

function Stretch({ page, wood, entries }: { page: Page; wood: Wood; entries: readonly TreeEntry[] }) {
  const shown = entries.filter((entry) => isRemark(entry) || entry.kind !== "message");
  const between = shown.length - 2 * SHOWN;
  const first = between > 1 ? shown.slice(0, SHOWN) : shown;
  const last = between > 1 ? shown.slice(-SHOWN) : [];
  return (
    <>
      {first.map((entry) => (
        <Node key={entry.id} page={page} entry={entry} covered={isCovered(wood, entry)} />
      ))}
      {between > 1 && <p class="between">… {counted(between, "remark")} …</p>}
      {last.map((entry) => (
        <Node key={entry.id} page={page} entry={entry} covered={isCovered(wood, entry)} />
      ))}
    </>
  );
}

function isCovered(wood: Wood, { message_id }: TreeEntry): boolean {
  return message_id !== null && wood.readings.get(message_id) === "summary";
}

function Node({ page, entry, covered }: { page: Page; entry: TreeEntry; covered: boolean }) {
  const show = (id: string) => () => {
    page.set({ sheet: null });
    void goTo(page, id);
  };
  const words = wordsOf(entry);
  const time = (
    <time dateTime={entry.at} title={momentOf(entry.at)}>
      {timeOf(entry.at)}
    </time>
  );
  if (entry.message_id === null)
    return (
      <p class="node" data-kind={entry.kind}>
        {time} <span>{words}</span>
      </p>
    );
  return (
    <p class="node" data-covered={covered}>
      {time}{" "}
      <button
        class="quiet said"
        type="button"
        title="Show it in the conversation"
        onClick={show(entry.message_id)}
      >
        {words}
        {covered && <span class="source"> (read as a summary)</span>}
      </button>
    </p>
  );
}

function wordsOf({ kind, message, data }: TreeEntry): string {
  switch (kind) {
    case "message":
      if (!message) return "(its message is gone)";
      return message.deleted ? "(deleted)" : `${message.sender_name}: ${excerpt(message.content, 72)}`;
    case "edit":
      return `an edit: ${excerpt(message?.content ?? "", 72)}`;
    case "compaction":
      return "compacted: what came before is read as a summary";
    case "branch_summary":
      return "a summary of the branch that was left";
    case "model_change":
      return "another model";
    default:
      return excerpt(`${String(data.custom_type ?? kind)}: ${String(data.content ?? "")}`, 72);
  }
}

type Stretches = { stretches: { entries: TreeEntry[]; sides: Branch[] }[]; leaf: TreeEntry };

/** A way in stretches between the places where others leave it. */
function stretchesOf(wood: Wood, { first }: Branch): Stretches {
  const stretches: Stretches["stretches"] = [];
  let entries: TreeEntry[] = [];
  let leaf = first;
  for (let at: TreeEntry | undefined = first; at; ) {
    leaf = at;
    entries.push(at);
    const ways = inDrawingOrder(wood.branchesFrom(at.id));
    const sides = ways.slice(0, -1);
    // The head may stand amid a branch: then everything behind it hangs aside.
    const isHead: boolean = wood.tree.head === at.id;
    if (sides.length > 0 || isHead) {
      stretches.push({ entries, sides: isHead ? ways : sides });
      entries = [];
    }
    at = isHead ? undefined : ways.at(-1)?.first;
  }
  if (entries.length > 0) stretches.push({ entries, sides: [] });
  return { stretches, leaf };
}
