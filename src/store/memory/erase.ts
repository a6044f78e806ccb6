import type { AttachmentRow, Erasure, MessageRow } from "../../message/index.js";
import {
  alreadyErased,
  callsWith,
  ERASED,
  erasedKey,
  isTheirs,
  redactedCall,
  SOURCES_WITH_WORDS,
  tellsOf,
  tombstone,
  withoutThreadContext,
} from "../erased.js";
import { messageChange } from "../events.js";
import type { Erasing } from "../store.js";
import { type Context, conflict, type Refusal } from "./apply.js";
import type { CallRecord, Kept, Room } from "./state.js";

/** Leaves nothing of what these senders said. */
export function eraseSenders(context: Context, erasing: Erasing): Refusal | null {
  const { state, journal } = context;
  if (state.erasures.has(erasing.id)) return conflict(alreadyErased(erasing.id));
  const found: Erasure = {
    id: erasing.id,
    at: erasing.at,
    messages: 0,
    attachments: 0,
    receipts: 0,
    summaries: 0,
    scrubbed: true,
  };
  const names = new Set(erasing.names);
  for (const [, room] of [...state.rooms].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const label of [...room.labels.values()]) {
      if (erasing.senders.includes(label.sender)) journal.remove(room.labels, label.folded);
    }
    const theirs = room.messages.filter((row) => isTheirs(row, erasing.senders));
    if (theirs.length === 0) continue;
    for (const { sender_name } of theirs) if (sender_name !== "") names.add(sender_name);
    eraseInRoom(context, room, theirs, found);
  }
  forgetBytes(context);
  for (const { address, name } of [...state.knocks.values()]) {
    if (names.has(name) || erasing.senders.includes(address)) journal.remove(state.knocks, address);
  }
  for (const account of erasing.accounts) journal.remove(state.spent, account);
  journal.set(state.erasures, erasing.id, found);
  return null;
}

function eraseInRoom(context: Context, room: Room, theirs: readonly Kept[], found: Erasure): void {
  const { state, journal } = context;
  const { at } = found;
  const said = new Set(theirs.map(({ id }) => id));
  const rows = room.messages.filter((row) => said.has(row.id) || tellsOf(row, said));
  const gone = new Set(rows.map(({ id }) => id));
  forgetKeys(context, room, gone);
  const waiting = rows.filter(({ id }) => room.inbounds.get(id)?.outcome === "pending");
  for (const row of waiting) tell(context, "outcome", row, at);
  for (const row of rows) {
    found.attachments += room.attachments.get(row.id)?.size ?? 0;
    journal.remove(room.revisions, row.id);
    journal.remove(room.attachments, row.id);
    endInbound(context, room, row);
    const { revision, seq } = row;
    const kept = { ...row, ...tombstone(at), revision: revision + 1, untaken: false, untold: false };
    journal.put(room.messages, seq - 1, kept);
    tell(context, "message.revised", row, at);
  }
  const touched = new Set(gone);
  for (const row of room.messages.filter(({ metadata }) => typeof metadata.thread_context === "string")) {
    journal.put(room.messages, row.seq - 1, { ...row, metadata: withoutThreadContext(row.metadata) });
    touched.add(row.id);
    tell(context, "message.revised", row, at);
  }
  const summaries = forgetEntries(context, room, gone, touched, at);
  const [chat_jid = ""] = theirs.map((row) => row.chat_jid);
  found.receipts += redact(context, room, chat_jid, new Set([...touched, ...summaries]));
  found.messages += rows.length;
  found.summaries += summaries.length;
  journal.set(state.rooms, chat_jid, { ...room, erased: room.erased + touched.size });
  takeLanes(context, chat_jid);
}

/** Their keys stay taken, in a form that tells nobody what they were. */
function forgetKeys({ journal }: Context, room: Room, gone: ReadonlySet<string>): void {
  const blockKey = room.blockKey ?? new Uint8Array();
  for (const [key, id] of [...room.idByKey]) {
    if (!gone.has(id)) continue;
    journal.remove(room.idByKey, key);
    journal.set(room.erasedKeys, erasedKey(blockKey, "dedupe", key), id);
  }
  for (const [key, { message_id }] of [...room.idempotency]) {
    if (!gone.has(message_id)) continue;
    journal.remove(room.idempotency, key);
    journal.set(room.erasedKeys, erasedKey(blockKey, "idempotency", key), message_id);
  }
}

