import {
  AssistantMessage,
  type CallEnvelope,
  callEndOf,
  type MessageRow,
  rowOfToolResult,
  rowsOfAssistant,
  ToolResultContent,
  Usage,
} from "../message/index.js";
import type { Fact, NewMessage, PartialPart, Turn } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { newRow } from "./rows.js";
import { chainEntries } from "./take.js";
import type { TurnState } from "./turnState.js";

/** What the model is told of a tool that was running when we went down: it may or may not have taken effect. */
const INTERRUPTED =
  "This tool was interrupted by a restart. It may or may not have taken effect; check before trying again.";
const WENT_DOWN = "the server went down while it was answering";

/**
 * A turn that a crash cut short goes on from what was written. What a cut answer had said is kept, marked. Tool calls
 * without a result get one that says so: running them again could do a thing twice.
 */
export async function takeUp(hall: Hall, state: TurnState): Promise<{ head: string | null; facts: Fact[] }> {
  const { chat, turn } = state;
  const cut = await cutCalls(hall, turn, chat.assistant_name);
  const written = await hall.store.read.messagesOfTurn(chat.jid, turn.id);
  const results = unanswered(written).map((row, index) =>
    newRow(
      rowOfToolResult(ToolResultContent.error(String(row.metadata.tool_use_id ?? ""), INTERRUPTED), {
        id: hall.clock.newId(),
        chat_jid: chat.jid,
        turn_id: turn.id,
        call_id: row.call_id,
        tool_name: String(row.metadata.name ?? ""),
        part: index,
        timestamp: hall.clock.now(),
      }),
    ),
  );
  const chain = chainEntries(hall, state, [...results, ...cut.rows]);
  return { head: chain.head, facts: [...cut.facts, ...chain.facts] };
}

/** The facts that end a turn nobody goes on with: it, and its calls, must not look as if they still ran. */
export async function closeTurn(hall: Hall, turn: Turn, status: "failed" | "stopped"): Promise<Fact[]> {
  const { facts } = await cutCalls(hall, turn, "");
  const at = iso(hall.clock.now());
  return [...facts, { type: "turn_ended", turn_id: turn.id, chat_jid: turn.chat_jid, status, at }];
}

/** Calls left running are closed as cut, with the words they had streamed so far. */
async function cutCalls(
  hall: Hall,
  turn: Turn,
  assistantName: string,
): Promise<{ rows: NewMessage[]; facts: Fact[] }> {
  const { read } = hall.store;
  const calls = await read.calls({ chat_jid: turn.chat_jid, turn_id: turn.id, after: null, limit: 500 });
  const rows: NewMessage[] = [];
  const facts: Fact[] = [];
  for (const call of calls.filter(({ status }) => status === "running")) {
    const message = cutAnswer(hall, call, await read.partial(call.id));
    const place = {
      chat_jid: turn.chat_jid,
      turn_id: turn.id,
      call_id: call.id,
      assistant_name: assistantName,
    };
    const answer = rowsOfAssistant(message, place);
    rows.push(...answer.rows.map((row) => newRow({ ...row, metadata: { ...row.metadata, cut: true } })));
    facts.push({ type: "call_ended", call: { ...call, ...callEndOf(message) }, leftovers: answer.leftovers });
  }
  return { rows, facts };
}

function cutAnswer(hall: Hall, call: CallEnvelope, parts: readonly PartialPart[]): AssistantMessage {
  const contents = parts.map(({ type, content }) =>
    type === "text" ? { type, content } : { type, content, signature: "" },
  );
  return AssistantMessage.of(contents, {
    id: hall.clock.newId(),
    timestamp: hall.clock.now(),
    usage: Usage.none(),
    stopReason: "error",
    errorKind: "cut",
    error: WENT_DOWN,
    provider: call.provider,
    api: call.api,
    model: call.model,
  });
}

/** Tool calls of this turn that have no result; ids are only unique within their call. */
function unanswered(rows: readonly MessageRow[]): MessageRow[] {
  const keyOf = (row: MessageRow) => JSON.stringify([row.call_id, row.metadata.tool_use_id]);
  const answered = new Set(rows.filter((row) => row.sender === "tool_result").map(keyOf));
  return rows.filter((row) => row.sender === "tool_use" && !answered.has(keyOf(row)));
}
