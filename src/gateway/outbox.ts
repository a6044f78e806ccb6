import type { Channel, OutgoingMessage, SendResult } from "../channel/channel.js";
import type { Binding, Delivery, MessageRow } from "../message/index.js";
import type { Claim, Fact, Work } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { Lanes } from "./lanes.js";
import { outgoingText } from "./present.js";
import { expectCommitted } from "./turnState.js";

const MAX_ATTEMPTS = 12;
const LONGEST_BACKOFF_MS = 10 * 60_000;
/** The longest wait we let a platform ask for. */
const LONGEST_WAIT_MS = 3600_000;
const SEND_TIMEOUT_MS = 30_000;
/** A delivery this old is not sent late. */
const DEADLINE_MS = 24 * 3600_000;

/** Brings deliveries to their addresses: in order per address and thread, one address never holding up another. */
export class Outbox {
  private readonly lanes: Lanes;

  constructor(private readonly hall: Hall) {
    this.lanes = new Lanes(hall, "delivery", hall.limits.deliveries, (claim, controller) =>
      this.runLane(claim, controller),
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

  private async runLane(claim: Claim, controller: AbortController): Promise<void> {
    for (const [index, work] of claim.work.entries()) {
      if (controller.signal.aborted) throw controller.signal.reason;
      const flows = await this.deliver(claim, work, index === claim.work.length - 1, controller.signal);
      if (!flows) return;
    }
  }

  /** False when the lane has to wait: order is kept, also under retry. */
  private async deliver(claim: Claim, work: Work, last: boolean, signal: AbortSignal): Promise<boolean> {
    const { hall } = this;
    const delivery = await hall.store.read.delivery(work.ref);
    const row = delivery && (await hall.store.read.message(delivery.chat_jid, delivery.message_id));
    if (!delivery || !row || !isOpen(delivery)) return this.settled(claim, work, last, []);
    const attempts = delivery.attempts + 1;
    if (hall.clock.now() - Date.parse(delivery.created_at) > DEADLINE_MS) {
      return this.settled(claim, work, last, [
        this.state({ ...delivery, state: "expired", reason: "older than a day" }),
      ]);
    }
    if (row.deleted_at) {
      return this.settled(claim, work, last, [
        this.state({ ...delivery, state: "skipped", reason: "deleted before it was sent" }),
      ]);
    }
    await hall.store.commit({ facts: [this.state({ ...delivery, state: "sending", attempts })] });
    const result = await this.send(delivery, row, signal);
    const sent = this.afterSend({ ...delivery, attempts }, result);
    if (sent.retry_at === null)
      return this.settled(claim, work, last, [this.state(sent), ...(await this.news(sent, row))]);
    const later = [{ id: work.id, run_at: Date.parse(sent.retry_at), attempts }];
    const { lane, fence } = claim;
    expectCommitted(
      await hall.store.settle({
        lease: { lane, fence },
        done: [],
        later,
        release: true,
        facts: [this.state(sent)],
      }),
    );
    return false;
  }

  private async send(delivery: Delivery, row: MessageRow, signal: AbortSignal): Promise<SendResult> {
    const channel = this.hall.channels.get(delivery.channel);
    if (!channel)
      return { ok: false, retryAfter: 60_000, why: `the channel "${delivery.channel}" is not running` };
    const arrived = await this.arrived(channel, delivery);
    if (arrived) return arrived;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]);
    const chat = await this.hall.chats.byJid(row.chat_jid);
    const message = outgoing(
      row,
      chat?.bindings.find((bound) => bound.address === delivery.address)?.trace ?? "short",
    );
    try {
      return await channel.send(delivery.address, message, {
        key: delivery.id,
        thread: delivery.thread_id,
        signal: limit,
      });
    } catch (error) {
      return {
        ok: false,
        retryAfter: "unknown",
        why: error instanceof Error ? error.message : String(error),
      };
    }
  }

  /** A try whose end we do not know may have arrived: where the platform can look, it is asked before we send again. */
  private async arrived(channel: Channel, delivery: Delivery): Promise<SendResult | null> {
    const unsure = delivery.state === "unknown" || delivery.state === "sending";
    if (!unsure || channel.takesKey || !channel.find) return null;
    const found = await channel.find(delivery.address, delivery.id).catch(() => null);
    return found && { ok: true, externalId: found.externalId };
  }

  private afterSend(delivery: Delivery, result: SendResult): Delivery {
    if (result.ok)
      return { ...delivery, state: "sent", external_id: result.externalId, last_error: null, retry_at: null };
    const failed = { ...delivery, last_error: result.why };
    const hopeless = result.retryAfter === "never" || delivery.attempts >= MAX_ATTEMPTS;
    if (hopeless) return { ...failed, state: "dead", reason: result.why, retry_at: null };
    const asked = typeof result.retryAfter === "number" ? result.retryAfter : 0;
    const backoff = Math.min(LONGEST_BACKOFF_MS, 500 * 2 ** (delivery.attempts - 1));
    const wait = Math.min(LONGEST_WAIT_MS, Math.max(asked, backoff));
    const state = result.retryAfter === "unknown" ? "unknown" : "retry";
    return { ...failed, state, retry_at: iso(this.hall.clock.now() + wait) };
  }

  /** People hear of it once when a delivery is given up; of news that could not be delivered there is no news. */
  private async news(delivery: Delivery, row: MessageRow): Promise<Fact[]> {
    if (delivery.state !== "dead" || row.message_type === "host") return [];
    const chat = await this.hall.chats.byJid(delivery.chat_jid);
    if (!chat) return [];
    const elsewhere = {
      ...chat,
      bindings: chat.bindings.filter((binding) => binding.address !== delivery.address),
    };
    const text = `A message could not be delivered to ${delivery.address}: ${delivery.last_error ?? "no reason given"}`;
    return this.hall.hostMessages.facts(elsewhere, text, { delivery_id: delivery.id });
  }

  private async settled(claim: Claim, work: Work, release: boolean, facts: Fact[]): Promise<boolean> {
    const { lane, fence } = claim;
    expectCommitted(
      await this.hall.store.settle({ lease: { lane, fence }, done: [work.id], later: [], release, facts }),
    );
    return true;
  }

  private state(delivery: Delivery): Fact {
    const { id, state, reason, external_id, attempts, last_error, retry_at } = delivery;
    return {
      type: "delivery_state",
      id,
      state,
      reason,
      external_id,
      attempts,
      last_error,
      retry_at,
      at: iso(this.hall.clock.now()),
    };
  }
}

function isOpen(delivery: Delivery): boolean {
  return ["pending", "sending", "retry", "unknown"].includes(delivery.state);
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
