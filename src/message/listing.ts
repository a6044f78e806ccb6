import { z } from "zod";

/** US dollars for a million tokens of each class. */
const ListedRates = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
});

/** What a model costs now; requests of more tokens than `above` names cost what stands there. */
export const ListedPrice = ListedRates.extend({
  above: z.array(ListedRates.extend({ tokens: z.int() })),
});
export type ListedPrice = z.infer<typeof ListedPrice>;

/** A model by the API: whether it can be used now, and what is known of it. Null: nobody said. */
export const ModelListing = z.object({
  /** `provider/model`, as a chat names it. */
  name: z.string(),
  default: z.boolean(),
  available: z.boolean(),
  /** Why it is the default, or what to type to have it. */
  note: z.string().nullable(),
  window: z.int().nullable(),
  max_output: z.int().nullable(),
  images: z.boolean().nullable(),
  audio: z.boolean().nullable(),
  pdf: z.boolean().nullable(),
  thinking: z.boolean().nullable(),
  tools: z.boolean().nullable(),
  price: ListedPrice.nullable(),
});
export type ModelListing = z.infer<typeof ModelListing>;
