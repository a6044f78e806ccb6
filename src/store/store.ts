import type {
  Admission,
  AttachmentRow,
  BlockKind,
  Break,
  CallEnvelope,
  Chat,
  Delivery,
  DeliveryState,
  Erasure,
  LeftOut,
  LoggedEvent,
  MessageRow,
  OutcomeWord,
  Person,
  Source,
  TerminalOutcome,
} from "../message/index.js";

export { compareCursors, isCursor } from "./events.js";
export { addSpending, NOTHING_SPENT, tokensIn } from "./spending.js";

/**
 * Where words are kept. Facts are written by one call, all or nothing; work is claimed under a lease.
 * Every implementation passes the suite in `contract.ts`.
 */
export type Store = {
  /** Write facts together, or none of them. Resolves once they are durable. */
  commit(batch: Batch): Promise<CommitResult>;
  /** Take free lanes that have work due, oldest first. Each claim carries a new fencing number. */
  claim(request: ClaimRequest): Promise<Claim[]>;
  /** Keep leases for another while. Gives those that are lost: somebody else has their lanes by now. */
  renew(leases: readonly Lease[], now: number, leaseMs: number): Promise<Lease[]>;
  /**
   * Free what this holder holds. For a holder that has just started: whatever it held, it held in an earlier life,
   * and nobody has to wait for those leases to run out.
   */
  release(holder: string, now: number): Promise<void>;
  /** Finish or postpone work and write what it led to, together; `release` gives the lane back. */
  settle(settlement: Settlement): Promise<CommitResult>;
  /** Told after something new became durable, here or in another process: look again. Returns how to stop. */
  subscribe(listener: (news: News) => void): () => void;
  read: StoreReads;
  /**
   * There only where writes and claims are done in the order in which they are asked for, so that a claim finds what was
   * asked to be written before it: how many were asked for so far.
   */
  inOrder?(): number;
  close(): Promise<void>;
};

export type Batch = { expect?: Expectation[]; facts: Fact[] };

/** What must still be true at the moment of the commit. */
export type Expectation =
  /** We still hold the lane; otherwise `fenced`. */
  | { type: "lease"; lane: string; fence: number }
  /** The chat is not registered yet; otherwise `conflict`. */
  | { type: "chat_absent"; jid: string }
  /** The chat is registered; otherwise `conflict`. */
  | { type: "chat_present"; jid: string }
  /** The chat is registered and set exactly as it was when it was read; otherwise `conflict`. */
  | { type: "chat_unchanged"; chat: Chat }
  /** The person is as they were when they were read, or (null) nobody ever had the id; otherwise `conflict`. */
  | { type: "person"; id: string; was: Person | null }
  /** The head of the thread has not moved; otherwise `conflict`. */
  | { type: "head"; chat_jid: string; thread_id: string; entry_id: string | null }
  /** The message has been revised this often; otherwise `conflict`. */
  | { type: "revision"; chat_jid: string; message_id: string; revision: number }
  /** The delivery is in this state; otherwise `conflict`. */
  | { type: "delivery"; id: string; state: DeliveryState }
  /** What the account spent that day, with `plus` on top, stays within its limits (null: none); otherwise `conflict`. */
  | {
      type: "budget";
      account: string;
      day: string;
      plus: { usd: number; tokens: number };
      usd: number | null;
      tokens: number | null;
    };

export type CommitResult =
  | { status: "committed"; seqs: Record<string, number> }
  /** A message of the batch is already there; nothing of the batch was written. */
  | { status: "duplicate"; message: MessageRow; inbound: Inbound | null }
  | { status: "fenced"; lane: string }
  | { status: "conflict"; expectation: Expectation | null; why: string };

/** The store cannot write or read now (disk full, locked, connection lost). Nothing was half-written; try again. */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

