import { ERASED_SENDER } from "../../message/index.js";
import { erasedKey } from "../erased.js";
import { eventsOf, timeOf } from "../events.js";
import { workIn } from "../lane.js";
import type { CommitResult, Entry, Expectation, Fact, Inbound, NewMessage, Revision } from "../store.js";
import { chatChange, personChange } from "../unchanged.js";
import { overBudget, NOTHING_SPENT } from "../spending.js";
import { endCall, forgetTools, keepPartial, keepTool, startCall } from "./calls.js";
import { eraseSenders } from "./erase.js";
import { expireReceipts } from "./expire.js";
import { addWork, hastenLane, holdsLane } from "./lanes.js";
import { keepLoginCode, keepPerson, keepToken, removePerson, spend, useLoginCode } from "./people.js";
import { messageOf } from "./rows.js";
import { emptyRoom, type Journal, type Kept, plain, type Room, type State } from "./state.js";
import { addEntry, endTurn, moveHead, startTurn } from "./tree.js";

export type Refusal = Exclude<CommitResult, { status: "committed" }>;
type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;
export type Context = { state: State; journal: Journal; randomBytes: (count: number) => Uint8Array };

/** Write facts in their order: with the numbers of the messages among them, or why none of it may be kept. */
export function applyFacts(context: Context, facts: readonly Fact[]): CommitResult {
  const seqs = new Map<string, number>();
  const at = timeOf(facts);
  for (const fact of facts) {
    const refusal = applyFact(context, fact, seqs);
    if (refusal) return refusal;
    const work = workIn(fact);
    if (work && !addWork(context, work)) return conflict(`there is already work ${work.id}`);
    const delivery = fact.type === "delivery_state" ? (context.state.deliveries.get(fact.id) ?? null) : null;
    for (const event of eventsOf(fact, at, delivery)) context.journal.push(context.state.events, event);
  }
  return { status: "committed", seqs: Object.fromEntries(seqs) };
}

function applyFact(context: Context, fact: Fact, seqs: Map<string, number>): Refusal | null {
  const { state, journal } = context;
  switch (fact.type) {
    case "message": {
      const written = addMessage(context, fact.message);
      if (typeof written !== "number") return written;
      seqs.set(fact.message.id, written);
      return null;
    }
    case "inbound":
      return addInbound(context, fact.inbound);
    case "outcome":
      return decideOutcome(context, fact);
    case "revision":
      return revise(context, fact);
    case "edit_told":
      return tellEdit(context, fact);
    case "attachment":
      return attach(context, fact);
    case "work":
      return null;
    case "lane_due":
      hastenLane(context, fact.lane, fact.run_at);
      return null;
    case "delivery":
      if (state.deliveries.has(fact.delivery.id))
        return conflict(`there is already a delivery ${fact.delivery.id}`);
      journal.set(state.deliveries, fact.delivery.id, { ...fact.delivery });
      return null;
    case "delivery_state":
      return moveDelivery(context, fact);
    case "turn_started":
      return startTurn(context, fact.turn);
    case "turn_ended":
      return endTurn(context, fact);
    case "entry":
      return addEntry(context, fact.entry);
    case "head":
      return moveHead(context, fact);
    case "label":
      return keepLabel(context, fact);
    case "call_started":
      return startCall(context, fact.call, fact.request);
    case "call_partial":
      return keepPartial(context, fact.call_id, fact.parts);
    case "call_ended":
      return endCall(context, fact.call, fact.leftovers);
    case "tool_done":
      return keepTool(context, fact);
    case "tools_written":
      return forgetTools(context, fact.call_id);
    case "receipts_expired":
      return expireReceipts(context, fact);
    case "senders_erased":
      return eraseSenders(context, fact.erasing);
    case "spent":
      return spend(context, fact);
    case "chat":
      return keepChat(context, fact);
    case "chat_removed":
      return removeChat(context, fact.jid);
    case "knock":
      return knock(context, fact);
    case "person":
      return keepPerson(context, fact.person);
    case "person_removed":
      return removePerson(context, fact.id);
    case "token":
      return keepToken(context, fact);
    case "token_removed":
      journal.remove(state.tokens, fact.id);
      return null;
    case "login_code":
      return keepLoginCode(context, fact);
    case "login_code_used":
      return useLoginCode(context, fact.sha256);
  }
}