function endInbound({ state, journal }: Context, room: Room, { id, chat_jid }: Kept): void {
  const inbound = room.inbounds.get(id);
  if (inbound) {
    const isOpen = inbound.outcome === "pending";
    const outcome = isOpen ? "ignored" : inbound.outcome;
    journal.set(room.inbounds, id, { ...inbound, outcome, reason: ERASED, outcome_reason: ERASED });
  }
  for (const delivery of [...state.deliveries.values()]) {
    if (delivery.message_id !== id || delivery.chat_jid !== chat_jid) continue;
    journal.set(state.deliveries, delivery.id, { ...delivery, reason: null, last_error: null });
  }
}

/** Empties their entries, and the summaries made since the first of what is touched. Gives the ids of those. */
function forgetEntries(
  { journal }: Context,
  room: Room,
  gone: ReadonlySet<string>,
  touched: ReadonlySet<string>,
  at: string,
): string[] {
  const entries = [...room.entries.values()];
  const first = entries.findIndex(({ message_id }) => message_id !== null && touched.has(message_id));
  const summaries: string[] = [];
  entries.forEach((entry, index) => {
    if (entry.message_id !== null && gone.has(entry.message_id)) {
      journal.set(room.entries, entry.id, { ...entry, data: {} });
    } else if (
      first !== -1 &&
      index > first &&
      (entry.kind === "compaction" || entry.kind === "branch_summary")
    ) {
      journal.set(room.entries, entry.id, { ...entry, data: { erased: at } });
      summaries.push(entry.id);
    }
  });
  return summaries;
}

/** Takes the bytes out of blocks that hold their words. How many receipts had one of them. */
function redact(
  { state, journal }: Context,
  room: Room,
  chat_jid: string,
  sources: ReadonlySet<string>,
): number {
  const records = [...state.calls.values()].filter(({ call }) => call.chat_jid === chat_jid);
  const blocks = new Set(records.flatMap((record) => blocksWith(record, sources)));
  for (const id of blocks) journal.remove(room.blocks, id);
  const own = new Map<string, number>();
  for (const { call, base_count, request } of records) {
    const place = request.blocks.findIndex(({ id }) => blocks.has(id));
    if (place !== -1) own.set(call.id, base_count + place);
  }
  const listed = records.map(({ call, base, base_count }) => ({ id: call.id, base, base_count }));
  const redacted = callsWith(own, listed);
  for (const id of redacted) {
    const record = state.calls.get(id);
    if (!record) continue;
    const leftovers = isSummary(record) ? [] : record.leftovers;
    const call = redactedCall(record.call);
    journal.set(state.calls, id, { ...record, call, leftovers, partial: new Map() });
  }
  return redacted.length;
}

/** A summary that was made in several goes names only what its last one read. */
function blocksWith(record: CallRecord, sources: ReadonlySet<string>): string[] {
  const blocks = record.request.blocks.filter((block) =>
    block.sources.some(
      ({ type, id }) => SOURCES_WITH_WORDS.includes(type) && (isSummary(record) || sources.has(id)),
    ),
  );
  return blocks.map(({ id }) => id);
}

function isSummary({ call }: CallRecord): boolean {
  return call.purpose === "compaction" || call.purpose === "branch_summary";
}

/** Whoever holds a lane of the chat may have read what is gone. */
function takeLanes({ state, journal }: Context, chat_jid: string): void {
  for (const lane of [...state.lanes.values()]) {
    if (lane.chat_jid !== chat_jid || lane.kind !== "turn" || lane.holder === null) continue;
    const { fence } = lane;
    journal.set(state.lanes, lane.lane, { ...lane, fence: fence + 1, holder: null, free_at: 0, tries: 0 });
  }
}

/** Bytes nobody has attached to anything any more. */
function forgetBytes({ state, journal }: Context): void {
  const used = new Set<string | null | undefined>();
  for (const room of state.rooms.values()) {
    for (const attachments of room.attachments.values()) {
      for (const hash of [...attachments.values()].flatMap(hashesOf)) used.add(hash);
    }
  }
  for (const sha256 of [...state.bytes.keys()]) if (!used.has(sha256)) journal.remove(state.bytes, sha256);
}

function hashesOf({ sha256, seen_sha256 }: AttachmentRow): (string | null | undefined)[] {
  return [sha256, seen_sha256];
}

function tell(
  { state, journal }: Context,
  type: "message.revised" | "outcome",
  { chat_jid, id }: Pick<MessageRow, "chat_jid" | "id">,
  at: string,
): void {
  journal.push(state.events, messageChange(type, chat_jid, id, at));
}
