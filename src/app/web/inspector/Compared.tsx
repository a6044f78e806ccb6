import { aboutTokens, bytes, timeOf } from "../figures.js";
import type { Page } from "../state.js";
import { KINDS } from "./Blocks.js";
import type { Comparison } from "./compare.js";
import { isSame, type Seen } from "./seen.js";

/** Keeps this request aside, or lets the kept one go. */
export function Pin({ page, pinned, seen }: { page: Page; pinned: Seen | null; seen: Seen }) {
  const isPinned = pinned !== null && isSame(pinned, seen);
  return (
    <button
      class="pin"
      type="button"
      aria-pressed={isPinned}
      title="Keep this request aside, and compare others with it"
      onClick={() => page.set({ pinned: isPinned ? null : seen })}
    >
      {isPinned ? "pinned" : "pin"}
    </button>
  );
}

/** What changed since the pinned request, and what that means for the provider's cache. */
export function Compared({ pinned, comparison }: { pinned: Seen | null; comparison: Comparison }) {
  const { same, fresh, first, extends: goesOn } = comparison;
  const when = pinned?.call ? `of ${timeOf(pinned.call.started_at)}` : "that was never sent";
  return (
    <p class="compared" role="status">
      Beside the pinned request {when}:{" "}
      {same === 0 ? "different from the first block" : `the same for ${bytes(same)}`}
      {first && goesOn && `, then it goes on with ${bytes(fresh)} (${aboutTokens(fresh)})`}
      {first &&
        !goesOn &&
        `; they part at “${KINDS[first.kind]}”, and ${aboutTokens(fresh)} cannot come from the cache`}
      {!first && (goesOn ? ", and nothing else" : ", and then it ends earlier")}.
    </p>
  );
}
