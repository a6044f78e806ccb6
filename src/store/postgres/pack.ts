import { randomBytes } from "node:crypto";
import { eventsOf, timeOf } from "../events.js";
import { workIn } from "../lane.js";
import { kindsIn } from "../news.js";
import type { Expectation, Fact, Settlement, Work } from "../store.js";
import { storedJson } from "./text.js";

type Packed = Record<string, unknown>;

/** One batch as the server's function takes it, with the locks it needs. */
export type Op = {
  json: Packed;
  locks: Locks;
  /** What facts point into by `at` and `length`, from this batch's start. */
  bytes: Uint8Array[];
  /** About how much memory it holds while it waits. */
  size: number;
  messageIds: string[];
  /** The log grows by it. */
  logged: boolean;
};
export type Locks = {
  settings: boolean;
  chats: Set<string>;
  /** By name; with its kind and chat when it may have to be made. */
  lanes: Map<string, { kind: string; chat_jid: string } | null>;
  /** Account and day. */
  accounts: Set<string>;
};

export function noLocks(): Locks {
  return { settings: false, chats: new Set(), lanes: new Map(), accounts: new Set() };
}

type Move = Omit<Settlement, "facts" | "expect">;

const SMALL = 500;

/** A batch on its way; `move` when it settles a lane. `settings`: chats, people or tokens change. */
export function pack(
  facts: readonly Fact[],
  expect: readonly Expectation[],
  move: Move | null,
  settings: boolean,
): Op {
  const op: Op = { json: {}, locks: noLocks(), bytes: [], size: 0, messageIds: [], logged: false };
  const keep = (bytes: Uint8Array | null): Packed => {
    if (!bytes) return {};
    op.bytes.push(bytes);
    op.size += bytes.byteLength;
    return { at: op.size - bytes.byteLength, length: bytes.byteLength };
  };
  const events = packEvents(facts);
  op.logged = events.length > 0 || facts.some(({ type }) => type === "senders_erased");
  op.json = {
    expect: expect.map(packExpectation),
    facts: facts.map((fact) => packFact(fact, keep)),
    events,
    kinds: kindsIn(facts),
    settings,
    ...(move ? { settle: move } : {}),
  };
  for (const fact of facts) {
    if (fact.type === "message") op.messageIds.push(fact.message.id);
    lockFor(fact, op.locks);
  }
  for (const expectation of expect) lockForExpectation(expectation, op.locks);
  if (move) lockLane(op.locks, move.lease.lane);
  const text = JSON.stringify(op.json);
  op.size += SMALL + 2 * text.length;
  if (needsEscape(text)) op.json = JSON.parse(storedJson(op.json));
  return op;
}

/** Perhaps; a look at the finished text is cheaper than one at every string in it. */
function needsEscape(json: string): boolean {
  return json.includes("\\u0000") || json.includes("\\u001a") || json.includes("\\ud");
}

function packEvents(facts: readonly Fact[]): Packed[] {
  const at = timeOf(facts);
  return facts.flatMap((fact): Packed[] => {
    if (fact.type === "delivery_state") {
      // Its chat and message are the delivery's, which the server knows.
      const before = `{"delivery_id":${JSON.stringify(fact.id)},"message_id":`;
      return [{ type: "delivery", at: fact.at, delivery_id: fact.id, before }];
    }
    return eventsOf(fact, at, null).map((event) => ({ ...event, refs: JSON.stringify(event.refs) }));
  });
}

