import type { Person } from "../../../message/index.js";
import type { StoreReads } from "../../store.js";
import { text } from "../../rows/columns.js";
import type { Prepare, Row } from "../driver.js";
import { spendingOf } from "../../rows/columns.js";

type PeopleReads = Pick<StoreReads, "people" | "personOf" | "spent">;

/** No name goes on with a character beyond the last one there is. */
const LAST = "\u{10ffff}";

export function peopleReads(prepare: Prepare): PeopleReads {
  return {
    people: async () => {
      const senders = new Map<string, string[]>();
      for (const row of prepare("SELECT person_id, sender FROM person_senders ORDER BY rowid").all()) {
        const id = text(row.person_id);
        senders.set(id, [...(senders.get(id) ?? []), text(row.sender)]);
      }
      const rows = prepare("SELECT * FROM people WHERE removed = 0 ORDER BY created_at, id").all();
      return rows.map((row) => onePerson(row, senders.get(text(row.id)) ?? []));
    },

    personOf: async (sender) => {
      const row = prepare(
        "SELECT p.* FROM person_senders s JOIN people p ON p.id = s.person_id WHERE s.sender = ?",
      ).get(sender);
      if (!row) return null;
      const senders = prepare("SELECT sender FROM person_senders WHERE person_id = ? ORDER BY rowid").all(
        text(row.id),
      );
      return onePerson(
        row,
        senders.map((one) => text(one.sender)),
      );
    },

    spent: async ({ accounts, from, to }) => {
      const rows =
        "is" in accounts
          ? prepare("SELECT * FROM spent WHERE account = ? AND day BETWEEN ? AND ? ORDER BY day").all(
              accounts.is,
              from,
              to,
            )
          : prepare(
              `SELECT * FROM spent WHERE account >= ? AND account < ? AND day BETWEEN ? AND ?
               ORDER BY account, day`,
            ).all(accounts.under, accounts.under + LAST, from, to);
      return rows.map((row) => ({
        account: text(row.account),
        day: text(row.day),
        spending: spendingOf(row),
      }));
    },
  };
}

function onePerson(row: Row, senders: string[]): Person {
  return { id: text(row.id), name: text(row.name), senders, created_at: text(row.created_at) };
}
