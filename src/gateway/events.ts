import type { Chat, Delivery, EventType, LoggedEvent, MessageRow, Outcome } from "../message/index.js";
import { StoreUnavailable } from "../store/store.js";
import { Elsewhere } from "./elsewhere.js";
import type { Hall } from "./hall.js";
import { Line } from "./line.js";
import type { LiveDelta, Snapshot } from "./live.js";
import { outcomeOf } from "./outcomes.js";

/** An event as a screen gets it. `cursor` is null for what is not stored and not replayed. */
export type StreamEvent = {
  cursor: string | null;
  type: EventType;
  chat_jid: string;
  data: string;
  /** The turn or the call that is over with this event: what it streamed is not told after it. */
  ends: string | null;
};

type Subscriber = (event: StreamEvent) => void;

/** What an event is about, as it is now; null when it has been erased since. */
type Details = {
  message?: MessageRow | null;
  outcome?: Outcome | null;
  delivery?: Delivery | null;
  chat?: Chat | null;
};

type StreamOptions = {
  after: string | null;
  chatJid: string | null;
  push: Subscriber;
  drained: () => Promise<void>;
  signal: AbortSignal;
};

const PAGE = 200;
const LOOK_ELSEWHERE_MS = 400;
/** How soon the log is read again after the store could not, and after something that should not have happened. */
const AGAIN_MS = 100;
const AFTER_BUG_MS = 1000;

/**
 * The one reader of the log's tail: an event is read and written out once, however many streams are open.
 * A stream that resumes reads its own past first and joins the tail without gap or repetition.
 */
export class EventHub {
  /** With the chat each listens to; null: all of them. */
  private readonly subscribers = new Map<Subscriber, string | null>();
  private tail: string | null = null;
  private reading = false;
  private readAgain = false;
  private readonly undo: (() => void)[] = [];
  private readonly elsewhere: Elsewhere;
  private isLooking = false;

  constructor(private readonly hall: Pick<Hall, "store" | "live" | "clock" | "log">) {
    this.elsewhere = new Elsewhere(hall);
    this.undo.push(hall.clock.every(LOOK_ELSEWHERE_MS, () => this.lookElsewhere()));
    this.undo.push(hall.store.subscribe((news) => news.events && this.wake()));
    this.undo.push(hall.live.listen((delta) => this.emit(deltaEvent(delta, this.hall.clock.now()))));
  }

  close(): void {
    for (const undo of this.undo) undo();
    this.subscribers.clear();
  }

  /** The cursor of now: where a stream starts that asks for nothing earlier. */
  async now(): Promise<string | null> {
    return this.hall.store.read.lastEvent();
  }

  /**
   * Everything after a cursor, then everything to come, until the signal fires. While it catches up, a slow reader is
   * waited for: `drained` resolves when it has taken what was pushed. What happens later does not wait for anybody.
   */
  async stream(options: StreamOptions): Promise<void> {
    const { after, chatJid, push, signal } = options;
    const line = new Line(after, chatJid, push);
    await this.join(line.hear, chatJid);
    try {
      for (;;) {
        line.keep();
        await this.catchUp(line, options);
        if (signal.aborted) return;
        const over = await this.over(chatJid);
        const elsewhere = await this.elsewhere.snapshots(chatJid === null ? null : [chatJid]);
        // From here to the end in one step: a delta is in the snapshot or comes after it, never both.
        const meanwhile = line.goLive();
        if (!meanwhile) continue;
        for (const { ends } of meanwhile) if (ends !== null) over.add(ends);
        for (const snapshot of this.running(chatJid, over, elsewhere))
          push(snapshotEvent(snapshot, this.hall.clock.now()));
        break;
      }
      await aborted(signal);
    } finally {
      this.subscribers.delete(line.hear);
    }
  }

  private async catchUp(line: Line, { chatJid, drained, signal }: StreamOptions): Promise<void> {
    for (;;) {
      const page = await this.hall.store.read.events({ after: line.last, chat_jid: chatJid, limit: PAGE });
      for (const event of page) {
        if (signal.aborted) return;
        const told = await this.rendered(event);
        if (told) line.tell(told);
        else line.skip(event.cursor);
        await drained();
      }
      if (page.length < PAGE) return;
    }
  }

  /** Turns and calls that still stream here, although the store has their end: it may be told already. */
  private async over(chatJid: string | null): Promise<Set<string>> {
    const { read } = this.hall.store;
    const over = new Set<string>();
    for (const { turn_id, call_id } of this.hall.live.snapshots(chatJid)) {
      const turn = await read.turn(turn_id);
      if (turn && turn.status !== "running") over.add(turn_id);
      const call = await read.call(call_id);
      if (call && call.status !== "running") over.add(call_id);
    }
    return over;
  }

  private running(
    chatJid: string | null,
    over: ReadonlySet<string>,
    elsewhere: readonly Snapshot[],
  ): Snapshot[] {
    return [...this.hall.live.snapshots(chatJid), ...elsewhere]
      .filter(({ turn_id }) => !over.has(turn_id))
      .map((snapshot) => (over.has(snapshot.call_id) ? { ...snapshot, parts: [] } : snapshot));
  }

