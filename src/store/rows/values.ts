import {
  ADMISSIONS,
  ATTACHMENT_STATES,
  type AttachmentRow,
  BLOCK_KINDS,
  type Binding,
  type Chat,
  type Delivery,
  DeliveryState,
  type Erasure,
  OUTCOMES,
} from "../../message/index.js";
import type { Inbound, KnownAddress, LoginCode, StoredRequest, Token, Turn } from "../store.js";
import { bytesOrNull, number, oneOf, type Row, text, textOrNull } from "./columns.js";

/** Rows that both databases hold alike, as values of the program. What does not fit is damage, and is said so. */

export function attachmentOf(row: Row): AttachmentRow {
  return {
    name: text(row.name),
    mime_type: text(row.mime_type),
    size: number(row.size),
    sha256: textOrNull(row.sha256),
    state: oneOf(ATTACHMENT_STATES, row.state),
    reason: textOrNull(row.reason),
    url: textOrNull(row.url),
    ...(row.seen_sha256 === null ? {} : { seen_sha256: text(row.seen_sha256) }),
    ...(row.transcript === null ? {} : { transcript: text(row.transcript) }),
  };
}

export function inboundOf(row: Row): Inbound {
  return {
    chat_jid: text(row.chat_jid),
    message_id: text(row.message_id),
    admission: oneOf(ADMISSIONS, row.admission),
    reason: text(row.reason),
    outcome: oneOf(OUTCOMES, row.outcome),
    outcome_reason: text(row.outcome_reason),
    turn_id: textOrNull(row.turn_id),
    received_at: number(row.received_at),
  };
}

export function deliveryOf(row: Row): Delivery {
  return {
    id: text(row.id),
    chat_jid: text(row.chat_jid),
    message_id: text(row.message_id),
    revision: number(row.revision),
    part: number(row.part),
    channel: text(row.channel),
    address: text(row.address),
    thread_id: textOrNull(row.thread_id),
    state: oneOf(DeliveryState.options, row.state),
    reason: textOrNull(row.reason),
    external_id: textOrNull(row.external_id),
    attempts: number(row.attempts),
    last_error: textOrNull(row.last_error),
    retry_at: textOrNull(row.retry_at),
    created_at: text(row.created_at),
  };
}

const TURN_STATUSES = ["running", "ended", "failed", "stopped", "superseded"] as const;

export function turnOf(row: Row): Turn {
  return {
    id: text(row.id),
    chat_jid: text(row.chat_jid),
    thread_id: text(row.thread_id),
    trigger_id: text(row.trigger_id),
    started_at: text(row.started_at),
    status: oneOf(TURN_STATUSES, row.status),
    ended_at: textOrNull(row.ended_at),
    interruptions: number(row.interruptions),
  };
}

export function blockOf(row: Row): StoredRequest["blocks"][number] {
  return {
    id: text(row.block_id),
    kind: oneOf(BLOCK_KINDS, row.kind),
    size: number(row.size),
    sources: JSON.parse(text(row.sources)),
    bytes: bytesOrNull(row.bytes),
  };
}

export function chatOf(row: Row, bindings: Binding[]): Chat {
  return { ...JSON.parse(text(row.settings)), bindings };
}

export function bindingOf(row: Row): Binding {
  return {
    channel: text(row.channel),
    address: text(row.address),
    mode: oneOf(["both", "listen", "speak"] as const, row.mode),
    trace: oneOf(["off", "short", "full"] as const, row.trace),
    threads: oneOf(["shared", "separate"] as const, row.threads),
  };
}

export function addressOf(row: Row): KnownAddress {
  return {
    address: text(row.address),
    channel: text(row.channel),
    name: text(row.name),
    first_seen: text(row.first_seen),
    last_seen: text(row.last_seen),
    count: number(row.count),
  };
}

export function loginCodeOf(row: Row): LoginCode {
  return {
    sha256: text(row.sha256),
    person_id: textOrNull(row.person_id),
    expires_at: number(row.expires_at),
  };
}

export function tokenOf(row: Row): Token {
  return {
    id: text(row.id),
    name: text(row.name),
    sha256: text(row.sha256),
    scopes: JSON.parse(text(row.scopes)),
    created_at: text(row.created_at),
    person_id: textOrNull(row.person_id),
  };
}

export function erasureOf(row: Row): Erasure {
  return {
    id: text(row.id),
    at: text(row.at),
    messages: number(row.messages),
    attachments: number(row.attachments),
    receipts: number(row.receipts),
    summaries: number(row.summaries),
    scrubbed: row.scrubbed === 1,
  };
}