/** A fact with the names of its columns. What is JSON in its column goes as the text of it. */
function packFact(fact: Fact, keep: (bytes: Uint8Array | null) => Packed): Packed {
  const { type } = fact;
  switch (fact.type) {
    case "message": {
      const { metadata, idempotency, is_from_me, untaken, ...row } = fact.message;
      return {
        ...row,
        type,
        metadata: JSON.stringify(metadata),
        is_from_me: is_from_me ? 1 : 0,
        untaken: untaken ? 1 : 0,
        idempotency_key: idempotency?.key ?? null,
        body_sha256: idempotency?.body_sha256 ?? null,
      };
    }
    case "inbound":
      return { ...fact.inbound, type };
    case "attachment": {
      const { attachment, bytes, index, ...rest } = fact;
      return { ...rest, ...attachment, position: index, ...keep(bytes) };
    }
    case "work":
      return { ...fact.work, type };
    case "delivery":
      return { ...fact.delivery, work: fact.work, type };
    case "turn_started":
      return { ...fact.turn, type };
    case "entry":
      return { ...fact.entry, data: JSON.stringify(fact.entry.data), type };
    case "call_started": {
      const { call, request } = fact;
      return {
        type,
        id: call.id,
        chat_jid: call.chat_jid,
        turn_id: call.turn_id,
        answers: call.purpose === "turn" ? call.turn_id : null,
        started_at: call.started_at,
        status: call.status,
        base: request.base?.call_id ?? null,
        base_count: request.base?.count ?? 0,
        blocks: request.blocks.map(({ id, kind, size, sources, bytes }) => ({
          id,
          kind,
          size,
          sources: JSON.stringify(sources),
          ...keep(bytes),
        })),
        left_out: JSON.stringify(request.left_out),
        breaks: JSON.stringify(request.breaks),
        envelope: JSON.stringify(call),
      };
    }
    case "call_ended": {
      const { id, chat_jid, status } = fact.call;
      const byPart = new Map(fact.leftovers.map(({ part, data }) => [part, JSON.stringify(data)]));
      const leftovers = [...byPart].map(([part, leftover]) => ({ part, leftover }));
      return { type, id, chat_jid, status, envelope: JSON.stringify(fact.call), leftovers };
    }
    case "call_partial": {
      const byPart = new Map(fact.parts.map((part) => [part.part, part]));
      return { type, call_id: fact.call_id, parts: [...byPart.values()] };
    }
    case "tool_done":
      return { ...fact, result: JSON.stringify(fact.result) };
    case "spent":
      return { ...fact.spending, type, account: fact.account, day: fact.day };
    case "chat": {
      const { bindings, ...settings } = fact.chat;
      const block_key = randomBytes(32).toString("hex");
      return {
        type,
        jid: fact.chat.jid,
        at: fact.at,
        settings: JSON.stringify(settings),
        bindings,
        block_key,
      };
    }
    case "senders_erased":
      return { ...fact.erasing, type };
    case "person":
      return { ...fact.person, type };
    case "token":
      return { ...fact.token, scopes: JSON.stringify(fact.token.scopes), type };
    case "login_code":
      return { ...fact.code, type, now: fact.now };
    case "receipts_expired":
    case "outcome":
    case "revision":
    case "edit_told":
    case "lane_due":
    case "delivery_state":
    case "turn_ended":
    case "head":
    case "label":
    case "tools_written":
    case "chat_removed":
    case "knock":
    case "person_removed":
    case "token_removed":
    case "login_code_used":
      return fact;
  }
}

function packExpectation(expectation: Expectation): Packed {
  switch (expectation.type) {
    case "chat_unchanged": {
      const { bindings, ...settings } = expectation.chat;
      const { jid } = expectation.chat;
      return { type: expectation.type, jid, settings: JSON.stringify(settings), bindings };
    }
    case "lease":
    case "chat_absent":
    case "chat_present":
    case "person":
    case "head":
    case "revision":
    case "delivery":
    case "budget":
      return expectation;
  }
}

function lockFor(fact: Fact, locks: Locks): void {
  const work = workIn(fact);
  if (work) lockLane(locks, work.lane, work);
  switch (fact.type) {
    case "message":
      locks.chats.add(fact.message.chat_jid);
      return;
    case "inbound":
      locks.chats.add(fact.inbound.chat_jid);
      return;
    case "turn_started":
      locks.chats.add(fact.turn.chat_jid);
      return;
    case "entry":
      locks.chats.add(fact.entry.chat_jid);
      return;
    case "call_started":
      locks.chats.add(fact.call.chat_jid);
      return;
    case "receipts_expired":
    case "outcome":
    case "revision":
    case "edit_told":
    case "attachment":
    case "turn_ended":
    case "head":
    case "label":
      locks.chats.add(fact.chat_jid);
      return;
    case "lane_due":
      lockLane(locks, fact.lane);
      return;
    case "spent":
      lockAccount(locks, fact.account, fact.day);
      return;
    case "chat":
      locks.settings = true;
      locks.chats.add(fact.chat.jid);
      return;
    case "chat_removed":
      locks.settings = true;
      locks.chats.add(fact.jid);
      return;
    case "senders_erased":
    case "knock":
    case "person":
    case "person_removed":
    case "token":
    case "token_removed":
    case "login_code":
    case "login_code_used":
      locks.settings = true;
      return;
    case "work":
    case "delivery":
    case "delivery_state":
    case "call_partial":
    case "call_ended":
    case "tool_done":
    case "tools_written":
      return;
  }
}

function lockForExpectation(expectation: Expectation, locks: Locks): void {
  switch (expectation.type) {
    case "lease":
      lockLane(locks, expectation.lane);
      return;
    case "chat_absent":
      locks.settings = true;
      locks.chats.add(expectation.jid);
      return;
    case "chat_present":
      locks.chats.add(expectation.jid);
      return;
    case "chat_unchanged":
      locks.chats.add(expectation.chat.jid);
      return;
    case "person":
      locks.settings = true;
      return;
    case "head":
    case "revision":
      locks.chats.add(expectation.chat_jid);
      return;
    case "budget":
      lockAccount(locks, expectation.account, expectation.day);
      return;
    case "delivery":
      return;
  }
}

function lockLane(locks: Locks, lane: string, work: Work | null = null): void {
  if (work) locks.lanes.set(lane, { kind: work.kind, chat_jid: work.chat_jid });
  else if (!locks.lanes.has(lane)) locks.lanes.set(lane, null);
}

function lockAccount(locks: Locks, account: string, day: string): void {
  locks.accounts.add(`${day} ${account}`);
}
