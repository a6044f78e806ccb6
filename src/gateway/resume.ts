import type { PathEntry } from "../context/index.js";
import { ToolResultContent, rowOfToolResult } from "../message/index.js";
import type { Fact } from "../store/store.js";
import type { Hall } from "./hall.js";
import { newRow } from "./rows.js";
import { chainEntries } from "./take.js";
import type { TurnState } from "./turnState.js";

/** What the model is told of a tool that was running when we went down: it may or may not have taken effect. */
const INTERRUPTED =
  "This tool was interrupted by a restart. It may or may not have taken effect; check before trying again.";

/**
 * A turn that a crash cut short goes on from what was written. Tool calls without a result get one that says so:
 * running them again could do a thing twice. Calls left running are closed as cut.
 */
export async function interruptedTools(hall: Hall, state: TurnState) {
  const { chat, head } = state;
  const path = head === null ? [] : await hall.store.read.path(chat.jid, head, hall.limits.window);
  const facts: Fact[] = await cutCalls(hall, state);
  const results = unanswered(path).map(({ row, id }, index) =>
    newRow({
      ...rowOfToolResult(ToolResultContent.error(id, INTERRUPTED), {
        id: hall.clock.newId(),
        chat_jid: state.chat.jid,
        turn_id: state.turn.id,
        call_id: row.call_id,
        tool_name: String(row.metadata.name ?? ""),
        part: index,
        timestamp: hall.clock.now(),
      }),
    }),
  );
  const chain = chainEntries(hall, state, results);
  return { head: chain.head, facts: [...facts, ...chain.facts] };
}

async function cutCalls(hall: Hall, state: TurnState): Promise<Fact[]> {
  const calls = await hall.store.read.calls({
    chat_jid: state.chat.jid,
    turn_id: state.turn.id,
    after: null,
    limit: 500,
  });
  return calls
    .filter((call) => call.status === "running")
    .map((call) => ({
      type: "call_ended",
      call: {
        ...call,
        status: "cut",
        error_kind: "cut",
        error: "the server went down while it was answering",
        stop_reason: "error",
      },
      leftovers: [],
    }));
}

function unanswered(path: readonly PathEntry[]) {
  const rows = path.flatMap((entry) => (entry.message ? [entry.message] : []));
  const answered = new Set(
    rows.filter((row) => row.sender === "tool_result").map((row) => row.metadata.tool_use_id),
  );
  return rows
    .filter((row) => row.sender === "tool_use" && !answered.has(row.metadata.tool_use_id))
    .map((row) => ({ row, id: String(row.metadata.tool_use_id ?? "") }));
}
