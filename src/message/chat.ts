import { z } from "zod";
import { named, wellFormed } from "./ingest.js";
import { SenderOrPerson } from "./person.js";
import { withoutUndefined } from "./present.js";

const senders = z.union([z.literal("*"), z.array(SenderOrPerson).max(10_000)]);

export const Binding = z.strictObject({
  channel: named(wellFormed.min(1), 255),
  /** `<channel>:<place>`. */
  address: named(wellFormed.min(1), 1024),
  mode: z.enum(["both", "listen", "speak"]).default("both"),
  trace: z.enum(["off", "short", "full"]).default("short"),
  threads: z.enum(["shared", "separate"]).default("shared"),
});
export type Binding = z.infer<typeof Binding>;

const Budget = z.strictObject({
  usd_per_day: z.number().min(0).nullable(),
  tokens_per_day: z.int().min(0).nullable(),
  usd_per_person_per_day: z.number().min(0).nullable(),
});
export type Budget = z.infer<typeof Budget>;

/** No limit at all. */
export const NO_BUDGET: Budget = { usd_per_day: null, tokens_per_day: null, usd_per_person_per_day: null };

const settings = {
  name: wellFormed.min(1).max(255),
  bot_id: wellFormed.min(1).max(255),
  assistant_name: wellFormed.min(1).max(64),
  aliases: z.array(wellFormed.min(1).max(64)).max(100),
  trigger: z.union([
    z.enum(["always", "mention", "sticky"]),
    z.strictObject({ pattern: wellFormed.min(1).max(1000) }),
  ]),
  sticky_s: z.int().min(0).max(604_800),
  allow: senders,
  read: senders,
  allow_bots: z.boolean(),
  loop_limit: z.int().min(1).max(500),
  while_busy: z.enum(["steer", "queue", "collect", "interrupt"]),
  /** Null: as people write on the channel, see `quietMs`. */
  quiet_ms: z.int().min(0).max(60_000).nullable(),
  expire_after_s: z.int().min(1).nullable(),
  model: named(wellFormed, 512).nullable(),
  fallback_model: named(wellFormed, 512).nullable(),
  system_prompt: wellFormed.nullable(),
  notices: z.enum(["system", "tail"]),
  thread_context_role: z.enum(["user", "system"]),
  edits: z.enum(["note", "rewrite", "keep"]),
  time_zone: wellFormed.refine(isTimeZone, "expected a time zone such as Europe/Copenhagen"),
  shell_allow: z.array(SenderOrPerson).max(1000),
  budget: Budget,
  bindings: z.array(Binding).max(100),
};

export const Chat = z.object({ jid: z.string().min(1).max(255), ...settings });
export type Chat = z.infer<typeof Chat>;

/**
 * What may be changed of a chat: everything but its name in the world. Unknown keys are mistakes, said so. Of a budget,
 * limits that are not given stay; null takes all of them away.
 */
export const ChatPatch = z.strictObject({ ...settings, budget: Budget.partial().nullable() }).partial();
export type ChatPatch = z.infer<typeof ChatPatch>;

const JID = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s\p{Cc}\p{Cs}]+$/u, "expected no spaces or control characters")
  .refine((jid) => jid !== "." && jid !== "..", "expected another name: no URL can carry this one");

/** The body that registers a chat; only `jid` is required. */
export const NewChat = ChatPatch.extend({ jid: JID });
export type NewChat = z.infer<typeof NewChat>;

/** A chat with everything not given filled in. */
export function chatWithDefaults(given: NewChat, assistantName: string, aliases: readonly string[]): Chat {
  const name = given.assistant_name ?? assistantName;
  return {
    name: given.jid,
    bot_id: slug(name, "assistant"),
    assistant_name: name,
    aliases: [...aliases],
    trigger: "mention",
    sticky_s: 120,
    allow: "*",
    read: "*",
    allow_bots: false,
    loop_limit: 5,
    while_busy: "steer",
    quiet_ms: null,
    expire_after_s: null,
    model: null,
    fallback_model: null,
    system_prompt: null,
    notices: "system",
    thread_context_role: "user",
    edits: "note",
    time_zone: "UTC",
    shell_allow: [],
    bindings: [],
    ...withoutUndefined(given),
    budget: { ...NO_BUDGET, ...withoutUndefined(given.budget ?? {}) },
    jid: given.jid,
  };
}

/** Channels where people write a thought in several messages. */
const BURSTS: ReadonlySet<string> = new Set(["whatsapp", "imessage", "bluebubbles"]);
const BURST_MS = 400;

/** How long to wait for more before a message that came in by this channel is answered. */
export function quietMs({ quiet_ms }: Pick<Chat, "quiet_ms">, source: string): number {
  return quiet_ms ?? (BURSTS.has(source) ? BURST_MS : 0);
}

/** A name as a machine may spell it; one without Latin letters or digits becomes the other word. */
export function slug(name: string, otherwise: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 64)
    .replace(/^-|-$/g, "");
  return plain || otherwise;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
