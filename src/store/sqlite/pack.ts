import type { Delivery } from "../../message/index.js";
import { eventsOf, timeOf } from "../events.js";
import type { Fact, Inbound, NewMessage, Work } from "../store.js";
import type { PackedFact, RareFact } from "./wire.js";

export type Packed = {
  facts: PackedFact[];
  /** Ids of the batch's messages, in the order in which their numbers come back. */
  messageIds: string[];
  /** About how much memory it holds while it waits. */
  bytes: number;
  logged: boolean;
};

/** Facts as the writer's thread takes them, each followed by what the log says about it. */
export function pack(facts: readonly Fact[]): Packed {
  const packed: Packed = { facts: [], messageIds: [], bytes: 0, logged: false };
  const at = timeOf(facts);
  for (const fact of facts) {
    packFact(fact, packed);
    // The writer logs messages itself, which saves the way, and deliveries, because it knows their chat.
    if (fact.type === "message" || fact.type === "delivery_state") {
      packed.logged = true;
      continue;
    }
    for (const event of eventsOf(fact, at, null)) {
      packed.facts.push(["event", event.chat_jid, event.type, event.at, JSON.stringify(event.refs)]);
      packed.logged = true;
    }
  }
  return packed;
}

const SMALL = 500;

function packFact(fact: Fact, packed: Packed): void {
  packed.bytes += SMALL;
  switch (fact.type) {
    case "message":
      packed.messageIds.push(fact.message.id);
      packMessage(fact.message, packed);
      return;
    case "inbound":
      packed.facts.push(packInbound(fact.inbound));
      return;
    case "work":
      packed.facts.push(packWork(fact.work));
      return;
    case "delivery":
      packed.facts.push(packDelivery(fact.delivery), packWork(fact.work));
      return;
    case "attachment":
      packed.bytes += fact.bytes?.byteLength ?? 0;
      packed.facts.push(["fact", { ...fact, bytes: fact.bytes && alone(fact.bytes) }]);
      return;
    case "call_started": {
      const blocks = fact.request.blocks.map((block) => ({
        ...block,
        bytes: block.bytes && alone(block.bytes),
      }));
      for (const block of blocks) packed.bytes += SMALL + (block.bytes?.byteLength ?? 0);
      packed.facts.push(["fact", { ...fact, request: { ...fact.request, blocks } }]);
      return;
    }
    default:
      packed.bytes += textIn(fact);
      packed.facts.push(["fact", fact]);
  }
}

function packMessage(message: NewMessage, packed: Packed): void {
  const metadata = JSON.stringify(message.metadata);
  packed.bytes += 2 * (message.content.length + metadata.length);
  packed.facts.push([
    "message",
    message.id,
    message.chat_jid,
    message.sender,
    message.sender_name,
    message.content,
    message.timestamp,
    message.is_from_me ? 1 : 0,
    message.message_type,
    metadata,
    message.turn_id,
    message.call_id,
    message.part,
    message.dedupe_key,
    message.thread_id,
    message.untaken ? 1 : 0,
    message.idempotency?.key ?? null,
    message.idempotency?.body_sha256 ?? null,
  ]);
}

function packInbound(inbound: Inbound): PackedFact {
  return [
    "inbound",
    inbound.chat_jid,
    inbound.message_id,
    inbound.admission,
    inbound.reason,
    inbound.outcome,
    inbound.outcome_reason,
    inbound.turn_id,
    inbound.received_at,
  ];
}

function packWork(work: Work): PackedFact {
  return ["work", work.id, work.kind, work.lane, work.chat_jid, work.ref, work.run_at, work.attempts];
}

function packDelivery(delivery: Delivery): PackedFact {
  return [
    "delivery",
    delivery.id,
    delivery.chat_jid,
    delivery.message_id,
    delivery.revision,
    delivery.part,
    delivery.channel,
    delivery.address,
    delivery.thread_id,
    delivery.state,
    delivery.reason,
    delivery.external_id,
    delivery.attempts,
    delivery.last_error,
    delivery.retry_at,
    delivery.created_at,
  ];
}

/** Bytes on their own: copying a view to another thread copies everything it looks upon. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

function textIn(fact: RareFact): number {
  if (fact.type === "revision") return 2 * (fact.content?.length ?? 0);
  if (fact.type === "call_partial") return fact.parts.reduce((sum, part) => sum + 2 * part.content.length, 0);
  if (fact.type === "tool_done") return 2 * JSON.stringify(fact.result).length;
  return 0;
}
