import type { Chat } from "../../message/index.js";
import type { Fact, Token } from "../store.js";
import { text } from "../rows/columns.js";
import type { Prepare } from "./driver.js";
import { conflict } from "./facts.js";
import type { Refusal } from "./wire.js";

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** Register a chat or change it. A chat that comes back has its messages, its numbers and its key again. */
export function keepChat(prepare: Prepare, chat: Chat, at: string): Refusal | null {
  const { bindings, ...settings } = chat;
  prepare(
    `INSERT INTO chats (jid, settings, block_key, registered_at) VALUES (?, ?, randomblob(32), ?)
     ON CONFLICT (jid) DO UPDATE SET settings = excluded.settings, removed_at = NULL`,
  ).run(chat.jid, JSON.stringify(settings), at);
  prepare("DELETE FROM bindings WHERE chat_jid = ?").run(chat.jid);
  for (const [position, { address, channel, mode, trace, threads }] of bindings.entries()) {
    const { changes } = prepare(
      `INSERT INTO bindings (address, chat_jid, position, channel, mode, trace, threads)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ).run(address, chat.jid, position, channel, mode, trace, threads);
    if (changes === 0) return alreadyBound(prepare, chat.jid, address);
  }
  return null;
}

function alreadyBound(prepare: Prepare, jid: string, address: string): Refusal {
  const row = prepare("SELECT chat_jid FROM bindings WHERE address = ?").get(address);
  if (row?.chat_jid === jid) return conflict(`address ${address} is given twice`);
  return conflict(`address ${address} is bound to chat ${row?.chat_jid}`);
}

/** The chat as it is set now; null when it is not registered. */
export function chatNow(prepare: Prepare, jid: string): Chat | null {
  const row = prepare("SELECT settings FROM chats WHERE jid = ? AND removed_at IS NULL").get(jid);
  if (!row) return null;
  const bindings = prepare(
    "SELECT channel, address, mode, trace, threads FROM bindings WHERE chat_jid = ? ORDER BY position",
  ).all(jid);
  return { ...JSON.parse(text(row.settings)), bindings: bindings.map((binding) => ({ ...binding })) };
}

/** The chat is no longer registered. What was said in it stays. */
export function removeChat(prepare: Prepare, jid: string, at: string): Refusal | null {
  const { changes } = prepare("UPDATE chats SET removed_at = ? WHERE jid = ? AND removed_at IS NULL").run(
    at,
    jid,
  );
  if (changes === 0) return conflict(`chat ${jid} is not registered`);
  prepare("DELETE FROM bindings WHERE chat_jid = ?").run(jid);
  return null;
}

export function knock(prepare: Prepare, fact: Of<"knock">): null {
  prepare(
    `INSERT INTO addresses (address, channel, name, first_seen, last_seen, count) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT (address) DO UPDATE
     SET channel = excluded.channel, name = excluded.name, last_seen = excluded.last_seen, count = count + 1`,
  ).run(fact.address, fact.channel, fact.name, fact.at, fact.at);
  return null;
}

/** A name in a chat belongs to the first sender who bore it. */
export function keepLabel(prepare: Prepare, fact: Of<"label">): Refusal | null {
  const { changes } = prepare(
    `INSERT INTO labels (chat_jid, folded, label, sender) VALUES (?, ?, ?, ?)
     ON CONFLICT (chat_jid, folded) DO UPDATE SET label = excluded.label WHERE sender = excluded.sender`,
  ).run(fact.chat_jid, fact.folded, fact.label, fact.sender);
  return changes === 0 ? conflict(`the name ${fact.label} is taken in this chat`) : null;
}

/** Adds a code, and forgets those whose time is over. */
export function keepLoginCode(prepare: Prepare, { code, now }: Of<"login_code">): Refusal | null {
  prepare("DELETE FROM login_codes WHERE expires_at <= ?").run(now);
  const { changes } = prepare(
    "INSERT INTO login_codes (sha256, person_id, expires_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  ).run(code.sha256, code.person_id, code.expires_at);
  return changes === 0 ? conflict("there is already such a login code") : null;
}

export function useLoginCode(prepare: Prepare, sha256: string): Refusal | null {
  const { changes } = prepare("DELETE FROM login_codes WHERE sha256 = ?").run(sha256);
  return changes === 0 ? conflict("there is no such login code, or it was used") : null;
}

export function keepToken(prepare: Prepare, token: Token): Refusal | null {
  const { changes } = prepare(
    `INSERT INTO tokens (id, name, sha256, scopes, created_at, person_id) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  ).run(token.id, token.name, token.sha256, JSON.stringify(token.scopes), token.created_at, token.person_id);
  return changes === 0 ? conflict(`there is already a token ${token.id}, or one with the same secret`) : null;
}
