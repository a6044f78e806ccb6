import { z } from "zod";
import { DeliveryState } from "./delivery.js";

/** What became of an inbound message. `pending` until one of the others, exactly one of them, is true. */
export const OUTCOMES = [
  "pending",
  "answered",
  "collected",
  "steered",
  "superseded",
  "stopped",
  "command",
  "ambient",
  "passive",
  "ignored",
  "over_budget",
  "expired",
  "failed",
] as const;
export type OutcomeWord = (typeof OUTCOMES)[number];
export type TerminalOutcome = Exclude<OutcomeWord, "pending">;

export const Outcome = z.object({
  message_id: z.string(),
  /** One id for all of it, in every line of the log: the message that got the answer; without a turn, this one. */
  trace_id: z.string(),
  outcome: z.enum(OUTCOMES),
  reason: z.string(),
  turn_id: z.string().nullable(),
  call_ids: z.array(z.string()),
  deliveries: z.array(
    z.object({
      id: z.string(),
      channel: z.string(),
      address: z.string(),
      state: DeliveryState,
      external_id: z.string().nullable(),
      attempts: z.int(),
      last_error: z.string().nullable(),
    }),
  ),
});
export type Outcome = z.infer<typeof Outcome>;
