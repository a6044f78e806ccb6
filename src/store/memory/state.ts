import type {
  AttachmentRow,
  CallEnvelope,
  Chat,
  Delivery,
  Erasure,
  MessageRow,
  Person,
} from "../../message/index.js";
import type { NewEvent } from "../events.js";
import type {
  Entry,
  Inbound,
  KnownAddress,
  Leftover,
  LoginCode,
  PartialPart,
  RequestList,
  Revision,
  Spending,
  Token,
  Turn,
  Work,
  WorkKind,
} from "../store.js";

/** A message as kept; what was attached to it is beside it. */
export type Kept = Omit<MessageRow, "attachments"> & { thread_id: string; untaken: boolean; untold: boolean };

/** Everything of one chat, registered or not. */
export type Room = {
  chat: Chat | null;
  /** The how manyth chat it is. */
  number: number | null;
  blockKey: Uint8Array | null;
  /** By `seq`, from 1. */
  messages: Kept[];
  seqById: Map<string, number>;
  idByKey: Map<string, string>;
  idempotency: Map<string, { body_sha256: string; message_id: string }>;
  inbounds: Map<string, Inbound>;
  revisions: Map<string, readonly Revision[]>;
  attachments: Map<string, ReadonlyMap<number, AttachmentRow>>;
  entries: Map<string, Entry>;
  heads: Map<string, string | null>;
  labels: Map<string, { folded: string; label: string; sender: string }>;
  blocks: Map<string, Uint8Array>;
  /** How many of its messages were erased, and by what those are known should they come in again. */
  erased: number;
  erasedKeys: Map<string, string>;
};

export type Lane = {
  lane: string;
  kind: WorkKind;
  chat_jid: string;
  free_at: number | null;
  holder: string | null;
  fence: number;
  /** How often it was claimed since it was last settled. */
  tries: number;
  /** Grows each time it comes to wait: of lanes due since the same time, the one that waits longer goes first. */
  since: number;
};

export type CallRecord = {
  call: CallEnvelope;
  /** The turn it was started for; what its last envelope says does not move it. */
  turn_id: string | null;
  thread_id: string | null;
  base: string | null;
  base_count: number;
  block_count: number;
  depth: number;
  request: Omit<RequestList, "base">;
  leftovers: Leftover[];
  partial: ReadonlyMap<number, PartialPart>;
  toolsDone: ReadonlyMap<number, Record<string, unknown>>;
};

export type State = {
  rooms: Map<string, Room>;
  /** In the order in which they first were. */
  registered: string[];
  chatOfAddress: Map<string, string>;
  knocks: Map<string, KnownAddress>;
  bytes: Map<string, Uint8Array>;
  laneOfWork: Map<string, string>;
  workOfLane: Map<string, Map<string, Work>>;
  lanes: Map<string, Lane>;
  /** How often a lane came to wait. */
  waits: number;
  deliveries: Map<string, Delivery>;
  turns: Map<string, Turn>;
  calls: Map<string, CallRecord>;
  events: NewEvent[];
  people: Map<string, Person>;
  /** Ids of people who were removed; nobody gets them again. */
  formerPeople: Map<string, true>;
  tokens: Map<string, Token>;
  loginCodes: Map<string, LoginCode>;
  /** By account, then day. */
  spent: Map<string, ReadonlyMap<string, Spending>>;
  erasures: Map<string, Erasure>;
};

export function emptyState(): State {
  return {
    rooms: new Map(),
    registered: [],
    chatOfAddress: new Map(),
    knocks: new Map(),
    bytes: new Map(),
    laneOfWork: new Map(),
    workOfLane: new Map(),
    lanes: new Map(),
    waits: 0,
    deliveries: new Map(),
    turns: new Map(),
    calls: new Map(),
    events: [],
    people: new Map(),
    formerPeople: new Map(),
    tokens: new Map(),
    loginCodes: new Map(),
    spent: new Map(),
    erasures: new Map(),
  };
}

export function emptyRoom(): Room {
  return {
    chat: null,
    number: null,
    blockKey: null,
    messages: [],
    seqById: new Map(),
    idByKey: new Map(),
    idempotency: new Map(),
    inbounds: new Map(),
    revisions: new Map(),
    attachments: new Map(),
    entries: new Map(),
    heads: new Map(),
    labels: new Map(),
    blocks: new Map(),
    erased: 0,
    erasedKeys: new Map(),
  };
}

/**
 * Changes that can be taken back, because a batch is written whole or not at all.
 * What is kept is never changed in place, so putting the earlier value back is enough.
 */
export type Journal = {
  set<K, V>(map: Map<K, V>, key: K, value: V): void;
  remove<K, V>(map: Map<K, V>, key: K): void;
  push<V>(list: V[], value: V): void;
  put<V>(list: V[], index: number, value: V): void;
  undo(): void;
};

export function journal(): Journal {
  const undos: (() => void)[] = [];
  const keepEarlier = <K, V>(map: Map<K, V>, key: K): void => {
    const earlier = map.get(key);
    undos.push(earlier === undefined ? () => map.delete(key) : () => map.set(key, earlier));
  };
  return {
    set(map, key, value) {
      keepEarlier(map, key);
      map.set(key, value);
    },
    remove(map, key) {
      keepEarlier(map, key);
      map.delete(key);
    },
    push(list, value) {
      undos.push(() => list.pop());
      list.push(value);
    },
    put(list, index, value) {
      const earlier = list[index];
      if (earlier !== undefined) undos.push(() => list.splice(index, 1, earlier));
      list[index] = value;
    },
    undo() {
      for (const takeBack of undos.reverse()) takeBack();
    },
  };
}

/** A value as it comes back from JSON, which is how every durable store keeps it. */
export function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
