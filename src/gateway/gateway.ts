import {
  type Container,
  clock as clockTool,
  type Fetch,
  modelOfContainer,
  startDeadline,
  type Tool,
} from "../agent/index.js";
import type { Channel, Gate } from "../channel/channel.js";
import {
  audienceOf,
  type Call,
  type CallEnvelope,
  errorsOf,
  type FieldError,
  type MessageRow,
  type Outcome,
  type Person,
  SubmitBody,
  senderKind,
  type UsageLine,
} from "../message/index.js";
import type { CommitResult, Fact, Store, Work } from "../store/store.js";
import { Arrivals } from "./arrivals.js";
import { HostMessageBroadcaster, UserMessageHandler } from "./broadcast.js";
import { type DiffResult, diffCalls } from "./callDiff.js";
import { CallSlots } from "./callSlots.js";
import { type ChatResult, changeChat, registerChat, removeChat } from "./chats.js";
import { type Clock, systemClock } from "./clock.js";
import { postCustom } from "./customEntry.js";
import { moveDelivery } from "./desk.js";
import { revise } from "./edits.js";
import { type ErasureResult, eraseSender } from "./erasure.js";
import { EventHub } from "./events.js";
import {
  agentLimits,
  chatLookup,
  type FoundModel,
  type GatewayLimits,
  type Hall,
  type Log,
  type Shell,
} from "./hall.js";
import {
  type IngestOptions,
  type IngestResult,
  injectMessage,
  storePassiveMessage,
  submitChat,
  unstoredMessage,
} from "./ingest.js";
import { Live } from "./live.js";
import { type MediaOptions, mediaWork } from "./mediaWork.js";
import { type NoticeOptions, noticeGatherer } from "./notices.js";
import { Outbox } from "./outbox.js";
import { outcomeOf, traced } from "./outcomes.js";
import {
  addPerson,
  changePerson,
  type PersonResult,
  personById,
  removePerson,
  withPeople,
} from "./people.js";
import { type PreviewResult, previewContext } from "./preview.js";
import { receive } from "./reception.js";
import { callOf, keptReceipt, requestBytes } from "./receipts.js";
import { type ReplayResult, replayCall } from "./replay.js";
import { type ReceiptRetention, Retention } from "./retention.js";
import { newRow } from "./rows.js";
import {
  compactChat,
  type ForkAsk,
  forkChat,
  labelEntry,
  type Moved,
  moveHead,
  readTree,
  type Summary,
  type Tree,
  type TreeQuery,
} from "./tree.js";
import { turnLane } from "./turnLane.js";
import { Turns } from "./turns.js";
import { type UsageQuery, usageOf } from "./usage.js";
import { endTurnRef } from "./waiting.js";

export type GatewayOptions = MediaOptions &
  NoticeOptions & {
    store: Store;
    /** A model by its name, such as `demo/demo`. */
    resolveModel(name: string): FoundModel | Promise<FoundModel>;
    /** In place of the network, for models behind HTTP. */
    fetch?: Fetch;
    /** A number from 0 to 1, by chance; a test may give its own. */
    chance?: () => number;
    defaultModel: string;
    channels?: readonly Channel[];
    tools?: readonly Tool[];
    /** Agents outside this process; a chat whose model is `container/<name>` is answered by that one. */
    containers?: readonly Container[];
    assistantName?: string;
    aliases?: readonly string[];
    clock?: Clock;
    log?: Log;
    limits?: Partial<GatewayLimits>;
    /** What the whole server may spend on a day (UTC), in US dollars and in tokens. */
    budget?: Partial<Hall["budget"]>;
    /** How long the requests of calls are kept, and how much of them; all of them, for ever, unless told. */
    receipts?: Partial<ReceiptRetention>;
    /** Runs `!commands` of senders a chat names in `shell_allow`. Without it there are none. */
    shell?: Shell;
    /**
     * The name under which this process holds its leases. Give one that stays the same over restarts only if no two
     * processes ever bear it at once: what the bearer held before it started is then taken up again at once.
     */
    holder?: string;
  };

export const DEFAULT_LIMITS: GatewayLimits = {
  leaseMs: 15_000,
  turns: 512,
  calls: 32,
  deliveries: 32,
  steps: 32,
  attempts: 4,
  turnMs: 15 * 60_000,
  toolMs: 2 * 60_000,
  turnUsd: null,
  window: 100_000,
  crashWaitMs: 1000,
  saveEveryMs: 400,
};

