import type { Chat } from "../../../message/index.js";
import { counted, dollars, number, surface } from "../figures.js";

/** How a chat is set, in words of people, in the order in which they ask. */
export function settingsInWords(chat: Chat, serverModel: string | null): (readonly [string, string])[] {
  return [
    ["answers", answers(chat)],
    ["may call it", people(chat.allow)],
    ["is read", people(chat.read)],
    [
      "bots",
      chat.allow_bots
        ? `are answered, at most ${number(chat.loop_limit)} times in a row`
        : "are not answered",
    ],
    ["while it writes", BUSY[chat.while_busy]],
    ["model", model(chat, serverModel)],
    ["is told first", chat.system_prompt ?? "a short word about where it is"],
    ["budget", budget(chat.budget)],
    ["late answers", late(chat.expire_after_s)],
    ["shell", chat.shell_allow.length > 0 ? `open to ${people(chat.shell_allow)}` : "closed"],
    ["its day", `begins at midnight in ${chat.time_zone}`],
    ["also on", places(chat)],
  ];
}

/** What to type to change one of them. */
export function settingsCommand({ jid }: Pick<Chat, "jid">): string {
  const isPlain = /^[\w.:@/-]+$/.test(jid);
  return `longhand settings ${isPlain ? jid : `'${jid.replaceAll("'", `'\\''`)}'`} while_busy=queue`;
}

const BUSY: Readonly<Record<Chat["while_busy"], string>> = {
  steer: "what is said joins the answer",
  queue: "what is said is answered afterwards, one by one",
  collect: "what is said is answered afterwards, all at once",
  interrupt: "what is said interrupts it",
};

function answers({ trigger, assistant_name, aliases, sticky_s }: Chat): string {
  const names = [assistant_name, ...aliases].map((name) => `@${name}`).join(", ");
  if (trigger === "always") return "everything";
  if (trigger === "mention") return `when called: ${names}`;
  if (trigger === "sticky")
    return `when called: ${names}; then the same person for ${counted(sticky_s, "second")}`;
  return `when called: ${names}; and what matches ${trigger.pattern}`;
}

function people(who: "*" | readonly string[]): string {
  if (who === "*") return "everyone";
  return who.length === 0 ? "nobody" : who.join(", ");
}

function model({ model: own, fallback_model }: Chat, serverModel: string | null): string {
  const name = own ?? `${serverModel ?? "none"} (the server's)`;
  return fallback_model ? `${name}, or ${fallback_model} when it cannot be reached` : name;
}

function budget({ usd_per_day, tokens_per_day, usd_per_person_per_day }: Chat["budget"]): string {
  const limits = [
    usd_per_day === null ? null : `${dollars(usd_per_day)} a day`,
    tokens_per_day === null ? null : `${number(tokens_per_day)} tokens a day`,
    usd_per_person_per_day === null ? null : `${dollars(usd_per_person_per_day)} a day for each person`,
  ];
  return limits.filter(Boolean).join(", ") || "no limit";
}

function late(seconds: number | null): string {
  return seconds === null ? "are sent however late" : `are not sent after ${counted(seconds, "second")}`;
}

function places({ bindings }: Chat): string {
  const named = bindings.map(({ channel, address, mode }) => {
    const only = mode === "both" ? "" : mode === "listen" ? " (only heard)" : " (only spoken to)";
    return `${surface(channel)} ${address}${only}`;
  });
  return named.join(", ") || "nothing else; it lives on this page";
}
