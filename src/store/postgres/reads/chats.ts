import type { Binding, Chat, Person } from "../../../message/index.js";
import { bytesOrNull, text } from "../../rows/columns.js";
import { addressOf, bindingOf, chatOf, loginCodeOf, tokenOf } from "../../rows/values.js";
import { spendingOf } from "../../rows/columns.js";
import type { StoreReads } from "../../store.js";
import type { Query, Row } from "../connect.js";
import { first } from "./first.js";

type ChatReads = Pick<
  StoreReads,
  | "chat"
  | "chats"
  | "chatOfAddress"
  | "addresses"
  | "token"
  | "tokens"
  | "loginCode"
  | "blockKey"
  | "labels"
  | "people"
  | "personOf"
  | "spent"
>;

/** No name goes on with a character beyond the last one there is. */
const LAST = "\u{10ffff}";

/** With their bindings, which must be of the same moment: asked for together. */
const CHATS = `SELECT c.jid, c.settings, b.address, b.channel, b.mode, b.trace, b.threads
  FROM chats c LEFT JOIN bindings b ON b.chat_jid = c.jid WHERE c.removed_at IS NULL`;
const PEOPLE = `SELECT p.id, p.name, p.created_at, s.sender
  FROM people p LEFT JOIN person_senders s ON s.person_id = p.id`;

export function chatReads(query: Query): ChatReads {
  return {
    chat: async (jid) => chatsIn(await query(`${CHATS} AND c.jid = $1 ORDER BY b.position`, jid))[0] ?? null,
    chats: async () => chatsIn(await query(`${CHATS} ORDER BY c.number, b.position`)),
    chatOfAddress: async (address) =>
      chatsIn(
        await query(
          `${CHATS} AND c.jid = (SELECT chat_jid FROM bindings WHERE address = $1) ORDER BY b.position`,
          address,
        ),
      )[0] ?? null,
    addresses: async () => {
      const rows = await query(
        `SELECT * FROM addresses a WHERE NOT EXISTS (SELECT 1 FROM bindings b WHERE b.address = a.address)
         ORDER BY last_seen, address`,
      );
      return rows.map(addressOf);
    },
    labels: async (chat_jid) => {
      const rows = await query(
        "SELECT folded, label, sender FROM labels WHERE chat_jid = $1 ORDER BY folded",
        chat_jid,
      );
      return rows.map((row) => ({
        folded: text(row.folded),
        label: text(row.label),
        sender: text(row.sender),
      }));
    },

    people: async () =>
      peopleIn(await query(`${PEOPLE} WHERE p.removed = 0 ORDER BY p.created_at, p.id, s.position`)),
    personOf: async (sender) =>
      peopleIn(
        await query(
          `${PEOPLE} WHERE p.id = (SELECT person_id FROM person_senders WHERE sender = $1) ORDER BY s.position`,
          sender,
        ),
      )[0] ?? null,
    spent: async ({ accounts, from, to }) => {
      const rows =
        "is" in accounts
          ? await query(
              "SELECT * FROM spent WHERE account = $1 AND day BETWEEN $2 AND $3 ORDER BY day",
              accounts.is,
              from,
              to,
            )
          : await query(
              `SELECT * FROM spent WHERE account >= $1 AND account < $2 AND day BETWEEN $3 AND $4
               ORDER BY account, day`,
              accounts.under,
              accounts.under + LAST,
              from,
              to,
            );
      return rows.map((row) => ({
        account: text(row.account),
        day: text(row.day),
        spending: spendingOf(row),
      }));
    },

    token: (sha256) => first(query("SELECT * FROM tokens WHERE sha256 = $1", sha256), tokenOf),
    tokens: async () => (await query("SELECT * FROM tokens ORDER BY created_at, id")).map(tokenOf),
    loginCode: (sha256) => first(query("SELECT * FROM login_codes WHERE sha256 = $1", sha256), loginCodeOf),
    blockKey: (chat_jid) =>
      first(query("SELECT block_key FROM chats WHERE jid = $1", chat_jid), (row) =>
        bytesOrNull(row.block_key),
      ),
  };
}

/** Rows of a chat and one binding each, as chats. */
function chatsIn(rows: readonly Row[]): Chat[] {
  const bindings = new Map<string, Binding[]>();
  const settings = new Map<string, Row>();
  for (const row of rows) {
    const jid = text(row.jid);
    settings.set(jid, row);
    const known = bindings.get(jid) ?? [];
    bindings.set(jid, row.address === null ? known : [...known, bindingOf(row)]);
  }
  return [...settings].map(([jid, row]) => chatOf(row, bindings.get(jid) ?? []));
}

function peopleIn(rows: readonly Row[]): Person[] {
  const people = new Map<string, Person>();
  for (const row of rows) {
    const id = text(row.id);
    const person = people.get(id) ?? {
      id,
      name: text(row.name),
      senders: [],
      created_at: text(row.created_at),
    };
    if (row.sender !== null) person.senders.push(text(row.sender));
    people.set(id, person);
  }
  return [...people.values()];
}
