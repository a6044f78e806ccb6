import { type Claim, type News, StoreUnavailable, type WorkKind } from "../store/store.js";
import type { Hall } from "./hall.js";
import { Fenced, Interrupted } from "./lease.js";

/** How long to leave a store alone that could not be reached. */
const TROUBLE_MS = 500;
/** The net under the wake-ups: work whose time has come, leases that ran out. */
const LOOK_EVERY_MS = 500;

/** Does the work of one claimed lane. The signal fires when the lease is lost or the server goes down. */
export type LaneRunner = (claim: Claim, signal: AbortSignal) => Promise<void>;

type Running = { claim: Claim; controller: AbortController; ended: Promise<void> };

/** How long an interrupted lane may take to notice; one that hangs must not hold up the server's end. */
const NOTICE_MS = 2000;

/** What of the hall lanes need. */
export type LanesHall = Pick<Hall, "store" | "holder" | "clock" | "log"> & {
  limits: Pick<Hall["limits"], "leaseMs">;
};

/** Takes free lanes of one kind of work, a bounded number at once, and keeps their leases while they run. */
export class Lanes {
  private readonly running = new Map<string, Running>();
  private stopped = false;
  private looking = false;
  private lookAgain = false;
  /** Writes that the newest look saw, where the store can tell. */
  private lookedAt = 0;
  private readonly undo: (() => void)[] = [];

  constructor(
    private readonly hall: LanesHall,
    private readonly kind: WorkKind,
    private readonly atOnce: number,
    private readonly run: LaneRunner,
  ) {}

  start(): void {
    this.undo.push(this.hall.store.subscribe((news) => this.hear(news)));
    this.undo.push(this.hall.clock.every(LOOK_EVERY_MS, () => this.wake()));
    this.undo.push(this.hall.clock.every(this.hall.limits.leaseMs / 3, () => this.renewAll()));
    this.wake();
  }

  /** A look that was asked for behind the write sees what it brought: looking again would hold up the next write. */
  private hear({ work, order }: News): void {
    if (!work.includes(this.kind) || (order !== undefined && order <= this.lookedAt)) return;
    this.wake();
  }

  /** Look for work now. */
  wake(): void {
    this.lookAgain = true;
    if (this.looking || this.stopped) return;
    this.looking = true;
    void this.look()
      .catch((error: unknown) =>
        this.hall.log("error", "work.not_looked_for", { kind: this.kind, why: String(error) }),
      )
      .finally(() => {
        this.looking = false;
        // A wake-up between the last look and here must not wait for the net.
        if (this.lookAgain) this.wake();
      });
  }

  /** Lets running lanes finish for a while, then interrupts them; what is unfinished is taken up after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.stopped = true;
    for (const undo of this.undo) undo();
    const all = Promise.allSettled([...this.running.values()].map((lane) => lane.ended));
    const enough = new AbortController();
    await Promise.race([all, this.hall.clock.sleep(graceMs, enough.signal)]);
    enough.abort();
    for (const { controller } of this.running.values())
      controller.abort(new Interrupted("the server is going down"));
    const noticed = new AbortController();
    await Promise.race([all, this.hall.clock.sleep(NOTICE_MS, noticed.signal)]);
    noticed.abort();
  }

  private async look(): Promise<void> {
    while (this.lookAgain && !this.stopped) {
      this.lookAgain = false;
      const room = this.atOnce - this.running.size;
      if (room <= 0) return;
      const claims = await this.claim(room);
      for (const claim of claims) this.begin(claim);
      if (claims.length === room) this.lookAgain = true;
    }
  }

  private async claim(limit: number): Promise<Claim[]> {
    const { hall, kind } = this;
    const now = hall.clock.steady();
    this.lookedAt = hall.store.inOrder?.() ?? 0;
    try {
      return await hall.store.claim({
        kind,
        holder: hall.holder,
        now,
        leaseMs: hall.limits.leaseMs,
        limit,
      });
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      hall.log("warn", "work.not_claimed", { kind, why: error.message });
      await hall.clock.sleep(TROUBLE_MS);
      this.lookAgain = true;
      return [];
    }
  }

  private begin(claim: Claim): void {
    const controller = new AbortController();
    // Claimed again while it still runs here (a clock jumped, the process was held up): the old run is over.
    this.running.get(claim.lane)?.controller.abort(new Fenced(`lane ${claim.lane} was claimed again`));
    const running: Running = { claim, controller, ended: Promise.resolve() };
    this.running.set(claim.lane, running);
    running.ended = this.run(claim, controller.signal)
      .catch((error: unknown) => this.report(claim, error))
      .finally(() => {
        if (this.running.get(claim.lane) === running) this.running.delete(claim.lane);
        this.wake();
      });
  }

  private renewAll(): void {
    const { store, clock, limits } = this.hall;
    const running = [...this.running.values()];
    if (running.length === 0) return;
    const leases = running.map(({ claim: { lane, fence } }) => ({ lane, fence }));
    store.renew(leases, clock.steady(), limits.leaseMs).then(
      (lost) => {
        for (const { lane, fence } of lost) {
          const taken = running.find(({ claim }) => claim.lane === lane && claim.fence === fence);
          taken?.controller.abort(new Fenced(`lane ${lane} was taken over`));
        }
      },
      (error: unknown) =>
        this.hall.log("warn", "lease.not_renewed", { lanes: leases.length, why: String(error) }),
    );
  }

  private report(claim: Claim, error: unknown): void {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const expected =
      error instanceof Fenced || error instanceof Interrupted || error instanceof StoreUnavailable;
    this.hall.log(expected ? "warn" : "error", "lane.ended_early", { lane: claim.lane, why });
  }
}
