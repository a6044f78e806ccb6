import type { Fact, Work, WorkKind } from "./store.js";

/** How many pieces of a lane's work its holder sees at once. */
export const LANE_WINDOW = 100;

/**
 * When a lane with these pieces (its first ones, in order) wants a holder, or null when it has none.
 * A delivery waits for the one before it, also while that one waits to be tried again; other work only for its time.
 */
export function dueAt(kind: WorkKind, pieces: readonly Pick<Work, "run_at">[]): number | null {
  const first = pieces[0];
  if (!first) return null;
  if (kind === "delivery") return first.run_at;
  return pieces.reduce((earliest, piece) => Math.min(earliest, piece.run_at), first.run_at);
}

/** Of a lane's pieces, those its holder may do now, in order. Deliveries behind one that is put off wait with it. */
export function duePieces(kind: WorkKind, pieces: readonly Work[], now: number): Work[] {
  const putOff = pieces.findIndex((piece) => piece.run_at > now);
  if (putOff === -1) return [...pieces];
  return kind === "delivery" ? pieces.slice(0, putOff) : pieces.filter((piece) => piece.run_at <= now);
}

/** When a free lane wants a holder after one more piece was added to it. */
export function dueAfterAdding(kind: WorkKind, freeAt: number | null, run_at: number): number {
  if (freeAt === null) return run_at;
  return kind === "delivery" ? freeAt : Math.min(freeAt, run_at);
}

/** The work a fact brings. */
export function workIn(fact: Fact): Work | null {
  return fact.type === "work" || fact.type === "delivery" ? fact.work : null;
}
