import assert from "node:assert/strict";
import { type CallEnvelope, chatWithDefaults, type Chat, type Delivery } from "../../message/index.js";
import type {
  Batch,
  Claim,
  CommitResult,
  Entry,
  Fact,
  Inbound,
  NewMessage,
  RequestBlock,
  Store,
  Turn,
  Work,
  WorkKind,
} from "../store.js";

/** Values to try a store with. Everything is fixed, so that a failure can be had again. */

export const AT = "2026-11-15T12:00:00.000Z";
export const LATER = "2026-11-15T12:00:01.000Z";
export const CHAT = "home";
export const OTHER = "elsewhere";

export type Check = { name: string; check(store: Store): Promise<void> };

export function chat(jid: string = CHAT, more: Partial<Chat> = {}): Chat {
  return { ...chatWithDefaults({ jid }, "Longhand", []), ...more };
}

export function registered(jid: string = CHAT, more: Partial<Chat> = {}): Fact {
  return { type: "chat", chat: chat(jid, more), at: AT };
}

export function message(id: string, more: Partial<NewMessage> = {}): Extract<Fact, { type: "message" }> {
  return {
    type: "message",
    message: {
      id,
      chat_jid: CHAT,
      sender: "web:olivia",
      sender_name: "Olivia",
      content: `words of ${id}`,
      timestamp: AT,
      is_from_me: false,
      message_type: "user",
      metadata: { source: "web" },
      turn_id: null,
      call_id: null,
      part: null,
      dedupe_key: null,
      idempotency: null,
      untaken: true,
      thread_id: "",
      ...more,
    },
  };
}

export function inbound(message_id: string, more: Partial<Inbound> = {}): Fact {
  return {
    type: "inbound",
    inbound: {
      chat_jid: CHAT,
      message_id,
      admission: "run",
      reason: "trigger",
      outcome: "pending",
      outcome_reason: "",
      turn_id: null,
      received_at: 0,
      ...more,
    },
  };
}

export function work(id: string, more: Partial<Work> = {}): Extract<Fact, { type: "work" }> {
  const kind: WorkKind = more.kind ?? "turn";
  return {
    type: "work",
    work: {
      id,
      kind,
      lane: `${kind}:${CHAT}`,
      chat_jid: CHAT,
      ref: `ref of ${id}`,
      run_at: 0,
      attempts: 0,
      ...more,
    },
  };
}

export function entry(id: string, parent: string | null, more: Partial<Entry> = {}): Fact {
  return {
    type: "entry",
    entry: {
      id,
      chat_jid: CHAT,
      thread_id: "",
      parent,
      kind: "message",
      message_id: null,
      turn_id: null,
      at: AT,
      data: {},
      ...more,
    },
  };
}

export function head(entry_id: string | null, thread_id = "", chat_jid: string = CHAT): Fact {
  return { type: "head", chat_jid, thread_id, entry_id, reason: "test", at: AT };
}

export function turn(id: string, more: Partial<Turn> = {}): Fact {
  return {
    type: "turn_started",
    turn: {
      id,
      chat_jid: CHAT,
      thread_id: "",
      trigger_id: "m1",
      started_at: AT,
      status: "running",
      ended_at: null,
      interruptions: 0,
      ...more,
    },
  };
}

export function delivery(id: string, more: Partial<Delivery> = {}): Fact {
  const made: Delivery = {
    id,
    chat_jid: CHAT,
    message_id: "m1",
    revision: 0,
    part: 0,
    channel: "slack",
    address: "slack:C1",
    thread_id: null,
    state: "pending",
    reason: null,
    external_id: null,
    attempts: 0,
    last_error: null,
    retry_at: null,
    created_at: AT,
    ...more,
  };
  const lane = `delivery:${made.address}#${made.thread_id ?? ""}`;
  const { chat_jid } = made;
  return {
    type: "delivery",
    delivery: made,
    work: { id: `work of ${id}`, kind: "delivery", lane, chat_jid, ref: id, run_at: 0, attempts: 0 },
  };
}

export function call(id: string, more: Partial<CallEnvelope> = {}): CallEnvelope {
  return {
    id,
    chat_jid: CHAT,
    turn_id: null,
    attempt: 1,
    purpose: "turn",
    provider: "demo",
    api: "demo",
    model: "demo/demo",
    status: "running",
    error_kind: null,
    error: null,
    stop_reason: null,
    started_at: AT,
    first_token_ms: null,
    duration_ms: null,
    usage: null,
    cost: null,
    request_sha256: "00",
    request_size: 0,
    redacted: false,
    ...more,
  };
}

export function block(id: string, text: string | null = `bytes of ${id}`): RequestBlock {
  const bytes = text === null ? null : new TextEncoder().encode(text);
  return { id, kind: "message", size: bytes?.length ?? 0, sources: [{ type: "message", id: "m1" }], bytes };
}

/** Commit and insist on it. The numbers of the batch's messages. */
export async function kept(
  store: Store,
  facts: Fact[],
  expect: Batch["expect"] = [],
): Promise<Record<string, number>> {
  const result = await store.commit({ facts, expect });
  assert.equal(result.status, "committed", `expected a commit, got ${JSON.stringify(result)}`);
  return result.status === "committed" ? result.seqs : {};
}

/** The reason of a conflict, and insist that it is one. */
export function whyConflict(result: CommitResult): string {
  assert.equal(result.status, "conflict", `expected a conflict, got ${JSON.stringify(result)}`);
  return result.status === "conflict" ? result.why : "";
}

export async function claimed(
  store: Store,
  now: number,
  until: number,
  more: { kind?: WorkKind; limit?: number; holder?: string } = {},
): Promise<Claim[]> {
  const { kind = "turn", limit = 100, holder = "a" } = more;
  return store.claim({ kind, holder, now, leaseMs: until - now, limit });
}

/** The one lane that can be claimed now. */
export async function onlyClaim(
  store: Store,
  now: number,
  until: number,
  kind: WorkKind = "turn",
): Promise<Claim> {
  const claims = await claimed(store, now, until, { kind });
  const [claim] = claims;
  assert.equal(claims.length, 1, `expected one claim, got ${JSON.stringify(claims)}`);
  if (!claim) throw new Error("no claim");
  return claim;
}

export function ids(list: readonly { id: string }[]): string[] {
  return list.map(({ id }) => id);
}

/** All messages of a chat. */
export function said(store: Store, chat_jid: string = CHAT) {
  return store.read.messages({
    chat_jid,
    after_seq: 0,
    before_seq: null,
    limit: 10_000,
    message_type: null,
    sender: null,
  });
}

/** Names of events, in order, without the one about registering the chat. */
export async function logged(store: Store, chat_jid: string | null = null): Promise<string[]> {
  const events = await store.read.events({ after: null, chat_jid, limit: 10_000 });
  return events.filter(({ type }) => type !== "chat").map(({ type }) => type);
}
