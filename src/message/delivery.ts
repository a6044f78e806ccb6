import { z } from "zod";

export const DeliveryState = z.enum([
  "pending",
  "sending",
  "sent",
  "retry",
  "unknown",
  "dead",
  "skipped",
  "expired",
]);
export type DeliveryState = z.infer<typeof DeliveryState>;

/** One message on its way to one address. Holds references only; the words stay in the message. */
export const Delivery = z.object({
  id: z.string(),
  chat_jid: z.string(),
  message_id: z.string(),
  revision: z.int(),
  part: z.int(),
  channel: z.string(),
  address: z.string(),
  thread_id: z.string().nullable(),
  state: DeliveryState,
  reason: z.string().nullable(),
  external_id: z.string().nullable(),
  attempts: z.int(),
  last_error: z.string().nullable(),
  /** When to try again, while `retry`. */
  retry_at: z.string().nullable(),
  created_at: z.string(),
});
export type Delivery = z.infer<typeof Delivery>;
