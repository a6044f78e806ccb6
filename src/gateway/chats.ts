import {
  type Budget,
  type Chat,
  ChatPatch,
  chatWithDefaults,
  errorsOf,
  type FieldError,
  NewChat,
  NO_BUDGET,
} from "../message/index.js";
import type { Expectation } from "../store/store.js";
import { patternProblem } from "./admissionPattern.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { namedPeople } from "./people.js";

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
  for (;;) {
    const people = await namedPeople(hall, listsOf(parsed.data));
    const errors = [...(await checkChat(hall, chat)), ...people.errors];
    if (errors.length > 0) return { status: "invalid", errors };
    const result = await write(hall, chat, [{ type: "chat_absent", jid: chat.jid }, ...people.expect]);
    if (result !== "changed") return result;
  }
}

/** Change some of a chat's settings. What others change at the same time stays changed. */
export async function changeChat(hall: Hall, jid: string, body: unknown): Promise<ChatResult> {
  const parsed = ChatPatch.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const given = Object.fromEntries(Object.entries(parsed.data).filter(([, value]) => value !== undefined));
  for (;;) {
    const before = await hall.store.read.chat(jid);
    if (!before) return { status: "unknown" };
    const chat: Chat = { ...before, ...given, budget: changedBudget(before.budget, parsed.data.budget) };
    const people = await namedPeople(hall, listsOf(parsed.data));
    const errors = [...(await checkChat(hall, chat)), ...people.errors];
    if (errors.length > 0) return { status: "invalid", errors };
    const result = await write(hall, chat, [{ type: "chat_unchanged", chat: before }, ...people.expect]);
    if (result !== "changed") return result;
  }
}

/** Limits that are not given stay as they are; null takes all of them away. */
function changedBudget(before: Budget, given: ChatPatch["budget"]): Budget {
  if (given === null) return NO_BUDGET;
  const { usd_per_day, tokens_per_day, usd_per_person_per_day } = given ?? {};
  return {
    usd_per_day: usd_per_day === undefined ? before.usd_per_day : usd_per_day,
    tokens_per_day: tokens_per_day === undefined ? before.tokens_per_day : tokens_per_day,
    usd_per_person_per_day:
      usd_per_person_per_day === undefined ? before.usd_per_person_per_day : usd_per_person_per_day,
  };
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

/** Write a chat; `changed` when it, or a person it names, is not as it was read: worth another look. */
async function write(hall: Hall, chat: Chat, expect: Expectation[]): Promise<ChatResult | "changed"> {
  const result = await hall.store.commit({
    expect,
    facts: [{ type: "chat", chat, at: iso(hall.clock.now()) }],
  });
  hall.chats.forget();
  const unmet = result.status === "conflict" ? result.expectation?.type : undefined;
  if (unmet === "chat_unchanged" || unmet === "person") return "changed";
  if (result.status === "committed") return { status: "ok", chat };
  if (result.status === "conflict") return { status: "conflict", why: result.why };
  return { status: "conflict", why: `could not be written: ${result.status}` };
}

/** The lists of who may, so far as they are given. */
function listsOf({ allow, read, shell_allow }: ChatPatch) {
  return { allow, read, shell_allow };
}

/** What only the whole chat can tell: addresses that fit their channel, a model we can find, a pattern we can match. */
async function checkChat(hall: Hall, chat: Chat): Promise<FieldError[]> {
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
    const found = name === null ? null : await hall.resolveModel(name);
    if (found && !found.ok) errors.push({ path: field, reason: found.why });
    if (found?.ok && field === "fallback_model" && found.model.api === "container")
      errors.push({
        path: field,
        reason: "expected a model: a container can be a chat's model, not its fallback",
      });
  }
  return errors;
}
