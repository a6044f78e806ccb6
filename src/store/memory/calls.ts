import { type CallEnvelope, ERASED_SENDER } from "../../message/index.js";
import { redactedCall, SOURCES_WITH_WORDS } from "../erased.js";
import { MAX_DEPTH, shortest } from "../request.js";
import type { Fact, Leftover, PartialPart, RequestBlock, RequestList, StoredRequest } from "../store.js";
import { type Context, conflict, type Refusal, roomOf } from "./apply.js";
import { messageOf } from "./rows.js";
import { type CallRecord, plain, type Room, type State } from "./state.js";

export function startCall(context: Context, call: CallEnvelope, request: RequestList): Refusal | null {
  const { state, journal } = context;
  const room = roomOf(context, call.chat_jid);
  const erased = erasedSource(room, request.blocks);
  if (erased !== undefined) return conflict(`message ${erased} has been erased`);
  for (const { id, bytes } of request.blocks) {
    if (room.blocks.has(id)) continue;
    if (!bytes) return conflict(`block ${id} was never stored`);
    journal.set(room.blocks, id, bytes.slice());
  }
  const base = request.base ? state.calls.get(request.base.call_id) : undefined;
  if (request.base && (base?.call.chat_jid !== call.chat_jid || request.base.count > base.block_count)) {
    return conflict(`call ${request.base.call_id} has no ${request.base.count} blocks`);
  }
  if (state.calls.has(call.id)) return conflict(`there is already a call ${call.id}`);
  const start = shortest(request.base, (id) => state.calls.get(id) ?? null);
  const whole = start.depth > MAX_DEPTH;
  const own: RequestBlock[] = request.blocks.map((block) => ({ ...plain({ ...block, bytes: null }) }));
  const before = whole && start.base !== null ? listOf(state, start.base, start.count) : [];
  const turn = call.purpose === "turn" && call.turn_id !== null ? state.turns.get(call.turn_id) : undefined;
  journal.set(state.calls, call.id, {
    call: plain(call),
    turn_id: call.turn_id,
    thread_id: turn?.thread_id ?? null,
    base: whole ? null : start.base,
    base_count: whole ? 0 : start.count,
    block_count: start.count + own.length,
    depth: whole ? 0 : start.depth,
    request: {
      blocks: [...before, ...own],
      left_out: plain(request.left_out),
      breaks: plain(request.breaks),
    },
    leftovers: [],
    partial: new Map(),
    toolsDone: new Map(),
  });
  return null;
}

/** Whose words a new block holds that are erased by now: the request was made before, and must not be kept. */
function erasedSource(room: Room, blocks: readonly RequestBlock[]): string | undefined {
  if (room.erased === 0) return undefined;
  const sources = blocks
    .flatMap((block) => block.sources)
    .filter(({ type }) => SOURCES_WITH_WORDS.includes(type));
  return sources.find(({ id }) => isErased(room, id))?.id;
}

function isErased(room: Room, id: string): boolean {
  return messageOf(room, id)?.sender === ERASED_SENDER || room.entries.get(id)?.data.erased !== undefined;
}

/** The first `count` blocks of a call's request, without their bytes. */
function listOf(state: State, call_id: string, count: number): RequestBlock[] {
  const pieces: RequestBlock[][] = [];
  let record: CallRecord | undefined = state.calls.get(call_id);
  let until = count;
  while (record && until > 0) {
    pieces.push(record.request.blocks.slice(0, Math.max(0, until - record.base_count)));
    until = Math.min(until, record.base_count);
    record = record.base === null ? undefined : state.calls.get(record.base);
  }
  return pieces.reverse().flat();
}

export function requestOf(state: State, call_id: string): StoredRequest | null {
  const record = state.calls.get(call_id);
  if (!record || record.call.expired) return null;
  const stored = state.rooms.get(record.call.chat_jid)?.blocks;
  const blocks = listOf(state, call_id, record.block_count).map((block) => ({
    ...structuredClone(block),
    bytes: stored?.get(block.id)?.slice() ?? null,
  }));
  return structuredClone({ blocks, left_out: record.request.left_out, breaks: record.request.breaks });
}

export function keepPartial(
  { state, journal }: Context,
  call_id: string,
  parts: readonly PartialPart[],
): Refusal | null {
  const record = state.calls.get(call_id);
  if (record?.call.status !== "running") return conflict(`call ${call_id} is not running`);
  const partial = new Map(record.partial);
  for (const part of parts) partial.set(part.part, { ...part });
  journal.set(state.calls, call_id, { ...record, partial });
  return null;
}

export function endCall(
  { state, journal }: Context,
  call: CallEnvelope,
  leftovers: readonly Leftover[],
): Refusal | null {
  const record = state.calls.get(call.id);
  if (record?.call.chat_jid !== call.chat_jid || record.call.expired) {
    return conflict(`there is no call ${call.id}`);
  }
  const byPart = new Map(leftovers.map((leftover) => [leftover.part, plain(leftover)]));
  const sorted = [...byPart.values()].sort((a, b) => a.part - b.part);
  // Whoever ends it may not know that words of its request were erased meanwhile.
  const ended = plain(record.call.redacted ? redactedCall(call) : call);
  journal.set(state.calls, call.id, { ...record, call: ended, leftovers: sorted, partial: new Map() });
  return null;
}

export function keepTool(
  { state, journal }: Context,
  { call_id, index, result }: Extract<Fact, { type: "tool_done" }>,
): Refusal | null {
  const record = state.calls.get(call_id);
  if (!record) return conflict(`there is no call ${call_id}`);
  journal.set(state.calls, call_id, {
    ...record,
    toolsDone: new Map(record.toolsDone).set(index, plain(result)),
  });
  return null;
}

export function forgetTools({ state, journal }: Context, call_id: string): null {
  const record = state.calls.get(call_id);
  if (record) journal.set(state.calls, call_id, { ...record, toolsDone: new Map() });
  return null;
}