export type Fact =
  | { type: "message"; message: NewMessage }
  | { type: "inbound"; inbound: Inbound }
  | {
      type: "outcome";
      chat_jid: string;
      message_id: string;
      outcome: TerminalOutcome;
      reason: string;
      turn_id: string | null;
      at: string;
    }
  /** New words, or none: it is deleted. A person's message that a turn took before is `untold` from then on. */
  | { type: "revision"; chat_jid: string; message_id: string; content: string | null; at: string }
  /** What a message says since this revision is on the tree, or need not be: unless it was revised again, it is told. */
  | { type: "edit_told"; chat_jid: string; message_id: string; revision: number }
  | {
      type: "attachment";
      chat_jid: string;
      message_id: string;
      index: number;
      attachment: AttachmentRow;
      /** Those of its `seen_sha256`, where it has one; of its `sha256` otherwise. Null: they are there already, or nowhere. */
      bytes: Uint8Array | null;
    }
  | { type: "work"; work: Work }
  /** Everything in the lane is due by then, also what was put off for longer. */
  | { type: "lane_due"; lane: string; run_at: number }
  | { type: "delivery"; delivery: Delivery; work: Work }
  | {
      type: "delivery_state";
      id: string;
      state: DeliveryState;
      reason: string | null;
      external_id: string | null;
      attempts: number;
      last_error: string | null;
      retry_at: string | null;
      at: string;
    }
  | { type: "turn_started"; turn: Turn }
  | { type: "turn_ended"; turn_id: string; chat_jid: string; status: TurnStatus; at: string }
  | { type: "entry"; entry: Entry }
  /** Moves the head; the move itself is recorded. */
  | { type: "head"; chat_jid: string; thread_id: string; entry_id: string | null; reason: string; at: string }
  | { type: "label"; chat_jid: string; folded: string; label: string; sender: string }
  | { type: "call_started"; call: CallEnvelope; request: RequestList }
  /** Text and thinking so far, while the answer streams. Cleared by `call_ended`: from then on the rows have the words. */
  | { type: "call_partial"; call_id: string; parts: PartialPart[] }
  | { type: "call_ended"; call: CallEnvelope; leftovers: Leftover[] }
  /** One tool of a batch is done while others still run: a crash must not make it run again. */
  | { type: "tool_done"; call_id: string; index: number; result: Record<string, unknown> }
  /** The results of the batch are rows by now; what `tool_done` kept of it is not needed any more. */
  | { type: "tools_written"; call_id: string }
  /**
   * The requests of these calls are kept no longer; what they used and cost is. Blocks that other requests have stay.
   * Calls that still run, or that are another chat's, are passed over.
   */
  | { type: "receipts_expired"; chat_jid: string; call_ids: string[]; at: string; reason: string }
  /**
   * Nothing of what these senders said, are called or attached is left, and nobody who read it before can write it down
   * after: whoever holds a turn lane of a chat they spoke in loses it. Of each message a tombstone stays.
   */
  | { type: "senders_erased"; erasing: Erasing }
  /** Adds to what an account spent on a day. Amounts may be negative: an estimate settled for less. */
  | { type: "spent"; account: string; day: string; spending: Spending }
  /** Inserts or replaces; its bindings replace the chat's earlier ones. An address bound elsewhere is a conflict. */
  | { type: "chat"; chat: Chat; at: string }
  | { type: "chat_removed"; jid: string; at: string }
  /** Somebody spoke at an address that belongs to no chat. Counted; the words are not kept. */
  | { type: "knock"; address: string; channel: string; name: string; at: string }
  /** Inserts or replaces. A sender id that is another person's is a conflict, and so is the id of a removed person. */
  | { type: "person"; person: Person }
  /** With their tokens and login codes. The id is never given again: what was theirs must not become another's. */
  | { type: "person_removed"; id: string }
  | { type: "token"; token: Token }
  | { type: "token_removed"; id: string }
  /** Adds a code that works once; forgets those whose time is over by `now`. */
  | { type: "login_code"; code: LoginCode; now: number }
  /** Uses a code up. One that is not there, or was used up before, is a conflict. */
  | { type: "login_code_used"; sha256: string };

