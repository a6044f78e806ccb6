import { number } from "../rows/columns.js";
import type { Prepare } from "./driver.js";

/**
 * The numbers a transaction hands out to messages. They are counted here and written to their chats once, at its end:
 * nobody else can write meanwhile, and a chat in which much is said is changed once instead of once per message.
 */
export type Numbers = {
  /** The next number of a chat, or null when it is not registered. */
  next(chat_jid: string): number | null;
  /** Have messages of a chat been erased, whose number was asked for? Read along with it, for it is asked each time. */
  hasErased(chat_jid: string): boolean;
  /** Messages are being erased: from here on, any chat may have some. */
  erase(): void;
  /** Write the number of a chat now, because the chat itself is about to change. */
  settle(chat_jid: string): void;
  /** From here on, `undo` takes back. */
  begin(): void;
  undo(): void;
  /** Write all of them. */
  end(): void;
};

export function numbersIn(prepare: Prepare): Numbers {
  const last = new Map<string, number>();
  const withErased = new Set<string>();
  let erases = false;
  let earlier: [string, number | undefined][] = [];

  const put = (chat_jid: string, seq: number | undefined): void => {
    if (seq === undefined) last.delete(chat_jid);
    else last.set(chat_jid, seq);
  };
  const change = (chat_jid: string, seq: number | undefined): void => {
    earlier.push([chat_jid, last.get(chat_jid)]);
    put(chat_jid, seq);
  };
  const write = (chat_jid: string, seq: number): void => {
    prepare("UPDATE chats SET last_seq = ? WHERE jid = ?").run(seq, chat_jid);
  };

  const lastStored = (chat_jid: string): number | null => {
    const row = prepare("SELECT last_seq, erased FROM chats WHERE jid = ? AND removed_at IS NULL").get(
      chat_jid,
    );
    if (row && row.erased !== 0) withErased.add(chat_jid);
    return row ? number(row.last_seq) : null;
  };

  return {
    hasErased: (chat_jid) => erases || withErased.has(chat_jid),
    erase() {
      erases = true;
    },
    next(chat_jid) {
      const before = last.get(chat_jid) ?? lastStored(chat_jid);
      if (before === null) return null;
      change(chat_jid, before + 1);
      return before + 1;
    },
    settle(chat_jid) {
      const seq = last.get(chat_jid);
      if (seq === undefined) return;
      write(chat_jid, seq);
      change(chat_jid, undefined);
    },
    begin() {
      earlier = [];
    },
    undo() {
      for (const [chat_jid, seq] of earlier.reverse()) put(chat_jid, seq);
      earlier = [];
    },
    end() {
      for (const [chat_jid, seq] of last) write(chat_jid, seq);
    },
  };
}
