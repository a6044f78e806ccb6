import type { UnfinishedBatch, Used } from "../agent/index.js";
import {
  AssistantMessage,
  type CallEnvelope,
  callEndOf,
  type MessageRow,
  rowsOfAssistant,
  ToolCallContent,
  type ToolResultContent,
  toolResultOfRow,
  Usage,
  usageOfCall,
} from "../message/index.js";
import { isRecord } from "../message/json.js";
import type { Fact, NewMessage, PartialPart, Turn, TurnStatus } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { newRow } from "./rows.js";
import { chainEntries } from "./take.js";
import type { TurnState } from "./turnState.js";

const WENT_DOWN = "the server went down while it was answering";

/** What a crash left of a turn: the facts that tidy up, and the batch of tools it was in the middle of. */
export type TakenUp = {
  head: string | null;
  facts: Fact[];
  unfinished: UnfinishedBatch | null;
  /** What its calls had used by then. */
  used: Usage | null;
  /** How far it had come within its limits. */
  limitsUsed: Used | null;
  /** How many of its messages, from the first, had their answer. */
  answered: number;
};

/**
 * A turn that a crash cut short goes on from what was written. What a cut answer had said is kept, marked. Tools that
 * were asked for and have no result are the agent's to finish: it knows which of them may run again.
 */
export async function takeUp(hall: Hall, state: TurnState): Promise<TakenUp> {
  const { chat, turn } = state;
  const cut = await cutCalls(hall, turn, chat.assistant_name);
  const written = await hall.store.read.messagesOfTurn(chat.jid, turn.id);
  const chain = chainEntries(hall, state, cut.rows);
  return {
    head: chain.head,
    facts: [...cut.facts, ...chain.facts],
    unfinished: await unfinishedBatch(hall, written),
    ...(await usedSoFar(hall, turn)),
    answered: await answeredSoFar(hall, state, written),
  };
}

/** Those that stand on the path before the turn's last whole answer. */
async function answeredSoFar(
  hall: Hall,
  { chat, turn, head, members }: TurnState,
  written: readonly MessageRow[],
): Promise<number> {
  const path = head === null ? [] : await hall.store.read.path(chat.jid, head, hall.limits.window);
  const withTools = new Set(written.filter((row) => row.sender === "tool_use").map((row) => row.call_id));
  const last = path.findLastIndex(
    ({ message }) =>
      message?.turn_id === turn.id &&
      message.sender === "bot" &&
      message.metadata.cut !== true &&
      !withTools.has(message.call_id),
  );
  const before = new Set(path.slice(0, Math.max(last, 0)).map(({ message_id }) => message_id));
  const open = members.findIndex(({ message }) => !before.has(message.id));
  return open === -1 ? members.length : open;
}

/**
 * By its calls: a machine that was down for an hour, or whose clock was set, has not used up the turn's time. What a
 * call that was cut took is not known.
 */
async function usedSoFar(hall: Hall, { chat_jid, id }: Turn): Promise<Pick<TakenUp, "used" | "limitsUsed">> {
  const calls = await hall.store.read.calls({ chat_jid, turn_id: id, after: null, limit: 500 });
  const ended = calls.filter(({ usage }) => usage !== null);
  const used = ended.length === 0 ? null : ended.map(usageOfCall).reduce(Usage.add);
  const sum = (of: (call: CallEnvelope) => number) => calls.reduce((total, call) => total + of(call), 0);
  const limitsUsed = {
    steps: calls.filter(({ status, purpose }) => status === "ok" && purpose === "turn").length,
    // A clock that was set back gives nobody more time.
    timeMs: sum(({ duration_ms }) => Math.max(0, duration_ms ?? 0)),
    usd: sum(({ cost }) => cost?.total ?? 0),
  };
  return { used, limitsUsed };
}

/** Tools of the newest answer that has no results; those that were done by then keep theirs. */
async function unfinishedBatch(hall: Hall, written: readonly MessageRow[]): Promise<UnfinishedBatch | null> {
  const open = unanswered(written);
  const callId = open.at(-1)?.call_id;
  if (!callId || !(await ranItsTools(hall, callId))) return null;
  const wanted = open.filter((row) => row.call_id === callId).map(toolCallOfRow);
  const done = new Map((await hall.store.read.toolsDone(callId)).map(({ index, result }) => [index, result]));
  return {
    callId,
    uses: wanted.map((call, index) => ({ wanted: call, result: knownResult(call, done.get(index)) })),
  };
}

/** The agent runs no tool of an answer that ran out of room or was refused: its last call may be half a call. */
async function ranItsTools(hall: Hall, callId: string): Promise<boolean> {
  const stop = (await hall.store.read.call(callId))?.stop_reason;
  return stop !== "length" && stop !== "refusal";
}

function toolCallOfRow({ metadata }: MessageRow): ToolCallContent {
  const args = isRecord(metadata.args) ? metadata.args : {};
  return ToolCallContent.of(String(metadata.tool_use_id ?? ""), String(metadata.name ?? ""), args);
}

/** What was kept of a result: its row's words and metadata. */
function knownResult(
  call: ToolCallContent,
  kept: Record<string, unknown> | undefined,
): ToolResultContent | null {
  if (!kept || typeof kept.content !== "string" || !isRecord(kept.metadata)) return null;
  const { content, metadata } = kept;
  return { ...toolResultOfRow(newRow({ ...UNPLACED, content, metadata })), id: call.id };
}

/** A row that is read, never written. */
const UNPLACED = {
  id: "",
  chat_jid: "",
  sender: "tool_result",
  sender_name: "",
  timestamp: "",
  message_type: "tool_result",
} as const;

/**
 * The facts that end a turn nobody goes on with: it, and its calls, must not look as if they still ran. With the name of
 * who was speaking, the words of a cut answer are kept for people, marked; no model reads them.
 */
export async function closeTurn(
  hall: Hall,
  turn: Turn,
  status: Exclude<TurnStatus, "running">,
  assistantName: string | null = null,
): Promise<Fact[]> {
  const { rows, facts } = await cutCalls(hall, turn, assistantName ?? "");
  const said = assistantName === null ? [] : rows.map((message): Fact => ({ type: "message", message }));
  const at = iso(hall.clock.now());
  return [...facts, ...said, { type: "turn_ended", turn_id: turn.id, chat_jid: turn.chat_jid, status, at }];
}

/** Calls left running are closed as cut, with the words they had streamed so far. */
export async function cutCalls(
  hall: Hall,
  turn: Pick<Turn, "chat_jid" | "id">,
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
