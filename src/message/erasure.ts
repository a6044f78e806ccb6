import { z } from "zod";

/** What the erasure of a person found: counts, never who it was. */
export const Erasure = z.object({
  id: z.string(),
  at: z.string(),
  /** Messages of which a tombstone is left. */
  messages: z.int(),
  attachments: z.int(),
  /** Receipts whose request can no longer be read whole. */
  receipts: z.int(),
  /** Summaries that are not read any more. */
  summaries: z.int(),
  /** Are the traces gone from the disk too, as far as the store can see to that? */
  scrubbed: z.boolean(),
});
export type Erasure = z.infer<typeof Erasure>;
