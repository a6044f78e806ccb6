import type { Binding, Chat } from "../../../message/index.js";
import type { StoreReads } from "../../store.js";
import type { Prepare, Row } from "../driver.js";
import { bytesOrNull, text } from "../../rows/columns.js";
import { addressOf, bindingOf, chatOf, loginCodeOf, tokenOf } from "../../rows/values.js";

type ChatReads = Pick<
  StoreReads,
  "chat" | "chats" | "chatOfAddress" | "addresses" | "token" | "tokens" | "loginCode" | "blockKey" | "labels"
>;

export function chatReads(prepare: Prepare): ChatReads {
  const chatOn = (row: Row | undefined): Chat | null => {
    if (!row) return null;
    const bindings = prepare("SELECT * FROM bindings WHERE chat_jid = ? ORDER BY position").all(
      text(row.jid),
    );
    return chatOf(row, bindings.map(bindingOf));
  };
  return {
    chat: async (jid) =>
      chatOn(prepare("SELECT jid, settings FROM chats WHERE jid = ? AND removed_at IS NULL").get(jid)),

    chats: async () => {
      const bindings = new Map<string, Binding[]>();
      for (const row of prepare("SELECT * FROM bindings ORDER BY chat_jid, position").all()) {
        const jid = text(row.chat_jid);
        bindings.set(jid, [...(bindings.get(jid) ?? []), bindingOf(row)]);
      }
      const rows = prepare("SELECT jid, settings FROM chats WHERE removed_at IS NULL ORDER BY number").all();
      return rows.map((row) => chatOf(row, bindings.get(text(row.jid)) ?? []));
    },

    chatOfAddress: async (address) =>
      chatOn(
        prepare(
          `SELECT c.jid, c.settings FROM bindings b JOIN chats c ON c.jid = b.chat_jid
           WHERE b.address = ? AND c.removed_at IS NULL`,
        ).get(address),
      ),

    addresses: async () =>
      prepare(
        `SELECT * FROM addresses a WHERE NOT EXISTS (SELECT 1 FROM bindings b WHERE b.address = a.address)
         ORDER BY last_seen, address`,
      )
        .all()
        .map(addressOf),

    labels: async (chat_jid) =>
      prepare("SELECT folded, label, sender FROM labels WHERE chat_jid = ? ORDER BY folded")
        .all(chat_jid)
        .map((row) => ({ folded: text(row.folded), label: text(row.label), sender: text(row.sender) })),

    token: async (sha256) => {
      const row = prepare("SELECT * FROM tokens WHERE sha256 = ?").get(sha256);
      return row ? tokenOf(row) : null;
    },
    tokens: async () => prepare("SELECT * FROM tokens ORDER BY created_at, id").all().map(tokenOf),

    loginCode: async (sha256) => {
      const row = prepare("SELECT * FROM login_codes WHERE sha256 = ?").get(sha256);
      return row ? loginCodeOf(row) : null;
    },

    blockKey: async (chat_jid) =>
      bytesOrNull(prepare("SELECT block_key FROM chats WHERE jid = ?").get(chat_jid)?.block_key),
  };
}
