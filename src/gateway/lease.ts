import type { Claim, CommitResult } from "../store/store.js";

/** Somebody else holds the lane by now: whatever we know is old, and we must not write. */
export class Fenced extends Error {
  override name = "Fenced";
}

/** Work ends here unfinished: whoever claims it next goes on with it. */
export class Interrupted extends Error {
  override name = "Interrupted";
}

/** That we still hold a lane, as a commit expects it. */
export function leaseOf(claim: Claim) {
  return { type: "lease", lane: claim.lane, fence: claim.fence } as const;
}

/**
 * Was nothing written because the head is elsewhere by now, the chat was changed, or a name was given away meanwhile? Then what was to be
 * written is made anew from what is known now.
 */
export function isOvertaken(result: CommitResult, tries: number): boolean {
  if (result.status !== "conflict") return false;
  const unmet = result.expectation?.type ?? null;
  return unmet === "head" || unmet === "chat_unchanged" || (unmet === null && tries < NAME_TRIES);
}

/** Two threads of a chat may give the same name away at the same time; more often than this it is something else. */
const NAME_TRIES = 5;

/** A write that was refused is a bug, except where somebody else has the lane by now. */
export function expectCommitted(result: CommitResult): void {
  switch (result.status) {
    case "committed":
      return;
    case "fenced":
      throw new Fenced(`lane ${result.lane} was taken over`);
    case "conflict":
      throw new Error(`it could not be written: ${result.why}`);
    case "duplicate":
      throw new Error(`message ${result.message.id} was written twice`);
  }
}
