import type { Chat, ChatPatch, NewChat } from "../../message/index.js";
import type { KnownAddress } from "../client/index.js";
import type { Typed } from "./command.js";
import type { Connection } from "./connect.js";
import { CommandFailed, columns, type Output } from "./output.js";
import { plain } from "./plain.js";

const TRIGGERS = ["always", "mention", "sticky"] as const;
/** Platforms: a word that begins like their addresses is one, also before anybody spoke there. */
const PLATFORM = /^(?:slack|discord|telegram|whatsapp|bluebubbles|imessage|webhook):./;

/** Who knocked: addresses that belong to no chat, and how to take each in. */
export async function addresses({ client }: Connection, out: Output): Promise<void> {
  const { addresses: known } = await client.addresses({ state: "unregistered", limit: 500 });
  if (out.json) {
    for (const each of known) out.result(each, "");
    return;
  }
  if (known.length === 0) return out.line("Nobody has spoken at an address that belongs to no chat.");
  out.line(
    columns(
      known.map(({ address, name, count, last_seen }) => [
        plain(address),
        plain(name),
        count === 1 ? "once" : `${count} times`,
        `last ${last_seen}`,
      ]),
    ),
  );
  out.line(`\nTake one in: longhand register ${plain(known.at(-1)?.address ?? "")}`);
}

/** Registers a chat; of an address that knocked, with that address bound. */
export async function register({ client }: Connection, typed: Typed, out: Output): Promise<void> {
  const [word = ""] = typed.words;
  const address = typed.text("address");
  if (address !== undefined && !/^[^:]+:./.test(address)) {
    throw new CommandFailed(
      2,
      `--address is "${plain(address)}": expected <channel>:<place>, such as webhook:kitchen.`,
    );
  }
  const { addresses: knocked } = await client.addresses({ state: "unregistered", limit: 500 });
  const made = await client.registerChat(newChat(word, knocked, typed));
  const bound = made.bindings.map(({ address }) => plain(address)).join(", ");
  const words = made.trigger === "always" ? "hello" : `"@${made.assistant_name} hello"`;
  out.result(
    made,
    [
      `Registered ${plain(made.jid)}${bound === "" ? "" : `, bound to ${bound}`}.`,
      `Say something: longhand send --chat ${plain(made.jid)} ${words}`,
    ].join(" "),
  );
}

function newChat(word: string, knocked: readonly KnownAddress[], typed: Typed): NewChat {
  const found = knocked.find(({ address }) => address === word);
  const isAddress = found !== undefined || PLATFORM.test(word);
  const address = typed.text("address") ?? (isAddress ? word : undefined);
  const name = typed.text("name") ?? found?.name;
  const trigger = triggerOf(typed);
  const channel = address?.split(":", 1)[0] ?? "";
  return {
    // An address may hold spaces, a chat's name in the world may not.
    jid: isAddress ? word.replace(/\s+/g, "_") : word,
    ...(name ? { name } : {}),
    ...(trigger ? { trigger } : {}),
    ...(address ? { bindings: [{ channel, address, mode: "both", trace: "short", threads: "shared" }] } : {}),
  };
}

function triggerOf(typed: Typed): NewChat["trigger"] {
  const [word, pattern] = [typed.text("trigger"), typed.text("pattern")];
  if (pattern !== undefined) return { pattern };
  const known = TRIGGERS.find((trigger) => trigger === word);
  if (word === undefined || known) return known;
  throw new CommandFailed(2, "--trigger takes always, mention or sticky; --pattern takes a pattern.");
}

/** Shows a chat's settings, or changes the ones given as `setting=value`. */
export async function settings({ client }: Connection, words: readonly string[], out: Output): Promise<void> {
  const [jid = "", ...changes] = words;
  const chat = changes.length === 0 ? await client.chat(jid) : await client.changeChat(jid, patchOf(changes));
  out.result(chat, table(chat));
}

/** Settings that are words, whatever they look like: a chat may be named 42. */
const WORDS: ReadonlySet<string> = new Set([
  "name",
  "bot_id",
  "assistant_name",
  "model",
  "fallback_model",
  "system_prompt",
  "time_zone",
]);

/** Other values are JSON where they can be read so, and text otherwise: `quiet_ms=400`, `model=demo/demo`, `allow=["slack:U1"]`. */
function patchOf(changes: readonly string[]): ChatPatch {
  return Object.fromEntries(
    changes.map((change) => {
      const at = change.indexOf("=");
      if (at < 1) throw new CommandFailed(2, `"${change}" is no setting=value, such as trigger=always.`);
      const [name, value] = [change.slice(0, at), change.slice(at + 1)];
      return [name, WORDS.has(name) && value !== "null" ? value : readValue(value)];
    }),
  );
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function table(chat: Chat): string {
  return columns(
    Object.entries(chat).map(([name, value]) => [
      name,
      plain(typeof value === "string" ? value : JSON.stringify(value)),
    ]),
  );
}
