import type { Call, CallDiff, Chat, Delivery, MessageRow, Outcome, Replay } from "../../message/index.js";
import type { Client, KnownAddress, Model, Submission } from "../client/index.js";
import { ApiProblem } from "../client/index.js";
import type { Seen } from "./inspector/seen.js";
import type { Live } from "./live.js";
import type { Transcript } from "./transcript.js";
import type { Tree } from "./tree/tree.js";

/** A message on its way from this page to the server. */
export type Outgoing = {
  /** Also its `external_message_id`: sent twice, it is stored once. */
  key: string;
  jid: string;
  submission: Submission;
  at: string;
  /** Null while it is being sent. */
  trouble: { why: string; willRetry: boolean } | null;
};

/** What the right-hand page shows. */
export type Inspection = {
  /** Which message was asked about; null when the question is "what would it see now?". */
  about: MessageRow | null;
  /** Whether the words in the composer are part of what it would see. */
  withDraft: boolean;
  outcome: Outcome | null;
} & (
  | { status: "loading" }
  | { status: "failed"; why: string }
  | { status: "ready"; seen: Seen[]; shown: number }
);

/** Something that was asked of the server, for one thing: the answer is shown only beside that. */
export type Asked<Key, Answer> = { about: Key } & (
  | { status: "loading" }
  | { status: "failed"; why: string }
  | { status: "ready"; answer: Answer }
);

/** What lies over the notebook. */
export type Sheet = "help" | "settings" | "branches" | "people" | { fork: MessageRow };

export type State = {
  /** The event stream: `refused` when the token is no longer good. */
  link: "connecting" | "open" | "lost" | "refused";
  chats: Chat[] | null;
  models: Model[];
  addresses: KnownAddress[];
  dead: Delivery[];
  unread: Record<string, number>;

  /** Which of the three pages a small screen shows. */
  view: "chats" | "conversation" | "inspector";
  open: string | null;
  /** What is open in the middle instead of a chat. */
  leaf: "desk" | "usage" | null;
  transcript: Transcript | null;
  /** While the first rows of the open chat are being read: `missed` when something was said meanwhile. */
  opening: { jid: string; missed: boolean } | null;
  trouble: string | null;
  /** The open chat's tree, as far as it was read. */
  tree: Tree | null;
  /** What came of the last thing that was asked of the tree. */
  remark: { text: string; failed: boolean } | null;
  live: Record<string, Live>;
  outcomes: Record<string, Outcome>;
  deliveries: Record<string, Delivery[]>;
  calls: Record<string, Call>;
  outgoing: Outgoing[];
  /** How often words went back from the page into the composer. */
  redrafts: number;

  selected: string | null;
  /** A message to be brought into view; a new object each time it is asked. */
  goal: { id: string } | { end: true } | null;
  /** The messages lit up because the pointer is on them, or on a block made of them. */
  lit: readonly string[];
  search: { words: string; found: MessageRow[] | null; trouble: string | null } | null;
  inspection: Inspection | null;
  /** A request kept aside, to which others are compared. */
  pinned: Seen | null;
  /** What changed between two calls, by the later one's id. */
  diff: Asked<string, CallDiff | null> | null;
  /** The same context given to a model again, by the call's id. */
  replay: Asked<string, Replay> | null;
  sheet: Sheet | null;
};

export const BLANK: State = {
  link: "connecting",
  chats: null,
  models: [],
  addresses: [],
  dead: [],
  unread: {},
  view: "conversation",
  open: null,
  leaf: null,
  transcript: null,
  opening: null,
  trouble: null,
  tree: null,
  remark: null,
  live: {},
  outcomes: {},
  deliveries: {},
  calls: {},
  outgoing: [],
  redrafts: 0,
  selected: null,
  goal: null,
  lit: [],
  search: null,
  inspection: null,
  pinned: null,
  diff: null,
  replay: null,
  sheet: null,
};

/** The one place where the page's state is read and changed. */
export type Page = {
  client: Client;
  state(): State;
  set(change: Partial<State>): void;
};

/** The model of chats that name none of their own. */
export function serverModel({ models }: Pick<State, "models">): string | null {
  return models.find((known) => known.default)?.name ?? null;
}

/** A sentence for people about what went wrong; a refused token closes the notebook. */
export function explain(page: Page, error: unknown): string {
  if (error instanceof ApiProblem) {
    if (error.status === 401) page.set({ link: "refused" });
    const fields = error.errors.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
    return [error.message, fields].filter(Boolean).join(" ");
  }
  if (error instanceof TypeError) return "The server cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}
