import type {
  Call,
  CallDiff,
  CallEnvelope,
  Chat,
  ChatPatch,
  Delivery,
  DeliveryState,
  Erasure,
  IngestAnswer,
  InjectBody,
  MessageRow,
  MessageType,
  NewChat,
  Outcome,
  OutcomeWord,
  Person,
  PersonPatch,
  Replay,
  UsageLine,
} from "../../message/index.js";
import type {
  ContextPreview,
  HeadMoved,
  KnownAddress,
  Model,
  Page,
  Revision,
  Submission,
  Token,
  TreeEntry,
} from "./answer.js";
import { type CursoredEvent, type EventsOptions, readEvents } from "./events.js";
import { type ClientOptions, createRequester, segment } from "./request.js";

type Paging = { limit?: number; signal?: AbortSignal };

export type MessagesQuery = Paging & {
  after_seq?: number;
  before_seq?: number;
  type?: MessageType;
  sender?: string;
  /** Words to search for. */
  q?: string;
};

/** A client of the HTTP API, for pages, terminals and programs. */
export type Client = ReturnType<typeof createClient>;

/**
 * Everything the server can be asked, typed.
 *
 *     const client = createClient({ baseUrl: "http://127.0.0.1:7483", token });
 *     const { chats } = await client.chats();
 */
