import {
  type Chat,
  ChatPatch,
  chatWithDefaults,
  errorsOf,
  type FieldError,
  NewChat,
} from "../message/index.js";
import { patternProblem } from "./admissionPattern.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { unknownPeople } from "./people.js";

export type ChatResult =
  | { status: "ok"; chat: Chat }
  | { status: "unknown" }
  | { status: "invalid"; errors: FieldError[] }
  | { status: "conflict"; why: string };

/** Register a chat. Only `jid` is required. */
export async function registerChat(hall: Hall, body: unknown): Promise<ChatResult> {
  const parsed = NewChat.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const chat = chatWithDefaults(parsed.data, hall.assistantName, hall.aliases);
  const errors = [...checkChat(hall, chat), ...(await unknownPeople(hall, listsOf(parsed.data)))];
  if (errors.length > 0) return { status: "invalid", errors };
  return write(hall, chat, { type: "chat_absent", jid: chat.jid });
}

/** Change some of a chat's settings. */
export async function changeChat(hall: Hall, jid: string, body: unknown): Promise<ChatResult> {
  const parsed = ChatPatch.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const before = await hall.store.read.chat(jid);
  if (!before) return { status: "unknown" };
  const given = Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined));
  const chat: Chat = { ...before, ...given };
  const errors = [...checkChat(hall, chat), ...(await unknownPeople(hall, listsOf(parsed.data)))];
  if (errors.length > 0) return { status: "invalid", errors };
  return write(hall, chat, { type: "chat_present", jid });
}

/** Unregister a chat: its messages stay readable in the database, nothing in it is processed any more. */
export async function removeChat(hall: Hall, jid: string): Promise<boolean> {
  const result = await hall.store.commit({
    expect: [{ type: "chat_present", jid }],
    facts: [{ type: "chat_removed", jid, at: iso(hall.clock.now()) }],
  });
  hall.chats.forget();
  return result.status === "committed";
}

async function write(
  hall: Hall,
  chat: Chat,
  expectation: { type: "chat_absent" | "chat_present"; jid: string },
): Promise<ChatResult> {
  const result = await hall.store.commit({
    expect: [expectation],
    facts: [{ type: "chat", chat, at: iso(hall.clock.now()) }],
  });
  hall.chats.forget();
  if (result.status === "committed") return { status: "ok", chat };
  if (result.status === "conflict") return { status: "conflict", why: result.why };
  return { status: "conflict", why: `could not be written: ${result.status}` };
}

/** The lists of who may, so far as they are given. */
function listsOf({ allow, read, shell_allow }: ChatPatch) {
  return { allow, read, shell_allow };
}

/** What only the whole chat can tell: addresses that fit their channel, a model we can find, a pattern we can match. */
function checkChat(hall: Hall, chat: Chat): FieldError[] {
  const errors: FieldError[] = [];
  const problem = typeof chat.trigger === "object" ? patternProblem(chat.trigger.pattern) : null;
  if (problem !== null) errors.push({ path: "trigger.pattern", reason: problem });
  for (const [index, binding] of chat.bindings.entries()) {
    const place = `${binding.channel}:`;
    if (!binding.address.startsWith(place) || binding.address === place) {
      errors.push({ path: `bindings[${index}].address`, reason: `expected "${binding.channel}:<place>"` });
    }
  }
  const addresses = chat.bindings.map((binding) => binding.address);
  const twice = addresses.findIndex((address, index) => addresses.indexOf(address) !== index);
  if (twice >= 0) errors.push({ path: `bindings[${twice}].address`, reason: "bound twice in this chat" });
  for (const field of ["model", "fallback_model"] as const) {
    const name = chat[field];
    const found = name === null ? null : hall.resolveModel(name);
    if (found && !found.ok) errors.push({ path: field, reason: found.why });
    if (found?.ok && field === "fallback_model" && found.model.api === "container")
      errors.push({
        path: field,
        reason: "expected a model: a container can be a chat's model, not its fallback",
      });
  }
  return errors;
}
