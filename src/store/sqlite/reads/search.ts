import { setImmediate } from "node:timers/promises";
import type { MessageRow } from "../../../message/index.js";
import { holds, lookupOf, termsOf } from "../../search.js";
import type { StoreReads } from "../../store.js";
import type { Prepare } from "../driver.js";
import { messagesOf } from "./lookup.js";
import { number } from "../columns.js";
import { MESSAGE_COLUMNS } from "./rows.js";
import { CHAT_SPAN } from "../indexer.js";

/** Wait until everything said before now can be found. */
export type CatchUp = () => Promise<void>;

/** How many candidates are compared before others on the event loop go first. */
const PAGE = 200;

export function searchReads(prepare: Prepare, catchUp: CatchUp): Pick<StoreReads, "search"> {
  return {
    search: async (chat_jid, words, limit) => {
      const terms = termsOf(words);
      const chat = prepare("SELECT number FROM chats WHERE jid = ?").get(chat_jid);
      if (terms.length === 0 || !chat) return [];
      await catchUp();
      return (await newestFirst(prepare, chat_jid, number(chat.number), terms, limit)).reverse();
    },
  };
}

async function newestFirst(
  prepare: Prepare,
  chat_jid: string,
  chat: number,
  terms: string[],
  limit: number,
): Promise<MessageRow[]> {
  const found: MessageRow[] = [];
  const match = matchOf(terms);
  let below = (chat + 1) * CHAT_SPAN;
  while (found.length < limit) {
    const candidates = prepare(
      "SELECT rowid FROM search WHERE search MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?",
    ).all(match, chat * CHAT_SPAN, below, PAGE);
    const seqs = candidates.map((row) => number(row.rowid) - chat * CHAT_SPAN);
    for (const message of bySeq(prepare, chat_jid, seqs)) {
      if (found.length < limit && holds(message.content, terms)) found.push(message);
    }
    const last = seqs.at(-1);
    if (last === undefined || candidates.length < PAGE) break;
    below = chat * CHAT_SPAN + last;
    await setImmediate();
  }
  return found;
}

function bySeq(prepare: Prepare, chat_jid: string, seqs: number[]): MessageRow[] {
  const rows = prepare(
    `SELECT ${MESSAGE_COLUMNS} FROM json_each(?) wanted JOIN messages m ON m.chat_jid = ? AND m.seq = wanted.value
     ORDER BY m.seq DESC`,
  ).all(JSON.stringify(seqs), chat_jid);
  return messagesOf(prepare, chat_jid, rows);
}

/** A query in the language of the index. Everything a person typed stands in quotes, so none of it is syntax. */
function matchOf(terms: string[]): string {
  return terms
    .map((term) => {
      const lookup = lookupOf(term);
      return "prefix" in lookup ? `${quoted(lookup.prefix)} *` : lookup.grams.map(quoted).join(" AND ");
    })
    .join(" AND ");
}

function quoted(gram: string): string {
  return `"${gram.replaceAll('"', '""')}"`;
}
