import type { Turn } from "../store/store.js";
import type { Hall } from "./hall.js";
import type { Snapshot } from "./live.js";

/** How many ends are remembered; more do not come between two looks. */
const REMEMBERED = 10_000;

/** The turns that run in other processes on the same store: what they have said, as of when it was last saved. */
export class Elsewhere {
  private readonly over = new Set<string>();
  private readonly told = new Map<string, string>();

  constructor(private readonly hall: Pick<Hall, "store" | "live">) {}

  /** A turn or a call is over, and whoever listens was told so: it says nothing any more. */
  ended(id: string): void {
    if (this.over.size >= REMEMBERED) this.over.clear();
    this.over.add(id);
    this.told.delete(id);
  }

  async snapshots(chatJid: string | null): Promise<Snapshot[]> {
    const running = await this.hall.store.read.runningTurns(chatJid);
    const here = new Set(this.hall.live.snapshots(chatJid).map(({ turn_id }) => turn_id));
    const found = await Promise.all(
      running.filter(({ id }) => !here.has(id)).map((turn) => this.saidIn(turn)),
    );
    return found.filter(({ turn_id, call_id }) => !this.over.has(turn_id) && !this.over.has(call_id));
  }

  /** Those that have said more since they were last asked for here. */
  async news(): Promise<Snapshot[]> {
    const snapshots = await this.snapshots(null);
    return snapshots.filter((snapshot) => {
      const said = JSON.stringify(snapshot);
      if (snapshot.parts.length === 0 || this.told.get(snapshot.turn_id) === said) return false;
      this.told.set(snapshot.turn_id, said);
      return true;
    });
  }

  private async saidIn({ id, chat_jid }: Turn): Promise<Snapshot> {
    const { read } = this.hall.store;
    const calls = await read.calls({ chat_jid, turn_id: id, after: null, limit: 500 });
    const last = calls.at(-1);
    const parts = last?.status === "running" ? await read.partial(last.id) : [];
    return { chat_jid, turn_id: id, call_id: last?.id ?? "", parts };
  }
}
