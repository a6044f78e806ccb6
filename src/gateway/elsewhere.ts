import type { Turn } from "../store/store.js";
import type { Hall } from "./hall.js";
import type { Snapshot } from "./live.js";

/** How many ends are remembered; more do not come between two looks. */
const REMEMBERED = 10_000;
/** Chats that are asked about one by one; of more, all that runs is asked for at once. */
const FEW_CHATS = 20;

/** The turns that run in other processes on the same store: what they have said, as of when it was last saved. */
export class Elsewhere {
  private readonly over = new Set<string>();
  private readonly told = new Map<string, string>();
  private mayRun = true;

  constructor(private readonly hall: Pick<Hall, "store" | "live">) {}

  /** Something happened, or somebody new listens: a turn may have started since the last look. */
  stir(): void {
    this.mayRun = true;
  }

  /** A turn or a call is over, and whoever listens was told so: it says nothing any more. */
  ended(id: string): void {
    if (this.over.size >= REMEMBERED) this.over.clear();
    this.over.add(id);
    this.told.delete(id);
  }

  /** What is said elsewhere in these chats; null: in all of them. */
  async snapshots(chatJids: readonly string[] | null): Promise<Snapshot[]> {
    return this.saidBy(await this.running(chatJids));
  }

  /** Those that have said more since they were last asked for here. Asks nobody while nothing can have started. */
  async news(chatJids: readonly string[] | null): Promise<Snapshot[]> {
    if (!this.mayRun) return [];
    this.mayRun = false;
    try {
      const running = await this.running(chatJids);
      this.mayRun ||= running.length > 0;
      return (await this.saidBy(running)).filter((snapshot) => this.isNews(snapshot));
    } catch (error) {
      this.mayRun = true;
      throw error;
    }
  }

  private isNews(snapshot: Snapshot): boolean {
    const said = JSON.stringify(snapshot);
    if (snapshot.parts.length === 0 || this.told.get(snapshot.turn_id) === said) return false;
    this.told.set(snapshot.turn_id, said);
    return true;
  }

  private async running(chatJids: readonly string[] | null): Promise<Turn[]> {
    const { store, live } = this.hall;
    const asked = chatJids === null || chatJids.length > FEW_CHATS ? [null] : chatJids;
    const turns = (await Promise.all(asked.map((jid) => store.read.runningTurns(jid)))).flat();
    const here = new Set(live.snapshots(null).map(({ turn_id }) => turn_id));
    return turns.filter(
      ({ id, chat_jid }) =>
        !here.has(id) && !this.over.has(id) && (chatJids === null || chatJids.includes(chat_jid)),
    );
  }

  private async saidBy(turns: readonly Turn[]): Promise<Snapshot[]> {
    const found = await Promise.all(turns.map((turn) => this.saidIn(turn)));
    return found.filter(({ turn_id, call_id }) => !this.over.has(turn_id) && !this.over.has(call_id));
  }

  private async saidIn({ id, chat_jid }: Turn): Promise<Snapshot> {
    const { read } = this.hall.store;
    const last = await read.lastCallOfTurn(id);
    const parts = last?.status === "running" ? await read.partial(last.id) : [];
    return { chat_jid, turn_id: id, call_id: last?.id ?? "", parts };
  }
}
