import type { Channel, OutgoingMessage, SendResult } from "../channel/channel.js";
import type { Binding, Chat, Delivery, MessageRow } from "../message/index.js";
import type { Claim, Fact, Work } from "../store/store.js";
import { type Clock, iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { Lanes } from "./lanes.js";
import { expectCommitted, leaseOf } from "./lease.js";
import { isTooOld } from "./placement.js";
import { outgoingText } from "./present.js";

const LONGEST_BACKOFF_MS = 10 * 60_000;
/** The longest wait we let a platform ask for. */
const LONGEST_WAIT_MS = 3600_000;
/** How soon to look again whether a channel runs. */
const CHANNEL_AWAY_MS = 60_000;
const PATIENCE_MS = 30_000;
/** What is older than this is not tried again, so that a lane always flows again. */
const DEADLINE_MS = 24 * 3600_000;
const TOO_OLD = "older than a day";
const TOO_LATE = "older than the chat wants an answer to be";

/** What came of a piece of work: the lane goes on, it waits, or the delivery was moved elsewhere meanwhile. */
type Step = "flows" | "waits" | "moved";

/** Brings deliveries to their addresses: in order per address and thread, one address never holding up another. */
export class Outbox {
  private readonly lanes: Lanes;

  constructor(private readonly hall: Hall) {
    this.lanes = new Lanes(hall, "delivery", hall.limits.deliveries, (claim, signal) =>
      this.runLane(claim, signal),
    );
  }

  start(): void {
    this.lanes.start();
  }

  stop(graceMs: number): Promise<void> {
    return this.lanes.stop(graceMs);
  }

  wake(): void {
    this.lanes.wake();
  }

  private async runLane(claim: Claim, signal: AbortSignal): Promise<void> {
    for (const [index, work] of claim.work.entries()) {
      const last = index === claim.work.length - 1;
      let step: Step;
      do {
        signal.throwIfAborted();
        step = await this.deliver(claim, work, last, signal);
      } while (step === "moved");
      if (step === "waits") return;
    }
  }

  private async deliver(claim: Claim, work: Work, last: boolean, signal: AbortSignal): Promise<Step> {
    const { hall } = this;
    const delivery = await hall.store.read.delivery(work.ref);
    const row = delivery && (await hall.store.read.message(delivery.chat_jid, delivery.message_id));
    if (!delivery || !row || !isOpen(delivery)) {
      const { lane, fence } = claim;
      const settlement = { lease: { lane, fence }, done: [work.id], later: [], release: last, facts: [] };
      expectCommitted(await hall.store.settle(settlement));
      return "flows";
    }
    const settle = (from: Delivery, to: Delivery) => this.settle(claim, work, last, from, to, row);
    const givenUp = this.givenUp(delivery, row, await hall.chats.byJid(row.chat_jid));
    if (givenUp) return settle(delivery, givenUp);
    const channel = hall.channels.get(delivery.channel);
    // Nothing was tried, so nothing is counted, and what may have arrived earlier may still have.
    if (!channel) return settle(delivery, this.channelAway(delivery));
    const sending: Delivery = { ...delivery, state: "sending", attempts: delivery.attempts + 1 };
    if (!(await this.announce(claim, delivery, sending))) return "moved";
    const result =
      (await this.arrived(channel, delivery, signal)) ?? (await this.send(channel, delivery, row, signal));
    return settle(sending, this.afterSend(sending, result));
  }

  /** Every try is written down before it is made, and only by who holds the lane. False: somebody moved the delivery. */
  private async announce(claim: Claim, from: Delivery, sending: Delivery): Promise<boolean> {
    const result = await this.hall.store.commit({
      expect: [leaseOf(claim), seenAs(from)],
      facts: [deliveryState(sending, this.hall.clock)],
    });
    if (result.status === "conflict") return false;
    expectCommitted(result);
    return true;
  }

  /** When a delivery is due that people read as "tried again at". */
  private again(retryAt: string): { run_at: number } {
    const { clock } = this.hall;
    return { run_at: clock.steady() + Date.parse(retryAt) - clock.now() };
  }

  /** What has a time to be tried again holds up its lane: order is kept, also under retry. */
  private async settle(
    claim: Claim,
    work: Work,
    last: boolean,
    from: Delivery,
    to: Delivery,
    row: MessageRow,
  ): Promise<Step> {
    const { lane, fence } = claim;
    const waits = to.retry_at !== null;
    const result = await this.hall.store.settle({
      lease: { lane, fence },
      done: waits ? [] : [work.id],
      later: to.retry_at === null ? [] : [{ ...this.again(to.retry_at), id: work.id, attempts: to.attempts }],
      release: waits || last,
      expect: [seenAs(from)],
      facts: [deliveryState(to, this.hall.clock), ...(await this.news(to, row))],
    });
    if (result.status === "conflict" && result.expectation?.type === "delivery") return "moved";
    expectCommitted(result);
    await this.note(to, row);
    return waits ? "waits" : "flows";
  }

  private async note({ id, state, address, attempts }: Delivery, row: MessageRow): Promise<void> {
    const turn = row.turn_id === null ? null : await this.hall.store.read.turn(row.turn_id);
    this.hall.log(state === "sent" ? "info" : "warn", `delivery.${state}`, {
      chat: row.chat_jid,
      message: row.id,
      delivery: id,
      address,
      attempts,
      trace: turn?.trigger_id ?? row.id,
    });
  }

  /** What is not to be tried at all. A first try, or one the operator asked for, is made at any age. */
  private givenUp(delivery: Delivery, row: MessageRow, chat: Chat | null): Delivery | null {
    if (row.deleted_at)
      return { ...delivery, state: "skipped", reason: "deleted before it was sent", retry_at: null };
    const made = Date.parse(delivery.created_at);
    if (chat && row.sender === "bot" && isTooOld(made, chat, this.hall.clock.now()))
      return { ...delivery, state: "expired", reason: TOO_LATE, retry_at: null };
    const tried = delivery.state === "retry" || delivery.state === "unknown";
    if (tried && this.isTooOld(delivery))
      return { ...delivery, state: "expired", reason: TOO_OLD, retry_at: null };
    return null;
  }

  private channelAway(delivery: Delivery): Delivery {
    const why = `the channel "${delivery.channel}" is not running`;
    return this.tryLater(delivery, mayHaveArrived(delivery) ? "unknown" : "retry", CHANNEL_AWAY_MS, why);
  }

  private async send(
    channel: Channel,
    delivery: Delivery,
    row: MessageRow,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const chat = await this.hall.chats.byJid(row.chat_jid);
    const trace = chat?.bindings.find((bound) => bound.address === delivery.address)?.trace ?? "short";
    const patience = patienceOf(this.hall.clock, signal);
    try {
      return await channel.send(delivery.address, outgoing(row, trace), {
        key: delivery.id,
        thread: delivery.thread_id,
        signal: patience.signal,
      });
    } catch (error) {
      return unsure(error);
    } finally {
      patience.end();
    }
  }

  /**
   * A try whose end we do not know may have arrived: where the platform can look, it is asked before we send again.
   * While it cannot be asked, we go on not knowing.
   */
  private async arrived(
    channel: Channel,
    delivery: Delivery,
    signal: AbortSignal,
  ): Promise<SendResult | null> {
    if (!mayHaveArrived(delivery) || channel.takesKey || !channel.find) return null;
    const patience = patienceOf(this.hall.clock, signal);
    try {
      const found = await Promise.race([channel.find(delivery.address, delivery.id), patience.lost]);
      return found && { ok: true, externalId: found.externalId };
    } catch (error) {
      return unsure(error);
    } finally {
      patience.end();
    }
  }

  private afterSend(delivery: Delivery, result: SendResult): Delivery {
    if (result.ok) {
      const { externalId: external_id } = result;
      return { ...delivery, state: "sent", reason: null, external_id, last_error: null, retry_at: null };
    }
    const { why, retryAfter } = result;
    if (retryAfter === "never")
      return { ...delivery, state: "dead", reason: why, last_error: why, retry_at: null };
    const asked = typeof retryAfter === "number" ? retryAfter : 0;
    const backoff = Math.min(LONGEST_BACKOFF_MS, 500 * 2 ** (delivery.attempts - 1));
    const wait = Math.min(LONGEST_WAIT_MS, Math.max(asked, backoff));
    return this.tryLater(delivery, retryAfter === "unknown" ? "unknown" : "retry", wait, why);
  }

  private tryLater(delivery: Delivery, state: "retry" | "unknown", wait: number, why: string): Delivery {
    const failed = { ...delivery, last_error: why };
    if (this.isTooOld(delivery)) return { ...failed, state: "expired", reason: TOO_OLD, retry_at: null };
    return { ...failed, state, reason: null, retry_at: iso(this.hall.clock.now() + wait) };
  }

  private isTooOld(delivery: Delivery): boolean {
    return this.hall.clock.now() - Date.parse(delivery.created_at) > DEADLINE_MS;
  }

  /** People hear of it once when a delivery is given up; of news that could not be delivered there is no news. */
  private async news(delivery: Delivery, row: MessageRow): Promise<Fact[]> {
    const lost = delivery.state === "dead" || delivery.state === "expired";
    if (!lost || row.message_type === "host") return [];
    const chat = await this.hall.chats.byJid(delivery.chat_jid);
    if (!chat) return [];
    const elsewhere = {
      ...chat,
      bindings: chat.bindings.filter((binding) => binding.address !== delivery.address),
    };
    const text = `A message could not be delivered to ${delivery.address}: ${delivery.last_error ?? "no reason given"}`;
    return this.hall.hostMessages.facts(elsewhere, text, { delivery_id: delivery.id });
  }
}

/** The delivery as it is now, to be written down. */
export function deliveryState(delivery: Delivery, clock: Clock): Fact {
  const { id, state, reason, external_id, attempts, last_error, retry_at } = delivery;
  const at = iso(clock.now());
  return { type: "delivery_state", id, state, reason, external_id, attempts, last_error, retry_at, at };
}

/** What the store is to find, so that nothing that happened meanwhile is overwritten. */
export function seenAs({ id, state }: Delivery) {
  return { type: "delivery", id, state } as const;
}

/** Has it work, so that it will be sent? */
export function isOpen({ state }: Delivery): boolean {
  return state === "pending" || state === "sending" || state === "retry" || state === "unknown";
}

/** Also true of one the operator sends again: how its last try ended may not have been known. */
function mayHaveArrived({ state, attempts }: Delivery): boolean {
  return state === "unknown" || state === "sending" || (state === "pending" && attempts > 0);
}

function unsure(error: unknown): SendResult {
  const why = error instanceof Error ? error.message : String(error);
  return { ok: false, retryAfter: "unknown", why };
}

/** How long a platform may take, by our own clock. `lost` rejects when that is over; `end` when it answered. */
function patienceOf(clock: Clock, signal: AbortSignal) {
  const over = new AbortController();
  const answered = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  void clock.sleep(PATIENCE_MS, answered.signal).then(() => {
    if (!answered.signal.aborted) over.abort(new Error(`no answer for ${PATIENCE_MS / 1000} s`));
  });
  const lost = new Promise<never>((_, reject) => {
    if (either.aborted) reject(either.reason);
    either.addEventListener("abort", () => reject(either.reason), { once: true });
  });
  lost.catch(() => {});
  return { signal: either, lost, end: () => answered.abort() };
}

function outgoing(row: MessageRow, trace: Binding["trace"]): OutgoingMessage {
  return {
    message_id: row.id,
    chat_jid: row.chat_jid,
    sender: row.sender,
    sender_name: row.sender_name,
    message_type: row.message_type,
    text: outgoingText(row, { trace }),
    content: row.content,
    timestamp: row.timestamp,
  };
}