/** The first expectation that no longer holds, as the answer to whoever had it. */
export function firstUnmet(state: State, expectations: readonly Expectation[]): Refusal | null {
  for (const expectation of expectations) {
    if (expectation.type === "lease") {
      if (!holdsLane(state, expectation)) return { status: "fenced", lane: expectation.lane };
      continue;
    }
    const why = whyNot(state, expectation);
    if (why !== null) return { status: "conflict", expectation, why };
  }
  return null;
}

function whyNot(state: State, expected: Exclude<Expectation, { type: "lease" }>): string | null {
  switch (expected.type) {
    case "chat_absent":
      return state.rooms.get(expected.jid)?.chat ? `chat ${expected.jid} is already registered` : null;
    case "chat_present":
      return state.rooms.get(expected.jid)?.chat ? null : `chat ${expected.jid} is not registered`;
    case "chat_unchanged":
      return chatChange(expected.chat, state.rooms.get(expected.chat.jid)?.chat ?? null);
    case "person":
      return personChange(
        expected,
        state.people.get(expected.id) ?? null,
        state.formerPeople.has(expected.id),
      );
    case "head": {
      const head = state.rooms.get(expected.chat_jid)?.heads.get(expected.thread_id) ?? null;
      return head === expected.entry_id ? null : "the head has moved";
    }
    case "revision": {
      const room = state.rooms.get(expected.chat_jid);
      const seq = room?.seqById.get(expected.message_id);
      const message = seq === undefined ? undefined : room?.messages[seq - 1];
      if (!message) return `there is no message ${expected.message_id}`;
      return message.revision === expected.revision ? null : `the message is at revision ${message.revision}`;
    }
    case "delivery": {
      const delivery = state.deliveries.get(expected.id);
      if (!delivery) return `there is no delivery ${expected.id}`;
      return delivery.state === expected.state ? null : `the delivery is ${delivery.state}`;
    }
    case "budget":
      return overBudget(expected, state.spent.get(expected.account)?.get(expected.day) ?? NOTHING_SPENT);
  }
}

export function conflict(why: string): Refusal {
  return { status: "conflict", expectation: null, why };
}

/** What is kept of a chat, made when it is first needed. */
export function roomOf({ state, journal }: Context, jid: string): Room {
  const known = state.rooms.get(jid);
  if (known) return known;
  const room = emptyRoom();
  journal.set(state.rooms, jid, room);
  return room;
}

function addMessage(context: Context, message: NewMessage): number | Refusal {
  const { journal } = context;
  const room = context.state.rooms.get(message.chat_jid);
  if (!room?.chat) return conflict(`chat ${message.chat_jid} is not registered`);
  const known = knownAs(room, message);
  if (known) return known;
  const { dedupe_key, idempotency, ...row } = message;
  const seq = room.messages.length + 1;
  if (idempotency) {
    const { key, body_sha256 } = idempotency;
    journal.set(room.idempotency, key, { body_sha256, message_id: message.id });
  }
  if (dedupe_key !== null) journal.set(room.idByKey, dedupe_key, message.id);
  journal.set(room.seqById, message.id, seq);
  journal.push(room.messages, {
    ...row,
    metadata: plain(row.metadata),
    untold: false,
    seq,
    revision: 0,
    edited_at: null,
    deleted_at: null,
  });
  return seq;
}

