import { counted } from "../figures.js";
import { sentence } from "./Changes.js";
import type { Seen } from "./seen.js";

type Props = { seen: Seen; missing: number; onChanges: () => void };

/** The answer to most questions in one or two sentences: what it read, what it did not, and what was different. */
export function Lead({ seen, missing, onChanges }: Props) {
  const { call, blocks } = seen;
  const breaks = call?.breaks ?? [];
  return (
    <div class="lead">
      <p>
        It {call ? "read" : "would read"} {inWords(blocks.map(({ kind }) => kind))}
        {missing === 0 ? "; nothing people saw was left out." : "."}
        {missing > 0 && (
          <>
            {" "}
            <button class="quiet missed" type="button" onClick={toLeftOut}>
              {counted(missing, "message")} people saw {missing === 1 ? "was" : "were"} left out
            </button>
          </>
        )}
      </p>
      {breaks.length > 0 && (
        <p class="break">
          Not a plain continuation of the call before.{" "}
          {breaks.map(({ reason }) => sentence(reason)).join(" ")}
        </p>
      )}
      {call && (
        <p>
          <button class="quiet" type="button" onClick={onChanges}>
            what changed since the call before?
          </button>
        </p>
      )}
    </div>
  );
}

function toLeftOut(): void {
  const list = document.getElementById("left-out");
  list?.scrollIntoView({ block: "center" });
  list?.focus({ preventScroll: true });
}

function inWords(kinds: readonly Seen["blocks"][number]["kind"][]): string {
  const count = (kind: string): number => kinds.filter((other) => other === kind).length;
  const parts = [
    counted(count("message"), "message"),
    count("summary") > 0 ? counted(count("summary"), "summary", "summaries") : null,
    count("thread_context") > 0 ? counted(count("thread_context"), "thread context") : null,
    count("notice") > 0 ? counted(count("notice"), "notice") : null,
  ].filter((part) => part !== null);
  const last = parts.pop() ?? "";
  const read = parts.length > 0 ? `${parts.join(", ")} and ${last}` : last;
  return count("tools") > 0 ? `${read}, with ${counted(count("tools"), "tool")} at hand` : read;
}
