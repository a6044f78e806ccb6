import { useEffect } from "preact/hooks";
import type { BlockChange, Call, CallDiff, CallEnvelope, DiffBlock } from "../../../message/index.js";
import type { MessageRow } from "../../../message/row.js";
import { counted, momentOf, timeOf } from "../figures.js";
import type { Page, State } from "../state.js";
import { askChanges, changesKey } from "./asking.js";
import { KINDS, messagesOf, Told } from "./Blocks.js";
import { wordingOf } from "./wording.js";

type Props = { page: Page; state: State; call: Call };

/** What changed since the call before, why, and what that cost in the provider's cache. */
export function Changes({ page, state, call }: Props) {
  const { diff, pinned } = state;
  const key = changesKey(pinned, call);
  const asked = diff?.about === key ? diff : null;
  useEffect(() => {
    if (page.state().diff?.about !== key) void askChanges(page, call);
  }, [page, key, call]);

  if (asked === null || asked.status === "loading") return <p class="hint">Comparing…</p>;
  if (asked.status === "failed")
    return (
      <p class="trouble" role="alert">
        {asked.why}{" "}
        <button type="button" onClick={() => void askChanges(page, call)}>
          Try again
        </button>
      </p>
    );
  if (asked.answer === null)
    return <p class="hint">Nothing came before: this was the first call here, so everything in it is new.</p>;
  return <Difference page={page} diff={asked.answer} rows={state.transcript?.rows ?? []} />;
}

function Difference({ page, diff, rows }: { page: Page; diff: CallDiff; rows: readonly MessageRow[] }) {
  const first = diff.first.b ?? diff.first.a;
  return (
    <>
      <div class="compared" role="status">
        <p>
          Beside the call <Earlier call={diff.a} />: {parting(diff, first)}
        </p>
        {!diff.extends && diff.breaks.map(({ reason }) => <p key={reason}>Why: {sentence(reason)}</p>)}
        {diff.cache.says.map((line) => (
          <p key={line} class="source">
            {line}
          </p>
        ))}
      </div>
      <ol class="blocks changes">
        {diff.changes.map((change, index) => (
          <ChangeView key={index} page={page} change={change} rows={rows} first={isFirst(change, first)} />
        ))}
      </ol>
      {diff.more > 0 && <p class="hint">… and {counted(diff.more, "change")} more.</p>}
    </>
  );
}

function Earlier({ call }: { call: CallEnvelope }) {
  return (
    <time dateTime={call.started_at} title={momentOf(call.started_at)}>
      of {timeOf(call.started_at)} to {call.model}
    </time>
  );
}

function parting({ same, extends: goesOn, changes }: CallDiff, first: DiffBlock | null): string {
  if (changes.length === 0) return "nothing changed.";
  if (goesOn) return `all of it is here again, unchanged; ${counted(changes.length, "block")} came after it.`;
  if (same.blocks === 0) return "they differ from the first block on.";
  return `the first ${counted(same.blocks, "block")} are the same; they part at “${first ? KINDS[first.kind] : "the end"}”.`;
}

/** A receipt's reason as a sentence of its own. */
export function sentence(reason: string): string {
  return `${reason[0]?.toUpperCase() ?? ""}${reason.slice(1)}.`;
}

function isFirst({ before, after }: BlockChange, first: DiffBlock | null): boolean {
  return first !== null && (after ?? before)?.index === first.index;
}

const CHANGES: Readonly<Record<BlockChange["change"], readonly [string, string]>> = {
  added: ["+", "new"],
  removed: ["−", "gone"],
  changed: ["~", "reads differently"],
  moved: ["↕", "stands elsewhere"],
};

type ChangeProps = { page: Page; change: BlockChange; rows: readonly MessageRow[]; first: boolean };

function ChangeView({ page, change: { change, before, after }, rows, first }: ChangeProps) {
  const [sign, words] = CHANGES[change];
  const told = after ?? before;
  if (!told) return null;
  const light = (ids: string[]) => () => page.set({ lit: ids });
  return (
    <li
      class="block"
      data-kind={told.kind}
      data-change={change}
      data-parts={first}
      onMouseEnter={light(messagesOf(told))}
      onMouseLeave={light([])}
    >
      <p class="change">
        <span aria-hidden="true">{sign}</span> {words}
        {first && <span class="source"> · here they part</span>}
      </p>
      {change === "changed" && before && <DiffTold page={page} block={before} rows={rows} was />}
      <DiffTold page={page} block={told} rows={rows} was={change === "removed"} />
    </li>
  );
}

type DiffToldProps = { page: Page; block: DiffBlock; rows: readonly MessageRow[]; was: boolean };

function DiffTold({ page, block, rows, was }: DiffToldProps) {
  const wording = block.text === null ? { role: null, passages: [] } : wordingOf(block.kind, block.text);
  return (
    <div class="diff-told" data-was={was}>
      <Told page={page} block={block} rows={rows} wording={wording} />
      {block.text === null && <p class="hint">Its words are gone, or too long to repeat here.</p>}
      {block.cut && <p class="hint">… only its beginning; the raw bytes have it all.</p>}
    </div>
  );
}
