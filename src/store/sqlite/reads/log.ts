import { EventType, type LoggedEvent } from "../../../message/index.js";
import { cursorOf, positionOf } from "../../events.js";
import type { StoreReads } from "../../store.js";
import type { Prepare, Row, SqlValue } from "../driver.js";
import { number, text, workOf } from "../../rows/columns.js";
import { deliveryOf } from "../../rows/values.js";
import { placeOf } from "./calls.js";

type LogReads = Pick<StoreReads, "work" | "delivery" | "deliveries" | "delivered" | "events" | "lastEvent">;
type DeliveryQuery = Parameters<StoreReads["deliveries"]>[0];

export function logReads(prepare: Prepare): LogReads {
  const one = (id: string) => prepare("SELECT * FROM outbox WHERE id = ?").get(id);
  return {
    work: async (kind, lane, limit) =>
      prepare("SELECT * FROM work WHERE lane = ? AND kind = ? ORDER BY n LIMIT ?")
        .all(lane, kind, limit)
        .map(workOf),

    delivery: async (id) => {
      const row = one(id);
      return row ? deliveryOf(row) : null;
    },
    deliveries: async (query) => {
      const { where, values } = filterOf(query);
      const from = query.after === null ? 0 : placeOf(one(query.after));
      return prepare(`SELECT * FROM outbox WHERE ${where} n > ? ORDER BY n LIMIT ?`)
        .all(...values, from, query.limit)
        .map(deliveryOf);
    },
    delivered: async (address, external_id) => {
      const row = prepare(
        "SELECT * FROM outbox WHERE address = ? AND external_id = ? ORDER BY n DESC LIMIT 1",
      ).get(address, external_id);
      return row ? deliveryOf(row) : null;
    },

    events: async ({ after, chat_jid, limit }) => {
      const from = positionOf(after);
      const rows =
        chat_jid === null
          ? prepare("SELECT * FROM events WHERE cursor > ? ORDER BY cursor LIMIT ?").all(from, limit)
          : prepare("SELECT * FROM events WHERE chat_jid = ? AND cursor > ? ORDER BY cursor LIMIT ?").all(
              chat_jid,
              from,
              limit,
            );
      return rows.map(eventOf);
    },
    lastEvent: async () => {
      const last = prepare("SELECT max(cursor) AS cursor FROM events").get()?.cursor;
      return typeof last === "number" ? cursorOf(last) : null;
    },
  };
}

function filterOf({ chat_jid, message_id, state }: DeliveryQuery): { where: string; values: SqlValue[] } {
  const filters: [string, string | null][] = [
    ["message_id = ? AND", message_id],
    // Said twice so that the index over what is not sent yet can be used.
    [state === "sent" ? "+state = ? AND" : "state <> 'sent' AND state = ? AND", state],
    ["chat_jid = ? AND", chat_jid],
  ];
  const given = filters.filter(([, value]) => value !== null);
  return { where: given.map(([sql]) => sql).join(" "), values: given.map(([, value]) => value) };
}

function eventOf(row: Row): LoggedEvent {
  const type = EventType.exclude(["turn.snapshot", "turn.delta"]).parse(row.type);
  return {
    cursor: cursorOf(number(row.cursor)),
    type,
    chat_jid: text(row.chat_jid),
    at: text(row.at),
    refs: JSON.parse(text(row.refs)),
  };
}
