import { v7 } from "uuid";

/**
 * A new id: unique, and sortable by the time it was made.
 * Code below the gateway is handed its ids; factories fall back to this for library users.
 */
export function newId(now: number = Date.now()): string {
  return v7({ msecs: now });
}