function knownAs(room: Room, message: NewMessage): Refusal | null {
  const { idempotency, dedupe_key } = message;
  const used = idempotency ? room.idempotency.get(idempotency.key) : undefined;
  if (used && used.body_sha256 !== idempotency?.body_sha256) {
    return conflict("this idempotency key was already used for another body");
  }
  const byKey = dedupe_key === null ? undefined : room.idByKey.get(dedupe_key);
  const id = used?.message_id ?? byKey ?? erasedAs(room, message) ?? message.id;
  const existing = messageOf(room, id);
  return existing && { status: "duplicate", message: existing, inbound: room.inbounds.get(id) ?? null };
}

/** The message that was erased under one of these keys. */
function erasedAs(room: Room, { dedupe_key, idempotency }: NewMessage): string | undefined {
  const { blockKey, erasedKeys } = room;
  if (erasedKeys.size === 0 || blockKey === null) return undefined;
  const known = (kind: "dedupe" | "idempotency", key: string | undefined | null) =>
    key ? erasedKeys.get(erasedKey(blockKey, kind, key)) : undefined;
  return known("idempotency", idempotency?.key) ?? known("dedupe", dedupe_key);
}

function addInbound(context: Context, inbound: Inbound): Refusal | null {
  const room = context.state.rooms.get(inbound.chat_jid);
  if (!room?.seqById.has(inbound.message_id) || room.inbounds.has(inbound.message_id)) {
    return conflict(`there is no message ${inbound.message_id}, or it was already admitted`);
  }
  context.journal.set(room.inbounds, inbound.message_id, { ...inbound });
  return null;
}

function decideOutcome(context: Context, fact: Of<"outcome">): Refusal | null {
  const room = context.state.rooms.get(fact.chat_jid);
  const inbound = room?.inbounds.get(fact.message_id);
  if (!room || !inbound) return conflict(`message ${fact.message_id} is not an inbound message`);
  if (inbound.outcome !== "pending")
    return conflict(`message ${fact.message_id} already ended: ${inbound.outcome}`);
  const { outcome, reason, turn_id } = fact;
  context.journal.set(room.inbounds, fact.message_id, {
    ...inbound,
    outcome,
    outcome_reason: reason,
    turn_id,
  });
  return null;
}

function revise({ state, journal }: Context, fact: Of<"revision">): Refusal | null {
  const room = state.rooms.get(fact.chat_jid);
  const seq = room?.seqById.get(fact.message_id);
  const message = seq === undefined ? undefined : room?.messages[seq - 1];
  if (!room || !message) return conflict(`there is no message ${fact.message_id}`);
  if (message.deleted_at !== null) return conflict(`message ${fact.message_id} is deleted`);
  const { content, revision, edited_at, timestamp } = message;
  const earlier: Revision = { revision, content, at: edited_at ?? timestamp };
  journal.set(room.revisions, fact.message_id, [...(room.revisions.get(fact.message_id) ?? []), earlier]);
  const stamped = fact.content === null ? { deleted_at: fact.at } : { edited_at: fact.at };
  journal.put(room.messages, message.seq - 1, {
    ...message,
    ...stamped,
    content: fact.content ?? "",
    revision: revision + 1,
    untold: fact.content !== null && wasTaken(room, message),
  });
  if (fact.content === null) forgetSummaries(journal, room, message, fact.at);
  return null;
}

/** A summary that may say what is deleted is not read any more: what it covered is, without that. */
function forgetSummaries(journal: Journal, room: Room, row: Kept, at: string): void {
  if (row.message_type === "host" || row.message_type === "system") return;
  for (const entry of [...room.entries.values()]) {
    if (entry.kind !== "compaction" && entry.kind !== "branch_summary") continue;
    if (row.message_type === "user" && entry.thread_id !== row.thread_id) continue;
    if (lastCovered(entry) >= row.seq)
      journal.set(room.entries, entry.id, { ...entry, data: { erased: at } });
  }
}

/** The newest message that a summary's writer may have read, by its number. */
function lastCovered({ data: { covers } }: Entry): number {
  return typeof covers === "object" && covers !== null && "seq" in covers ? Number(covers.seq) : 0;
}

