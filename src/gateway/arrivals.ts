import type { Work } from "../store/store.js";

/** Tells who watches a lane that something came into it here, so that nobody has to look at every message of every chat. */
export class Arrivals {
  private readonly watchers = new Map<string, Set<(work: Work) => void>>();
  private readonly foreseeing = new Set<(work: Work) => void>();

  watch(lane: string, look: (work: Work) => void): () => void {
    const watching = this.watchers.get(lane) ?? new Set();
    this.watchers.set(lane, watching.add(look));
    return () => {
      watching.delete(look);
      if (watching.size === 0 && this.watchers.get(lane) === watching) this.watchers.delete(lane);
    };
  }

  tell(work: Work): void {
    for (const look of this.watchers.get(work.lane) ?? []) look(work);
  }

  /** Who takes turns, told that one is about to be asked for. */
  foresee(look: (work: Work) => void): () => void {
    this.foreseeing.add(look);
    return () => this.foreseeing.delete(look);
  }

  /** Work that is due at once is on its way to the store. */
  coming(work: Work): void {
    for (const look of this.foreseeing) look(work);
  }

  /** Does somebody work in this lane now? */
  isWatched(lane: string): boolean {
    return this.watchers.has(lane);
  }
}
