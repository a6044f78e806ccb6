import type { Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** How long the requests of calls are kept, and how much of them. Null: for ever, and all. */
export type ReceiptRetention = { days: number | null; bytes: number | null };

/** Calls whose requests are let go of in one commit. */
const BITE = 100;
/** Between two bites, so that whoever writes meanwhile is not held up. */
const REST_MS = 50;
const SWEEP_EVERY_MS = 10 * 60_000;
/** What is younger is still compared with, replayed and looked at, however large it is. */
const LEAST_AGE_MS = 3600_000;
const DAY_MS = 86_400_000;
/** Blocks are shared, so nobody knows beforehand what letting go of a call frees: it is measured again, so often. */
const ROUNDS = 8;

/** Lets go of old requests in the background, in small bites. What calls used and cost stays. */
export class Retention {
  private readonly closing = new AbortController();
  private sweeping: Promise<void> | null = null;
  private ending: () => void = () => {};

  constructor(
    private readonly hall: Hall,
    private readonly keep: ReceiptRetention,
  ) {}

  start(): void {
    if (this.keep.days === null && this.keep.bytes === null) return;
    this.ending = this.hall.clock.every(SWEEP_EVERY_MS, () => this.begin());
    this.begin();
  }

  async stop(): Promise<void> {
    this.ending();
    this.closing.abort();
    await this.sweeping;
  }

  /** One sweep; a second one that is asked for meanwhile is the same. */
  sweep(): Promise<void> {
    this.sweeping ??= this.sweepAll().finally(() => {
      this.sweeping = null;
    });
    return this.sweeping;
  }

  private begin(): void {
    this.sweep().catch((error) => this.hall.log("warn", "retention.failed", { why: String(error) }));
  }

  private async sweepAll(): Promise<void> {
    const { days, bytes } = this.keep;
    const now = this.hall.clock.now();
    if (days !== null) {
      const before = now - Math.max(days * DAY_MS, LEAST_AGE_MS);
      await this.expire(before, Number.POSITIVE_INFINITY, `requests are kept for ${counted(days, "day")}`);
    }
    if (bytes !== null) await this.shrink(now - LEAST_AGE_MS, bytes);
  }

  private async shrink(before: number, most: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const kept = await this.measure();
      if (kept.bytes <= most || this.closing.signal.aborted) return;
      const share = Math.ceil(kept.calls * (1 - most / kept.bytes));
      const expired = await this.expire(
        before,
        share,
        `requests are kept up to ${most} bytes, the newest first`,
      );
      if (expired === 0) return;
    }
  }

  private async measure(): Promise<{ calls: number; bytes: number }> {
    const sum = { calls: 0, bytes: 0 };
    let after: string | null = null;
    do {
      const page = await this.hall.store.read.receiptTotals(after);
      sum.calls += page.calls;
      sum.bytes += page.bytes;
      after = page.next;
      if (after !== null) await this.rest();
    } while (after !== null && !this.closing.signal.aborted);
    return sum;
  }

  /** The oldest first, so many at most. How many it were. */
  private async expire(before: number, most: number, reason: string): Promise<number> {
    const { store, clock, log } = this.hall;
    let expired = 0;
    while (expired < most && !this.closing.signal.aborted) {
      const found = await store.read.keptReceipts({
        before: iso(before),
        limit: Math.min(BITE, most - expired),
      });
      if (found.length === 0) break;
      const at = iso(clock.now());
      for (const chat_jid of new Set(found.map((call) => call.chat_jid))) {
        const call_ids = found.filter((call) => call.chat_jid === chat_jid).map(({ id }) => id);
        const fact: Fact = { type: "receipts_expired", chat_jid, call_ids, at, reason };
        await store.commit({ facts: [fact] });
      }
      expired += found.length;
      await this.rest();
    }
    if (expired > 0) log("info", "receipts.expired", { calls: expired, why: reason });
    return expired;
  }

  private rest(): Promise<void> {
    return this.hall.clock.sleep(REST_MS, this.closing.signal);
  }
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