/** Did a turn put what a person said on the tree? Commands, and what was ignored, never get there. */
function wasTaken({ inbounds }: Room, { id, message_type, untaken }: Kept): boolean {
  if (message_type !== "user" || untaken) return false;
  const inbound = inbounds.get(id);
  return inbound?.admission !== "command" && inbound?.outcome !== "ignored";
}

function tellEdit({ state, journal }: Context, fact: Of<"edit_told">): null {
  const room = state.rooms.get(fact.chat_jid);
  const message = room?.messages[(room.seqById.get(fact.message_id) ?? 0) - 1];
  if (room && message?.revision === fact.revision) {
    journal.put(room.messages, message.seq - 1, { ...message, untold: false });
  }
  return null;
}

function attach({ state, journal }: Context, fact: Of<"attachment">): Refusal | null {
  const room = state.rooms.get(fact.chat_jid);
  if (!room?.seqById.has(fact.message_id)) return conflict(`there is no message ${fact.message_id}`);
  // Nothing is attached to a tombstone, though it was on its way.
  if (messageOf(room, fact.message_id)?.sender === ERASED_SENDER) return null;
  const attachments = new Map(room.attachments.get(fact.message_id));
  attachments.set(fact.index, { ...fact.attachment });
  journal.set(room.attachments, fact.message_id, attachments);
  const sha256 = fact.attachment.seen_sha256 ?? fact.attachment.sha256;
  if (fact.bytes && sha256 !== null && !state.bytes.has(sha256)) {
    journal.set(state.bytes, sha256, fact.bytes.slice());
  }
  return null;
}

function moveDelivery({ state, journal }: Context, fact: Of<"delivery_state">): Refusal | null {
  const delivery = state.deliveries.get(fact.id);
  if (!delivery) return conflict(`there is no delivery ${fact.id}`);
  const { type: _type, at: _at, ...changes } = fact;
  journal.set(state.deliveries, fact.id, { ...delivery, ...changes });
  return null;
}

function keepChat(context: Context, { chat }: Of<"chat">): Refusal | null {
  const { state, journal } = context;
  const room = roomOf(context, chat.jid);
  for (const { address } of room.chat?.bindings ?? []) journal.remove(state.chatOfAddress, address);
  for (const { address } of chat.bindings) {
    const bound = state.chatOfAddress.get(address);
    if (bound === chat.jid) return conflict(`address ${address} is given twice`);
    if (bound !== undefined) return conflict(`address ${address} is bound to chat ${bound}`);
    journal.set(state.chatOfAddress, address, chat.jid);
  }
  const number = room.number ?? state.registered.length + 1;
  if (room.number === null) journal.push(state.registered, chat.jid);
  const blockKey = room.blockKey ?? context.randomBytes(32);
  journal.set(state.rooms, chat.jid, { ...room, number, chat: plain(chat), blockKey });
  return null;
}

function removeChat({ state, journal }: Context, jid: string): Refusal | null {
  const room = state.rooms.get(jid);
  if (!room?.chat) return conflict(`chat ${jid} is not registered`);
  for (const { address } of room.chat.bindings) journal.remove(state.chatOfAddress, address);
  journal.set(state.rooms, jid, { ...room, chat: null });
  return null;
}

function knock({ state, journal }: Context, { address, channel, name, at }: Of<"knock">): null {
  const known = state.knocks.get(address);
  const first_seen = known?.first_seen ?? at;
  const count = (known?.count ?? 0) + 1;
  journal.set(state.knocks, address, { address, channel, name, first_seen, last_seen: at, count });
  return null;
}

function keepLabel(context: Context, fact: Of<"label">): Refusal | null {
  const room = roomOf(context, fact.chat_jid);
  const { folded, label, sender } = fact;
  const known = room.labels.get(folded);
  if (known && known.sender !== sender) return conflict(`the name ${label} is taken in this chat`);
  context.journal.set(room.labels, folded, { folded, label, sender });
  return null;
}
