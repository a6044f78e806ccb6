import {
  ADMISSIONS,
  ATTACHMENT_STATES,
  type AttachmentRow,
  BLOCK_KINDS,
  type Binding,
  type Chat,
  type Delivery,
  DeliveryState,
  type MessageRow,
  OUTCOMES,
} from "../../../message/index.js";
import type { Entry, Inbound, KnownAddress, StoredRequest, Token, Turn } from "../../store.js";
import { bytesOrNull, number, oneOf, text, textOrNull } from "../columns.js";
import type { Row } from "../driver.js";

/** Rows of the database as values of the program. What does not fit is damage, and is said so. */

/**
 * Messages and entries come as one JSON text each: handing over a single value instead of twenty makes reading a
 * window more than twice as fast.
 */
export const MESSAGE = `json_array(m.id, m.chat_jid, m.seq, m.sender, m.sender_name, m.content, m.timestamp, m.is_from_me,
  m.message_type, json(m.metadata), m.turn_id, m.call_id, m.part, m.attached, m.revision, m.edited_at, m.deleted_at) AS message`;

type MessageColumns = [
  id: string,
  chat_jid: string,
  seq: number,
  sender: string,
  sender_name: string,
  content: string,
  timestamp: string,
  is_from_me: number,
  message_type: MessageRow["message_type"],
  metadata: MessageRow["metadata"],
  turn_id: string | null,
  call_id: string | null,
  part: number | null,
  attached: number,
  revision: number,
  edited_at: string | null,
  deleted_at: string | null,
];

/** A message, and whether something is attached to it. */
export function messageOf(row: Row): { message: MessageRow; attached: boolean } {
  const columns: MessageColumns = JSON.parse(text(row.message));
  const [id, chat_jid, seq, sender, sender_name, content, timestamp, is_from_me, message_type, metadata] =
    columns;
  const [turn_id, call_id, part, attached, revision, edited_at, deleted_at] = [
    columns[10],
    columns[11],
    columns[12],
    columns[13],
    columns[14],
    columns[15],
    columns[16],
  ];
  return {
    attached: attached === 1,
    message: {
      id,
      chat_jid,
      seq,
      sender,
      sender_name,
      content,
      timestamp,
      is_from_me: is_from_me === 1,
      message_type,
      metadata,
      turn_id,
      call_id,
      part,
      attachments: [],
      revision,
      edited_at,
      deleted_at,
    },
  };
}

export function attachmentOf(row: Row): AttachmentRow {
  return {
    name: text(row.name),
    mime_type: text(row.mime_type),
    size: number(row.size),
    sha256: textOrNull(row.sha256),
    state: oneOf(ATTACHMENT_STATES, row.state),
    reason: textOrNull(row.reason),
    url: textOrNull(row.url),
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

export const ENTRY = `json_array(e.id, e.chat_jid, e.thread_id, e.parent, e.kind, e.message_id, e.turn_id, e.at,
  json(e.data)) AS entry`;

type EntryColumns = [
  id: string,
  chat_jid: string,
  thread_id: string,
  parent: string | null,
  kind: Entry["kind"],
  message_id: string | null,
  turn_id: string | null,
  at: string,
  data: Entry["data"],
];

export function entryOf(row: Row): Entry {
  const columns: EntryColumns = JSON.parse(text(row.entry));
  const [id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data] = columns;
  return { id, chat_jid, thread_id, parent, kind, message_id, turn_id, at, data };
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