/** A message about to be stored: the store hands out `seq`. */
export type NewMessage = Omit<MessageRow, "seq" | "attachments" | "revision" | "edited_at" | "deleted_at"> & {
  /** Equal within a chat means the same platform message. Null: it can only be told by its id. */
  dedupe_key: string | null;
  /** `Idempotency-Key` of the request, with a hash of its body. A reuse with another body is a conflict. */
  idempotency: { key: string; body_sha256: string } | null;
  /** Waits to be put on the tree by a turn. Rows that a turn writes itself, and host rows, do not. */
  untaken: boolean;
  /** The thread whose turns may take it; "" is the chat's main thread. */
  thread_id: string;
};

export type Erasing = {
  id: string;
  senders: string[];
  /** What they are called elsewhere: who knocked under such a name is forgotten too. */
  names: string[];
  /** The accounts on which what they spent was counted. */
  accounts: string[];
  at: string;
};
/** What a message is, decided when it came in, and what became of it. */
export type Inbound = {
  chat_jid: string;
  message_id: string;
  admission: Admission;
  reason: string;
  outcome: OutcomeWord;
  outcome_reason: string;
  turn_id: string | null;
  /**
   * Milliseconds by our own clock; the message's `timestamp` is whatever its sender says. A store that processes on several
   * machines share puts it right by its own clock, and tells it by the clock of whoever reads it.
   */
  received_at: number;
};

export const WORK_KINDS = ["turn", "delivery"] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

/** A piece of durable work. Work of one lane is done in order, by one holder at a time. */
export type Work = {
  id: string;
  kind: WorkKind;
  /** Any name; the gateway calls them `turn:["<chat>","<thread>"]` and `delivery:<address>#<thread>`. */
  lane: string;
  chat_jid: string;
  /** What it is about: a message id, a delivery id. */
  ref: string;
  /** Milliseconds; not before then. 0: at once, whatever any clock says. */
  run_at: number;
  attempts: number;
};

/**
 * `now` is the asking process's clock. A store that processes on several machines share goes by its own clock instead,
 * for leases and for what is due: machines disagree about the time.
 */
export type ClaimRequest = { kind: WorkKind; holder: string; now: number; leaseMs: number; limit: number };
export type Lease = { lane: string; fence: number };
/** A lane, ours until the lease ends, with the work that is due, in order (of its first 100 pieces). */
export type Claim = Lease & {
  kind: WorkKind;
  chat_jid: string;
  work: Work[];
  /** How often the lane was claimed since it was last settled, this time included: more than one means crashes. */
  tries: number;
};

export type Settlement = {
  lease: Lease;
  /** Ids of work that is finished. */
  done: string[];
  /** Work to be tried again later. */
  later: { id: string; run_at: number; attempts: number }[];
  release: boolean;
  expect?: Expectation[];
  facts: Fact[];
};

/**
 * `work`: kinds that have new work. `events`: the log grew. `settings`: chats, people or tokens changed. `order`: which of
 * the writes it comes from, by the count of `inOrder`.
 */
export type News = { work: WorkKind[]; events: boolean; settings: boolean; order?: number };

export type TurnStatus = "running" | "ended" | "failed" | "stopped" | "superseded";
export type Turn = {
  id: string;
  chat_jid: string;
  thread_id: string;
  trigger_id: string;
  started_at: string;
  status: TurnStatus;
  ended_at: string | null;
  /** Turns in a row, directly before this one, that were cut short for the next. */
  interruptions: number;
};

export const ENTRY_KINDS = [
  "message",
  "edit",
  "compaction",
  "branch_summary",
  "custom",
  "model_change",
] as const;
/** A node of a chat's tree. Append-only. */
export type Entry = {
  id: string;
  chat_jid: string;
  thread_id: string;
  parent: string | null;
  kind: (typeof ENTRY_KINDS)[number];
  message_id: string | null;
  turn_id: string | null;
  at: string;
  /** What was frozen at first use (label, time line, attachment states), or the summary and its bounds. */
  data: Record<string, unknown>;
};
/** An entry with the row it stands for, if it stands for one. */
export type PathEntry = Entry & { message: MessageRow | null };

