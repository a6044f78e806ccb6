import type { EventType, LoggedEvent } from "../message/index.js";
import { StoreUnavailable } from "../store/store.js";
import type { Hall } from "./hall.js";
import type { LiveDelta, Snapshot } from "./live.js";
import { outcomeOf } from "./outcomes.js";

/** An event as a screen gets it. `cursor` is null for what is not stored and not replayed. */
export type StreamEvent = { cursor: string | null; type: EventType; chat_jid: string; data: string };

type Subscriber = (event: StreamEvent) => void;

const PAGE = 200;

/**
 * The one reader of the log's tail: an event is read and written out once, however many streams are open.
 * A stream that resumes reads its own past first and joins the tail without gap or repetition.
 */
export class EventHub {
  private readonly subscribers = new Set<Subscriber>();
  private tail: string | null = null;
  private reading = false;
  private readAgain = false;
  private readonly undo: (() => void)[] = [];

  constructor(private readonly hall: Hall) {
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
  async stream(options: {
    after: string | null;
    chatJid: string | null;
    push: Subscriber;
    drained: () => Promise<void>;
    signal: AbortSignal;
  }): Promise<void> {
    const { chatJid, push, signal } = options;
    let last = options.after;
    let waiting: StreamEvent[] | null = [];
    const deliver = (event: StreamEvent) => {
      if (event.cursor !== null) {
        if (last !== null && compareCursors(event.cursor, last) <= 0) return;
        last = event.cursor;
      }
      if (chatJid === null || event.chat_jid === chatJid) push(event);
    };
    const subscriber: Subscriber = (event) => (waiting ? waiting.push(event) : deliver(event));
    await this.join(subscriber);
    try {
      for (const snapshot of this.hall.live.snapshots(chatJid))
        push(snapshotEvent(snapshot, this.hall.clock.now()));
      for (;;) {
        const page = await this.hall.store.read.events({ after: last, chat_jid: chatJid, limit: PAGE });
        for (const event of page) {
          if (signal.aborted) return;
          deliver(await this.render(event));
          await options.drained();
        }
        if (page.length < PAGE || signal.aborted) break;
      }
      for (const event of waiting) deliver(event);
      waiting = null;
      await aborted(signal);
    } finally {
      this.subscribers.delete(subscriber);
    }
  }

  private async join(subscriber: Subscriber): Promise<void> {
    if (this.subscribers.size === 0) this.tail = await this.now();
    this.subscribers.add(subscriber);
    this.wake();
  }

  private wake(): void {
    this.readAgain = true;
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
          this.emit(await this.render(event));
          this.tail = event.cursor;
        }
        if (page.length === PAGE) this.readAgain = true;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await this.hall.clock.sleep(100);
        this.readAgain = true;
      }
    }
  }

  private emit(event: StreamEvent): void {
    for (const subscriber of this.subscribers) subscriber(event);
  }

  private async render(event: LoggedEvent): Promise<StreamEvent> {
    const { cursor, type, chat_jid, at, refs } = event;
    const details = await this.details(event);
    return { cursor, type, chat_jid, data: JSON.stringify({ type, chat_jid, at, ...refs, ...details }) };
  }

  /** The log holds references; the words are looked up when they are shown, so that an erased word stays erased. */
  private async details({ type, chat_jid, refs }: LoggedEvent): Promise<Record<string, unknown>> {
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

/** Cursors are decimal numbers to us and opaque to everybody else. */
export function compareCursors(a: string, b: string): number {
  return Number(a) - Number(b);
}

/** Could this be a cursor of ours? `0` is the beginning. */
export function isCursor(text: string): boolean {
  return text === "0" || /^\d{16}$/.test(text);
}

function deltaEvent({ chat_jid, ...delta }: LiveDelta, now: number): StreamEvent {
  const data = JSON.stringify({ type: "turn.delta", chat_jid, at: new Date(now).toISOString(), ...delta });
  return { cursor: null, type: "turn.delta", chat_jid, data };
}

function snapshotEvent({ chat_jid, ...snapshot }: Snapshot, now: number): StreamEvent {
  const data = JSON.stringify({
    type: "turn.snapshot",
    chat_jid,
    at: new Date(now).toISOString(),
    ...snapshot,
  });
  return { cursor: null, type: "turn.snapshot", chat_jid, data };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
