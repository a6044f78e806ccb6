import type { Delivery } from "../message/index.js";
import type { Fact } from "../store/store.js";
import { deliveryLane, deliveryWork } from "./broadcast.js";
import type { Hall } from "./hall.js";
import { deliveryState, isOpen, seenAs } from "./outbox.js";

/** The operator sends a delivery that has not arrived again, or gives it up. `conflict`: it is on its way or there. */
export async function moveDelivery(
  hall: Hall,
  id: string,
  to: "retry" | "drop",
): Promise<"ok" | "unknown" | "conflict"> {
  const delivery = await hall.store.read.delivery(id);
  if (!delivery) return "unknown";
  if (delivery.state === "sent" || delivery.state === "sending") return "conflict";
  const facts = to === "retry" ? sentAgain(hall, delivery) : await dropped(hall, delivery);
  const result = await hall.store.commit({ expect: [seenAs(delivery)], facts });
  return result.status === "committed" ? "ok" : "conflict";
}

/** The attempts are kept: one of them may have arrived, and the outbox asks before it sends again. */
function sentAgain({ clock }: Hall, delivery: Delivery): Fact[] {
  const pending: Delivery = { ...delivery, state: "pending", reason: null, retry_at: null };
  return [
    deliveryState(pending, clock),
    ...(isOpen(delivery) ? [] : [{ type: "work", work: deliveryWork(delivery, clock) } as const]),
    // Also what waits before it: order is kept, so otherwise it would wait as long.
    { type: "lane_due", lane: deliveryLane(delivery), run_at: 0 },
  ];
}

/** The outbox puts the work of a dropped delivery away; if that is what the lane waits for, it does so at once. */
async function dropped({ clock, store }: Hall, delivery: Delivery): Promise<Fact[]> {
  const reason = "dropped by the operator";
  const skipped = deliveryState({ ...delivery, state: "skipped", reason, retry_at: null }, clock);
  const lane = deliveryLane(delivery);
  const [first] = await store.read.work("delivery", lane, 1);
  if (first?.ref !== delivery.id) return [skipped];
  return [skipped, { type: "lane_due", lane, run_at: 0 }];
}