/** The blocks of a request: those of an earlier receipt up to `count`, then these. */
export type RequestList = {
  base: { call_id: string; count: number } | null;
  blocks: RequestBlock[];
  left_out: LeftOut[];
  breaks: Break[];
};
/** `bytes` is null when the block is known to be stored already. */
export type RequestBlock = {
  id: string;
  kind: BlockKind;
  size: number;
  sources: Source[];
  bytes: Uint8Array | null;
};

export type PartialPart = { part: number; type: "text" | "thinking"; content: string };
/** What one part of an answer carried that only its API understands, and what no row keeps. */
export type Leftover = { part: number; data: Record<string, unknown> };

/** What calls cost: tokens by class, and money where the price is known (`unpriced` counts the calls where it is not). */
export type Spending = {
  calls: number;
  unpriced: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  usd: number;
};

export type Token = {
  id: string;
  name: string;
  sha256: string;
  scopes: string[];
  created_at: string;
  /** Whoever bears it speaks as this person. */
  person_id: string | null;
};
/** A code that opens the page once. Not a token: nothing can be asked for with it but a token. */
export type LoginCode = {
  sha256: string;
  /** Whose page it opens; null: the operator's. */
  person_id: string | null;
  /** Milliseconds; not after then. */
  expires_at: number;
};
export type KnownAddress = {
  address: string;
  channel: string;
  name: string;
  first_seen: string;
  last_seen: string;
  count: number;
};
export type Revision = { revision: number; content: string | null; at: string };