export function createClient(options: ClientOptions = {}) {
  const request = createRequester(options);
  const { json, nothing } = request;
  const inChat = (jid: string, rest = "") => `/v1/chats/${segment(jid)}${rest}`;
  const aPerson = (id: string, rest = "") => `/v1/people/${segment(id)}${rest}`;
  const aMessage = (jid: string, id: string, rest = "") => inChat(jid, `/messages/${segment(id)}${rest}`);

  return {
    /** Changes the code of a one-time link into a token; of a personal link, it says whose it is. */
    login: (code: string) =>
      json<{ token: string; person: { id: string; name: string } | null }>("POST", "/v1/login", {
        body: { code },
      }),

    /** The code of a new one-time link to the page. */
    link: () => json<{ code: string }>("POST", "/v1/links"),

    chats: (ask: Paging & { after?: string } = {}) =>
      json<Page<"chats", Chat>>("GET", "/v1/chats", split(ask)),
    chat: (jid: string) => json<Chat>("GET", inChat(jid)),
    registerChat: (chat: NewChat) => json<Chat>("POST", "/v1/chats", { body: chat }),
    changeChat: (jid: string, patch: ChatPatch) => json<Chat>("PATCH", inChat(jid), { body: patch }),
    removeChat: (jid: string) => nothing("DELETE", inChat(jid)),
    addresses: (ask: Paging & { state?: "unregistered"; after?: string } = {}) =>
      json<Page<"addresses", KnownAddress>>("GET", "/v1/addresses", split(ask)),

    people: () => json<Page<"people", Person>>("GET", "/v1/people"),
    person: (id: string) => json<Person>("GET", aPerson(id)),
    addPerson: (person: { id?: string; name: string; senders?: string[] }) =>
      json<Person>("POST", "/v1/people", { body: person }),
    changePerson: (id: string, patch: PersonPatch) => json<Person>("PATCH", aPerson(id), { body: patch }),
    /** Erases a person: a sender id, with all others of the same person, or `person:<id>`. Nothing brings it back. */
    eraseSender: (whom: string) => json<Erasure>("DELETE", `/v1/senders/${segment(whom)}`),
    removePerson: (id: string) => nothing("DELETE", aPerson(id)),
    /** The code of a new one-time link to the page, for this person as themselves. */
    personalLink: (id: string) => json<{ code: string }>("POST", aPerson(id, "/link")),

    submit: (jid: string, body: Submission, key?: string) =>
      json<IngestAnswer>("POST", inChat(jid, "/submit"), { body, ...idempotent(key) }),
    inject: (jid: string, body: InjectBody, key?: string) =>
      json<IngestAnswer>("POST", inChat(jid, "/inject"), { body, ...idempotent(key) }),
    passive: (jid: string, body: Submission, key?: string) =>
      json<IngestAnswer>("POST", inChat(jid, "/passive"), { body, ...idempotent(key) }),
    host: (jid: string, content: string) =>
      json<MessageRow>("POST", inChat(jid, "/host"), { body: { content } }),
    custom: (jid: string, custom_type: string, content: string) =>
      json<{ id: string; custom_type: string }>("POST", inChat(jid, "/custom"), {
        body: { custom_type, content },
      }),

    messages: (jid: string, ask: MessagesQuery = {}) =>
      json<Page<"messages", MessageRow>>("GET", inChat(jid, "/messages"), split(ask)),
    message: (jid: string, id: string) => json<MessageRow>("GET", aMessage(jid, id)),
    revise: (jid: string, id: string, content: string) =>
      json<MessageRow>("PATCH", aMessage(jid, id), { body: { content } }),
    remove: (jid: string, id: string) => nothing("DELETE", aMessage(jid, id)),
    revisions: (jid: string, id: string) =>
      json<Page<"revisions", Revision>>("GET", aMessage(jid, id, "/revisions")),
    outcome: (jid: string, id: string) => json<Outcome>("GET", aMessage(jid, id, "/outcome")),
    outcomes: (jid: string, ask: Paging & { outcome?: OutcomeWord; after_seq?: number } = {}) =>
      json<Page<"outcomes", Outcome>>("GET", inChat(jid, "/outcomes"), split(ask)),

    /** What the next call would send; with a message, as if it had just been said. It is stored nowhere. */
    context: (jid: string, message?: Submission) =>
      message
        ? json<ContextPreview>("POST", inChat(jid, "/context"), { body: message })
        : json<ContextPreview>("GET", inChat(jid, "/context")),
    /** Entries of a chat's tree, from the first or the newest ones, and where a thread ("" unless told) stands. */
    tree: (jid: string, ask: Paging & { after?: string; thread_id?: string; newest?: boolean } = {}) =>
      json<Page<"tree", TreeEntry> & { head: string | null }>("GET", inChat(jid, "/tree"), split(ask)),
    /** Go on from a message or an entry; with a summary of the branch that is left, if wanted. */
    fork: (jid: string, ask: { from: string; summarise?: boolean; thread_id?: string }) =>
      json<HeadMoved>("POST", inChat(jid, "/fork"), { body: ask }),
    /** Move the head to any entry; null starts a fresh branch. */
    moveHead: (jid: string, entry_id: string | null, thread_id?: string) =>
      json<{ head: string | null }>("POST", inChat(jid, "/head"), {
        body: { entry_id, ...(thread_id === undefined ? {} : { thread_id }) },
      }),
    label: (jid: string, entry_id: string, label: string) =>
      json<{ head: string | null }>("POST", inChat(jid, "/label"), { body: { entry_id, label } }),
    /** Summarise what is old. */
    compact: (jid: string, thread_id?: string) =>
      json<{ entry: TreeEntry } | { waiting: string }>("POST", inChat(jid, "/compact"), {
        body: thread_id === undefined ? {} : { thread_id },
      }),
    stop: (jid: string) => nothing("POST", inChat(jid, "/stop")),

    calls: (jid: string, ask: Paging & { turn_id?: string; after?: string } = {}) =>
      json<Page<"calls", CallEnvelope>>("GET", inChat(jid, "/calls"), split(ask)),
    call: (id: string) => json<Call>("GET", `/v1/calls/${segment(id)}`),
    /** The request of a call, byte for byte. */
    requestBytes: async (id: string) =>
      new Uint8Array(await (await request.open("GET", `/v1/calls/${segment(id)}/request`)).arrayBuffer()),

    /** Two calls, block by block. */
    diff: (a: string, b: string) => json<CallDiff>("GET", `/v1/calls/${segment(a)}/diff/${segment(b)}`),

    /** The same context for the same or another model, such as `demo/demo`. */
    replay: (id: string, model?: string) =>
      json<Replay>("POST", `/v1/calls/${segment(id)}/replay`, { body: model === undefined ? {} : { model } }),

    usage: (
      ask: {
        signal?: AbortSignal;
        by?: "chat" | "person" | "model" | "day";
        from?: string;
        to?: string;
      } = {},
    ) => json<Page<"usage", UsageLine>>("GET", "/v1/usage", split(ask)),
    outbox: (ask: Paging & { state?: DeliveryState; after?: string } = {}) =>
      json<Page<"outbox", Delivery>>("GET", "/v1/outbox", split(ask)),
    retryDelivery: (id: string) => nothing("POST", `/v1/outbox/${segment(id)}/retry`),
    dropDelivery: (id: string) => nothing("POST", `/v1/outbox/${segment(id)}/drop`),

    tokens: () => json<Page<"tokens", Token>>("GET", "/v1/tokens"),
    /** The only time the token itself is told. */
    newToken: (token: { name: string; scopes: string[] }) =>
      json<Token & { token: string }>("POST", "/v1/tokens", { body: token }),
    removeToken: (id: string) => nothing("DELETE", `/v1/tokens/${segment(id)}`),
    models: () => json<Page<"models", Model>>("GET", "/v1/models"),

    events: (ask?: EventsOptions): AsyncGenerator<CursoredEvent, void, void> => readEvents(request, ask),
  };
}

function split<Ask extends { signal?: AbortSignal }>({ signal, ...query }: Ask) {
  return { query, signal: signal ?? null };
}

function idempotent(key: string | undefined): { headers?: Record<string, string> } {
  return key === undefined ? {} : { headers: { "idempotency-key": key } };
}
