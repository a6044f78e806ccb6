import type { CommitResult } from "./store.js";

/** A batch that holds the same message twice is a duplicate of nothing that is stored. */
export function twiceInBatch(message_id: string): CommitResult {
  return { status: "conflict", expectation: null, why: `message ${message_id} is twice in the batch` };
}
