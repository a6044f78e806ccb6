import { EventType, type LoggedEvent } from "../../../message/index.js";
import { cursorOf, positionOf } from "../../events.js";
import { number, text, workOf } from "../../rows/columns.js";
import { deliveryOf } from "../../rows/values.js";
import type { StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { dueBy } from "../skew.js";
import { first } from "./first.js";

type LogReads = Pick<StoreReads, "work" | "delivery" | "deliveries" | "delivered" | "events" | "lastEvent">;

export function logReads(query: Query, clock: (() => number) | null): LogReads {
  return {
    work: async (kind, lane, limit) => {
      const asked = clock?.() ?? null;
      const rows = await query(
        "SELECT *, longhand_now() AS now FROM work WHERE lane = $1 AND kind = $2 ORDER BY n LIMIT $3",
        lane,
        kind,
        limit,
      );
      return rows.map((row) => dueBy(workOf(row), asked === null ? 0 : number(row.now) - Math.floor(asked)));
    },

    delivery: (id) => first(query("SELECT * FROM outbox WHERE id = $1", id), deliveryOf),
    deliveries: async ({ chat_jid, message_id, state, after, limit }) => {
      const values: unknown[] = [];
      const filters = ["true"];
      const filter = (before: string, value: string | null, behind = ""): void => {
        if (value !== null) filters.push(`${before} $${values.push(value)}${behind}`);
      };
      filter("message_id =", message_id);
      // Said twice so that the index over what is not sent yet can be used.
      filter(state === "sent" ? "state =" : "state <> 'sent' AND state =", state);
      filter("chat_jid =", chat_jid);
      // After a delivery that is not there comes nothing: no number is greater than null.
      filter("n > (SELECT n FROM outbox WHERE id =", after, ")");
      const rows = await query(
        `SELECT * FROM outbox WHERE ${filters.join(" AND ")} ORDER BY n LIMIT $${values.push(limit)}`,
        ...values,
      );
      return rows.map(deliveryOf);
    },
    delivered: (address, external_id) =>
      first(
        query(
          "SELECT * FROM outbox WHERE address = $1 AND external_id = $2 ORDER BY n DESC LIMIT 1",
          address,
          external_id,
        ),
        deliveryOf,
      ),

    events: async ({ after, chat_jid, limit }) => {
      const from = positionOf(after);
      const rows =
        chat_jid === null
          ? await query("SELECT * FROM events WHERE cursor > $1 ORDER BY cursor LIMIT $2", from, limit)
          : await query(
              "SELECT * FROM events WHERE chat_jid = $1 AND cursor > $2 ORDER BY cursor LIMIT $3",
              chat_jid,
              from,
              limit,
            );
      return rows.map(eventOf);
    },
    lastEvent: () =>
      first(query("SELECT cursor FROM events ORDER BY cursor DESC LIMIT 1"), (row) =>
        cursorOf(number(row.cursor)),
      ),
  };
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