/** The chat everybody has from the start, for the page and the terminal. */
const HOME = {
  jid: "home",
  name: "Home",
  trigger: "always",
  bindings: [
    { channel: "web", address: "web:home" },
    { channel: "terminal", address: "terminal:home" },
  ],
} as const;

const CONTAINER = "container/";

/** Models by name; containers among them. */
function modelFinder({ resolveModel, containers = [] }: GatewayOptions, limits: GatewayLimits) {
  return async (name: string): Promise<FoundModel> => {
    if (!name.startsWith(CONTAINER)) return resolveModel(name);
    const container = containers.find((known) => CONTAINER + known.name === name);
    if (container) return { ok: true, model: modelOfContainer(container, agentLimits(limits)) };
    const names = containers.map((known) => CONTAINER + known.name).join(", ") || "none";
    return { ok: false, why: `there is no container "${name}" here; there is: ${names}` };
  };
}

const noShell: Shell = async () => ({ ok: false, why: "this server runs no shell commands" });

/**
 * The hallway: what comes in is stored, what should be answered is answered, what was said goes out.
 *
 * ```ts
 * const gateway = createGateway({ store, resolveModel, defaultModel: "demo/demo" });
 * await gateway.start();
 * await gateway.submitChat("home", { content: "hello", msg_metadata });
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  return new Gateway(options);
}

export class Gateway {
  readonly events: EventHub;
  private readonly hall: Hall;
  private readonly turns: Turns;
  private readonly outbox: Outbox;
  private readonly retention: Retention;
  private forgetting: () => void = () => {};
  private readonly closing = new AbortController();
  private readonly replaying = new Set<Promise<unknown>>();

  constructor(options: GatewayOptions) {
    if (typeof options.resolveModel !== "function")
      throw new TypeError("createGateway: resolveModel must be a function that finds a model by its name");
    const clock = options.clock ?? systemClock;
    const log: Log = options.log ?? (() => {});
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.hall = {
      store: options.store,
      clock,
      channels: new Map((options.channels ?? []).map((channel) => [channel.name, channel])),
      chats: chatLookup(options.store),
      live: new Live(),
      hostMessages: new HostMessageBroadcaster(clock),
      userMessages: new UserMessageHandler(clock),
      resolveModel: modelFinder(options, limits),
      fetch: options.fetch,
      chance: options.chance ?? Math.random,
      defaultModel: options.defaultModel,
      assistantName: options.assistantName ?? "Longhand",
      aliases: options.aliases ?? [],
      tools: options.tools ?? [clockTool],
      containers: new Map((options.containers ?? []).map((container) => [container.name, container])),
      notices: noticeGatherer(options, { clock, log }),
      media: mediaWork(() => this.hall, options),
      log,
      holder: options.holder ?? clock.newId(),
      budget: { usd: null, tokens: null, ...options.budget },
      slots: new CallSlots(limits.calls),
      arrivals: new Arrivals(),
      shell: options.shell ?? noShell,
      limits,
    };
    this.events = new EventHub(this.hall);
    this.turns = new Turns(this.hall);
    this.outbox = new Outbox(this.hall);
    this.retention = new Retention(this.hall, { days: null, bytes: null, ...options.receipts });
  }

  /** Begin: the first chat is there, unfinished work is taken up, channels receive. */
  async start(): Promise<void> {
    if (!(await this.hall.store.read.chat(HOME.jid))) await registerChat(this.hall, HOME);
    await this.hall.store.release(this.hall.holder, this.hall.clock.steady());
    this.forgetting = this.hall.store.subscribe(({ settings }) => settings && this.hall.chats.forget());
    this.turns.start();
    this.outbox.start();
    this.retention.start();
    const gate: Gate = { receive: (message) => receive(this.hall, message) };
    await Promise.all([...this.hall.channels.values()].map((channel) => channel.start(gate)));
  }

  /** Stop receiving, let running turns finish for a while, leave the rest for the next start. */
  async stop(graceMs = 5000): Promise<void> {
    await Promise.all([...this.hall.channels.values()].map((channel) => channel.stop()));
    this.closing.abort();
    await Promise.all([
      this.turns.stop(graceMs),
      this.outbox.stop(graceMs),
      this.retention.stop(),
      Promise.allSettled(this.replaying),
    ]);
    await this.giveBack();
    this.forgetting();
    this.events.close();
  }

  /** Whoever starts next need not wait for our leases to run out. */
  private async giveBack(): Promise<void> {
    const { store, holder, clock, log } = this.hall;
    await store
      .release(holder, clock.steady())
      .catch((error) => log("warn", "leases.kept", { why: String(error) }));
  }

  get read(): Store["read"] {
    return this.hall.store.read;
  }

  channel(name: string): Channel | null {
    return this.hall.channels.get(name) ?? null;
  }

  /** Someone spoke in the chat. Resolves once it is durable. */
  submitChat(jid: string, body: unknown, options?: IngestOptions): Promise<IngestResult> {
    return submitChat(this.hall, jid, body, options);
  }

  /** A program adds a message; runs only if asked to. */
  injectMessage(jid: string, body: unknown, options?: IngestOptions): Promise<IngestResult> {
    return injectMessage(this.hall, jid, body, options);
  }

  /** Overheard; kept, never answered. */
  storePassiveMessage(jid: string, body: unknown, options?: IngestOptions): Promise<IngestResult> {
    return storePassiveMessage(this.hall, jid, body, options);
  }

  /** Store one row as it is, such as the output of a command. Rows a model may see wait for the next turn. */
  async storeMessageDirect(row: Omit<Parameters<typeof newRow>[0], "untaken">): Promise<CommitResult> {
    const visible = audienceOf(row).toModel !== "never" && senderKind(row) !== "tool_result";
    return this.hall.store.commit({
      facts: [{ type: "message", message: newRow({ ...row, untaken: visible }) }],
    });
  }

  /** Messages after a `seq`, or stamped after a time. */
  async getMessagesSince(chatJid: string, since: number | string, limit = 500): Promise<MessageRow[]> {
    const bySeq = typeof since === "number";
    return this.read.messages({
      chat_jid: chatJid,
      after_seq: bySeq ? since : null,
      before_seq: null,
      limit,
      message_type: null,
      sender: null,
      since: bySeq ? null : since,
    });
  }

  registerChat(body: unknown): Promise<ChatResult> {
    return registerChat(this.hall, body);
  }

  changeChat(jid: string, body: unknown): Promise<ChatResult> {
    return changeChat(this.hall, jid, body);
  }

  removeChat(jid: string): Promise<boolean> {
    return removeChat(this.hall, jid);
  }

  person(id: string): Promise<Person | null> {
    return personById(this.hall, id);
  }

  /** Add a person: one human behind several sender ids. */
  addPerson(body: unknown): Promise<PersonResult> {
    return addPerson(this.hall, body);
  }

  changePerson(id: string, body: unknown): Promise<PersonResult> {
    return changePerson(this.hall, id, body);
  }

  removePerson(id: string): Promise<boolean> {
    return removePerson(this.hall, id);
  }

  /** Erase a person: a sender id, with all others of the same person, or `person:<id>`. Nothing brings it back. */
  eraseSender(whom: string): Promise<ErasureResult> {
    return eraseSender(this.hall, whom);
  }

  /** A host message: for people, never for a model. Null when there is no such chat. */
  async postHost(jid: string, content: string): Promise<MessageRow | null> {
    const chat = await this.hall.chats.byJid(jid);
    if (!chat) return null;
    const facts = this.hall.hostMessages.facts(chat, content);
    await this.hall.store.commit({ facts });
    return this.firstRow(facts);
  }

  /** A custom entry: an extension's own note on the tree, never for a model. */
  postCustom(jid: string, customType: string, content: string): Promise<string | null> {
    return postCustom(this.hall, jid, customType, content);
  }

  /** Revise a message's text (null: delete it). The original stays readable to the operator. */
  revise(jid: string, messageId: string, content: string | null): Promise<MessageRow | null> {
    return revise(this.hall, jid, messageId, content);
  }

  /** What the next call would send; with a body, as if that had just been said. */
  async context(
    jid: string,
    body: unknown,
  ): Promise<PreviewResult | { ok: false; errors: FieldError[] } | null> {
    const known = await this.hall.chats.byJid(jid);
    if (!known) return null;
    const chat = await withPeople(this.hall, known);
    if (body === undefined) return previewContext(this.hall, chat, null);
    const parsed = SubmitBody.safeParse(body);
    if (!parsed.success) return { ok: false, errors: errorsOf(parsed.error, "", body) };
    return previewContext(this.hall, chat, unstoredMessage(this.hall, chat, parsed.data));
  }

  /** The entries of a chat in the order they were made, and where a thread stands ("" is the main one). */
  tree(query: TreeQuery): Promise<Tree> {
    return readTree(this.hall, query);
  }

  /** Go on from any message or entry; with a summary, of the branch that is left. */
  fork(jid: string, ask: ForkAsk, patienceMs?: number): Promise<Moved> {
    return forkChat(this.hall, jid, ask, patienceMs);
  }

  /** Move a thread's head to any entry; null starts a fresh branch. Undoes a fork or a compaction too. */
  moveHead(jid: string, to: Parameters<typeof moveHead>[2]): Promise<Moved> {
    return moveHead(this.hall, jid, to);
  }

  /** Summarise what is old in a thread; waits for its running turn to end. */
  compact(jid: string, threadId = "", patienceMs?: number): Promise<Summary> {
    return compactChat(this.hall, jid, threadId, patienceMs);
  }

  /** Name an entry, so that it is found again. */
  labelEntry(jid: string, named: Parameters<typeof labelEntry>[2]): Promise<Moved> {
    return labelEntry(this.hall, jid, named);
  }

  outcome(jid: string, messageId: string): Promise<Outcome | null> {
    return outcomeOf(this.hall, jid, messageId);
  }

  async outcomes(query: Parameters<Store["read"]["inbounds"]>[0]): Promise<Outcome[]> {
    const inbounds = await this.read.inbounds(query);
    return Promise.all(inbounds.map((inbound) => traced(this.hall, inbound)));
  }

  /** Tokens and money, by chat, person, model or day. */
  usage(query: UsageQuery): Promise<UsageLine[]> {
    return usageOf(this.read, query);
  }

  /** The receipt of a call. */
  async call(id: string): Promise<Call | null> {
    const envelope = await this.read.call(id);
    return envelope && this.receipt(envelope);
  }

  async receipt(envelope: CallEnvelope): Promise<Call> {
    return callOf(envelope, await this.read.request(envelope.id));
  }

  /** The exact bytes of a call's request. `erased` or `expired` when they are gone for good. */
  async request(id: string): Promise<Uint8Array | "erased" | "expired" | null> {
    const kept = await keptReceipt(this.hall, id);
    if (!kept.ok) return kept.kind === "gone" ? "expired" : null;
    return kept.call.redacted ? "erased" : (requestBytes(kept.request) ?? "erased");
  }

  /** Lets go of what the operator does not want kept any longer, now. It happens by itself, too. */
  sweep(): Promise<void> {
    return this.retention.sweep();
  }

  /** Two calls, block by block: where they part, what changed, why, and what that cost in cache. */
  diff(a: string, b: string): Promise<DiffResult> {
    return diffCalls(this.hall, a, b);
  }

  /**
   * A call's context once more, for the same or another model: both answers side by side. Nothing is added to the chat,
   * and tools the model asks for are not run.
   */
  async replay(id: string, model: string | null = null): Promise<ReplayResult> {
    const { clock, limits } = this.hall;
    const deadline = startDeadline(clock, limits.turnMs, this.closing.signal);
    const replaying = replayCall(this.hall, id, model, deadline.signal).finally(() => deadline.end());
    this.replaying.add(replaying);
    return replaying.finally(() => this.replaying.delete(replaying));
  }

  /** A model, or a container, by the name a chat would give. */
  findModel(name: string): Promise<FoundModel> {
    return this.hall.resolveModel(name);
  }

  /** Cancel the running turns of a chat, wherever they run; what was said so far stays. False when none runs. */
  async stopTurn(jid: string): Promise<boolean> {
    const { store, clock, arrivals } = this.hall;
    const turns = await store.read.runningTurns(jid);
    const asked = turns.map((turn): Work => {
      const lane = turnLane(jid, turn.thread_id);
      const ref = endTurnRef(turn.id);
      return { id: clock.newId(), kind: "turn", lane, chat_jid: jid, ref, run_at: 0, attempts: 0 };
    });
    if (asked.length > 0) await store.commit({ facts: asked.map((work): Fact => ({ type: "work", work })) });
    for (const work of asked) arrivals.tell(work);
    return asked.length > 0;
  }

  /** Send a delivery that has not arrived again, or give it up. */
  async moveDelivery(id: string, to: "retry" | "drop"): Promise<"ok" | "unknown" | "conflict"> {
    const moved = await moveDelivery(this.hall, id, to);
    if (moved === "ok") this.outbox.wake();
    return moved;
  }

  private async firstRow(facts: Fact[]): Promise<MessageRow | null> {
    const first = facts.find((fact) => fact.type === "message");
    return first ? this.read.message(first.message.chat_jid, first.message.id) : null;
  }
}