  private async join(subscriber: Subscriber, chatJid: string | null): Promise<void> {
    if (this.subscribers.size === 0) {
      const now = await this.now();
      // Another stream may have joined meanwhile; what it is about to be told must not be skipped.
      if (this.subscribers.size === 0) this.tail = now;
    }
    this.subscribers.set(subscriber, chatJid);
    this.wake();
  }

  private wake(): void {
    this.readAgain = true;
    this.elsewhere.stir();
    if (this.reading || this.subscribers.size === 0) return;
    this.reading = true;
    void this.readTail().finally(() => {
      this.reading = false;
      if (this.readAgain && this.subscribers.size > 0) this.wake();
    });
  }

  private async readTail(): Promise<void> {
    while (this.readAgain && this.subscribers.size > 0) {
      this.readAgain = false;
      try {
        const page = await this.hall.store.read.events({ after: this.tail, chat_jid: null, limit: PAGE });
        for (const event of page) {
          const told = await this.rendered(event);
          if (told) this.emit(told);
          this.tail = event.cursor;
        }
        if (page.length === PAGE) this.readAgain = true;
      } catch (error) {
        this.note("events.not_read", error, {});
        await this.hall.clock.sleep(error instanceof StoreUnavailable ? AGAIN_MS : AFTER_BUG_MS);
        this.readAgain = true;
      }
    }
  }

  /** What streams in another process is not told word by word here, but every little while. */
  private lookElsewhere(): void {
    if (this.subscribers.size === 0 || this.isLooking) return;
    this.isLooking = true;
    this.elsewhere
      .news(this.listenedTo())
      .then((snapshots) => {
        for (const snapshot of snapshots) this.emit(snapshotEvent(snapshot, this.hall.clock.now()));
      })
      .catch((error: unknown) => this.note("events.elsewhere_not_read", error, {}))
      .finally(() => {
        this.isLooking = false;
      });
  }

  /** The chats somebody listens to; null when somebody listens to all. */
  private listenedTo(): string[] | null {
    const chats = new Set<string>();
    for (const chatJid of this.subscribers.values()) {
      if (chatJid === null) return null;
      chats.add(chatJid);
    }
    return [...chats];
  }

  private emit(event: StreamEvent): void {
    if (event.ends !== null) this.elsewhere.ended(event.ends);
    for (const subscriber of this.subscribers.keys()) {
      try {
        subscriber(event);
      } catch (error) {
        this.note("events.not_told", error, { chat: event.chat_jid });
      }
    }
  }

  /** A bug in telling what happened must end neither the telling nor the server. Its words may be a message's: not logged. */
  private note(event: string, error: unknown, ids: Record<string, string>): void {
    if (error instanceof StoreUnavailable) return;
    this.hall.log("error", event, { ...ids, error: error instanceof Error ? error.name : typeof error });
  }

  /** An event as it is told; null for one that cannot be, which must not hold up those after it. */
  private async rendered(event: LoggedEvent): Promise<StreamEvent | null> {
    try {
      return await this.render(event);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      this.note("events.not_rendered", error, {
        cursor: event.cursor,
        type: event.type,
        chat: event.chat_jid,
      });
      return null;
    }
  }

  private async render(event: LoggedEvent): Promise<StreamEvent> {
    const { cursor, type, chat_jid, at, refs } = event;
    const details = await this.details(event);
    const ends = type === "turn.ended" ? refs.turn_id : details.message?.call_id;
    const data = JSON.stringify({ type, chat_jid, at, ...refs, ...details });
    return { cursor, type, chat_jid, data, ends: ends ?? null };
  }

  /** The log holds references; the words are looked up when they are shown, so that an erased word stays erased. */
  private async details({ type, chat_jid, refs }: LoggedEvent): Promise<Details> {
    const { read } = this.hall.store;
    switch (type) {
      case "message":
      case "message.revised":
      case "host":
        return { message: await read.message(chat_jid, refs.message_id ?? "") };
      case "outcome":
        return { outcome: await outcomeOf(this.hall, chat_jid, refs.message_id ?? "") };
      case "delivery":
        return { delivery: await read.delivery(refs.delivery_id ?? "") };
      case "chat":
        return { chat: await read.chat(chat_jid) };
      case "turn.started":
      case "turn.ended":
        return {};
    }
  }
}

function deltaEvent({ chat_jid, ...delta }: LiveDelta, now: number): StreamEvent {
  const data = JSON.stringify({ type: "turn.delta", chat_jid, at: new Date(now).toISOString(), ...delta });
  return { cursor: null, type: "turn.delta", chat_jid, data, ends: null };
}

function snapshotEvent({ chat_jid, ...snapshot }: Snapshot, now: number): StreamEvent {
  const data = JSON.stringify({
    type: "turn.snapshot",
    chat_jid,
    at: new Date(now).toISOString(),
    ...snapshot,
  });
  return { cursor: null, type: "turn.snapshot", chat_jid, data, ends: null };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