/** Lists are ascending by `seq` or time. `limit` is the reader's to bound. */
export type StoreReads = {
  chat(jid: string): Promise<Chat | null>;
  chats(): Promise<Chat[]>;
  chatOfAddress(address: string): Promise<Chat | null>;
  addresses(): Promise<KnownAddress[]>;

  people(): Promise<Person[]>;
  /** The person behind a sender id. */
  personOf(sender: string): Promise<Person | null>;

  message(chat_jid: string, id: string): Promise<MessageRow | null>;
  messages(query: MessageQuery): Promise<MessageRow[]>;
  /** Rows that a turn wrote, by `seq`. */
  messagesOfTurn(chat_jid: string, turn_id: string): Promise<MessageRow[]>;
  /** Messages that hold these words, in any script, newest last. */
  search(chat_jid: string, words: string, limit: number): Promise<MessageRow[]>;
  revisions(chat_jid: string, message_id: string): Promise<Revision[]>;
  attachmentBytes(sha256: string): Promise<Uint8Array | null>;
  erasure(id: string): Promise<Erasure | null>;

  inbound(chat_jid: string, message_id: string): Promise<Inbound | null>;
  inbounds(query: {
    chat_jid: string;
    outcome: OutcomeWord | null;
    after_seq: number;
    limit: number;
  }): Promise<Inbound[]>;
  /**
   * When a message of this thread last came in, since a moment, that one of these senders wrote and that was admitted for
   * one of these reasons; null when there is none. Costs what came in since that moment, not the history.
   */
  lastAdmitted(query: {
    chat_jid: string;
    thread_id: string;
    senders: readonly string[];
    since: number;
    reasons: readonly string[];
  }): Promise<number | null>;

  /** Messages of a thread that wait to be put on the tree, by `seq`. */
  untaken(chat_jid: string, thread_id: string, limit: number): Promise<MessageRow[]>;
  /** People's messages of a thread that were edited after a turn took them, while no entry says so yet, by `seq`. */
  untold(chat_jid: string, thread_id: string, limit: number): Promise<MessageRow[]>;
  head(chat_jid: string, thread_id: string): Promise<string | null>;
  /**
   * From `entry_id` back to the newest compaction's first kept entry (or the root), oldest first:
   * the compaction entry itself, then what it kept. Costs the window, not the history.
   */
  path(chat_jid: string, entry_id: string, limit: number): Promise<PathEntry[]>;
  entries(chat_jid: string, limit: number): Promise<Entry[]>;
  /** Every entry of the chat in the order they were made, after one of them (null: from the first). */
  tree(query: { chat_jid: string; after: string | null; limit: number }): Promise<PathEntry[]>;
  entry(chat_jid: string, id: string): Promise<Entry | null>;
  /** The newest entry that stands for a message. Costs what was said since. */
  entryOf(chat_jid: string, message_id: string): Promise<Entry | null>;
  labels(chat_jid: string): Promise<{ folded: string; label: string; sender: string }[]>;

  turn(id: string): Promise<Turn | null>;
  /** The turn now running in a thread of the chat, if any; after a crash, the one that was. */
  runningTurn(chat_jid: string, thread_id: string): Promise<Turn | null>;
  /** Turns now running in the chat, in all its threads; with null, in every chat. */
  runningTurns(chat_jid: string | null): Promise<Turn[]>;
  call(id: string): Promise<CallEnvelope | null>;
  calls(query: {
    chat_jid: string;
    turn_id: string | null;
    after: string | null;
    limit: number;
  }): Promise<CallEnvelope[]>;
  /** The id of the newest call made for a turn of this thread: the request the next one extends. */
  lastCall(chat_jid: string, thread_id: string): Promise<string | null>;
  /** The newest call of a turn. */
  lastCallOfTurn(turn_id: string): Promise<CallEnvelope | null>;
  /** Envelopes by id, with what each part's API left over. */
  callParts(ids: string[]): Promise<{ call: CallEnvelope; leftovers: Leftover[] }[]>;
  partial(call_id: string): Promise<PartialPart[]>;
  /** Tools of a call's batch that are done, while their results are not rows yet. */
  toolsDone(call_id: string): Promise<{ index: number; result: Record<string, unknown> }[]>;
  /** What accounts spent, by account and day: one account, or all whose name begins so. Days are inclusive. */
  spent(query: {
    accounts: { is: string } | { under: string };
    from: string;
    to: string;
  }): Promise<{ account: string; day: string; spending: Spending }[]>;
  /** The blocks of a request in order, with their bytes. Null when it is kept no longer, or never was. */
  request(call_id: string): Promise<StoredRequest | null>;
  /** Calls whose request is kept, and that have ended, started before a moment (ISO-8601): the oldest first. */
  keptReceipts(query: { before: string; limit: number }): Promise<{ id: string; chat_jid: string }[]>;
  /** How many requests are kept, and in how many bytes of blocks: those of a page, which goes on after `next`. */
  receiptTotals(after: string | null): Promise<{ calls: number; bytes: number; next: string | null }>;

  work(kind: WorkKind, lane: string, limit: number): Promise<Work[]>;
  delivery(id: string): Promise<Delivery | null>;
  deliveries(query: {
    chat_jid: string | null;
    message_id: string | null;
    state: DeliveryState | null;
    after: string | null;
    limit: number;
  }): Promise<Delivery[]>;
  /** The message we delivered to this address under this id of the platform's: how an echo is recognised. */
  delivered(address: string, external_id: string): Promise<Delivery | null>;

  /** The log after a cursor (null: from the start), for one chat or all. Never shows an event before an earlier one. */
  events(query: { after: string | null; chat_jid: string | null; limit: number }): Promise<LoggedEvent[]>;
  /** The cursor of the newest event, or null when there is none. */
  lastEvent(): Promise<string | null>;

  token(sha256: string): Promise<Token | null>;
  tokens(): Promise<Token[]>;
  loginCode(sha256: string): Promise<LoginCode | null>;
  /** The secret with which this chat's block ids are made. */
  blockKey(chat_jid: string): Promise<Uint8Array | null>;
};

export type MessageQuery = {
  chat_jid: string;
  after_seq: number | null;
  before_seq: number | null;
  /** Ascending from `after_seq`; with only `before_seq`, the ones just before it (still ascending). */
  limit: number;
  message_type: MessageRow["message_type"] | null;
  sender: string | null;
  /** ISO-8601; messages stamped later. For people: order is `seq`. */
  since?: string | null;
};

export type StoredRequest = {
  blocks: { id: string; kind: BlockKind; size: number; sources: Source[]; bytes: Uint8Array | null }[];
  left_out: LeftOut[];
  breaks: Break[];
};
