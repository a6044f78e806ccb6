import type { Claim, ClaimRequest, CommitResult, Expectation, Fact, Lease, Settlement } from "../store.js";

/**
 * What goes between the event loop and the writer's thread. The facts of an ingest travel as flat lists in the order
 * of their columns: copying one between threads costs a third of copying the objects.
 */
export type PackedFact =
  | PackedMessage
  | PackedInbound
  | PackedWork
  | PackedDelivery
  | PackedEvent
  /** Anything that does not happen once per message. */
  | ["fact", RareFact];

export type PackedMessage = [
  type: "message",
  id: string,
  chat_jid: string,
  sender: string,
  sender_name: string,
  content: string,
  timestamp: string,
  is_from_me: number,
  message_type: string,
  metadata: string,
  turn_id: string | null,
  call_id: string | null,
  part: number | null,
  dedupe_key: string | null,
  thread_id: string,
  untaken: number,
  idempotency_key: string | null,
  body_sha256: string | null,
];
export type PackedInbound = [
  type: "inbound",
  chat_jid: string,
  message_id: string,
  admission: string,
  reason: string,
  outcome: string,
  outcome_reason: string,
  turn_id: string | null,
  received_at: number,
];
export type PackedWork = [
  type: "work",
  id: string,
  kind: string,
  lane: string,
  chat_jid: string,
  ref: string,
  run_at: number,
  attempts: number,
];
export type PackedDelivery = [
  type: "delivery",
  id: string,
  chat_jid: string,
  message_id: string,
  revision: number,
  part: number,
  channel: string,
  address: string,
  thread_id: string | null,
  state: string,
  reason: string | null,
  external_id: string | null,
  attempts: number,
  last_error: string | null,
  retry_at: string | null,
  created_at: string,
];
export type PackedEvent = [type: "event", chat_jid: string, kind: string, at: string, refs: string];
export type RareFact = Exclude<Fact, { type: "message" | "inbound" | "work" | "delivery" }>;

export type Op =
  | ["commit", facts: PackedFact[], expect: Expectation[]]
  | ["settle", facts: PackedFact[], move: Omit<Settlement, "facts">]
  | ["claim", ClaimRequest]
  | ["renew", leases: Lease[], until: number]
  | ["release", holder: string, now: number]
  | ["close"];

/**
 * `seqs` are those of the batch's messages, in order. `freed`: the lane was given back and still has work.
 * The commit of one message, which is what there is most of, is answered by its number alone.
 */
export type OpResult =
  | number
  | ["committed", seqs: number[], freed: boolean]
  | ["refused", Refusal]
  | ["claimed", Claim[]]
  | ["renewed", lost: Lease[]]
  | ["done"]
  | ["unavailable", why: string]
  /** A bug. Its batch was undone; its neighbours were not touched. */
  | ["failed", why: string];

/** A duplicate is named, not carried: the reader's connection has it. */
export type Refusal =
  | Exclude<CommitResult, { status: "committed" | "duplicate" }>
  | { status: "duplicate"; chat_jid: string; message_id: string };

export type WorkerOptions = { path: string; busyMs: number; maxBytes: number | null };
/** `results`: one list for each parcel of operations, in their order. `foreign`: another process wrote to the database. */
export type FromWorker =
  | ["open"]
  | ["not_open", why: string, unavailable: boolean]
  | ["results", OpResult[][]]
  | ["foreign"];
