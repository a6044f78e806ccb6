import {
  type Chat,
  errorsOf,
  type FieldError,
  NewPerson,
  type Person,
  PersonPatch,
  personOfRef,
  personRef,
  slug,
} from "../message/index.js";
import type { Expectation, Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

export type PersonResult =
  | { status: "ok"; person: Person }
  | { status: "unknown" }
  | { status: "invalid"; errors: FieldError[] }
  | { status: "conflict"; why: string };

/** As whom a person speaks through a link of their own. */
export function webSender(personId: string): string {
  return `web:${personId}`;
}

/** A person by id. */
export async function personById(hall: Pick<Hall, "store">, id: string): Promise<Person | null> {
  const person = await hall.store.read.personOf(webSender(id));
  return person?.id === id ? person : null;
}

/** Add a person: a name, and the sender ids that are theirs. An id that was ever somebody's is not given again. */
export async function addPerson(hall: Hall, body: unknown): Promise<PersonResult> {
  const parsed = NewPerson.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const { name, senders } = parsed.data;
  const wanted = parsed.data.id ?? slug(name, "person");
  for (let count = 1; ; count++) {
    // Two people of one name are two people.
    const id = count === 1 ? wanted : `${wanted.slice(0, 56)}-${count}`;
    const result = await keep(hall, { id, name, senders, created_at: iso(hall.clock.now()) }, null);
    if (result.status !== "changed") return result;
    if (parsed.data.id !== undefined) return { status: "conflict", why: result.why };
  }
}

/** Change a person's name, or which sender ids are theirs: a list given takes the place of the one before. */
export async function changePerson(hall: Hall, id: string, body: unknown): Promise<PersonResult> {
  const parsed = PersonPatch.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  for (;;) {
    const before = await personById(hall, id);
    if (!before) return { status: "unknown" };
    const { name = before.name, senders = before.senders } = parsed.data;
    const result = await keep(hall, { ...before, name, senders }, before);
    if (result.status !== "changed") return result;
  }
}

/**
 * Forget that these sender ids are one person, take their links back, and take them out of every chat's lists. A list
 * that is empty then lets nobody in. What they said stays.
 */
export async function removePerson(hall: Hall, id: string): Promise<boolean> {
  for (;;) {
    const person = await personById(hall, id);
    if (!person) return false;
    const removed: Fact = { type: "person_removed", id };
    const unchanged: Expectation = { type: "person", id, was: person };
    if (await strikeOut(hall, [personRef({ id })], [unchanged], [removed])) break;
  }
  // A chat may have come to name them just before they were removed; none can after that.
  while (!(await strikeOut(hall, [personRef({ id })], [], [])));
  hall.chats.forget();
  return true;
}

/**
 * Take somebody out of the chats that name them in one of these ways, together with these facts; false when something
 * changed meanwhile.
 */
export async function strikeOut(
  hall: Hall,
  refs: readonly string[],
  expect: Expectation[],
  facts: Fact[],
): Promise<boolean> {
  const naming = (await hall.store.read.chats()).filter((chat) =>
    listsOf(chat).some((list) => list !== "*" && list.some((entry) => refs.includes(entry))),
  );
  if (naming.length === 0 && facts.length === 0) return true;
  const at = iso(hall.clock.now());
  const result = await hall.store.commit({
    expect: [...expect, ...naming.map((chat): Expectation => ({ type: "chat_unchanged", chat }))],
    facts: [...facts, ...naming.map((chat): Fact => ({ type: "chat", chat: without(chat, refs), at }))],
  });
  return result.status === "committed";
}

function listsOf({ allow, read, shell_allow }: Chat): Chat["allow"][] {
  return [allow, read, shell_allow];
}

function without(chat: Chat, refs: readonly string[]): Chat {
  const left = (list: readonly string[]): string[] => list.filter((entry) => !refs.includes(entry));
  const { allow, read, shell_allow } = chat;
  return {
    ...chat,
    allow: allow === "*" ? allow : left(allow),
    read: read === "*" ? read : left(read),
    shell_allow: left(shell_allow),
  };
}

/**
 * The chat with everybody's sender ids in the place of people: for whoever asks about a sender without looking
 * anybody up, such as the assembler.
 */
export async function withPeople(hall: Pick<Hall, "store">, chat: Chat): Promise<Chat> {
  if (!listsOf(chat).some((list) => list !== "*" && list.some((entry) => personOfRef(entry) !== null)))
    return chat;
  const people = new Map((await hall.store.read.people()).map((person) => [person.id, person.senders]));
  const spelled = (list: readonly string[]): string[] =>
    list.flatMap((entry) => {
      const id = personOfRef(entry);
      return id === null ? [entry] : (people.get(id) ?? []);
    });
  const everybody = (list: Chat["allow"]): Chat["allow"] => (list === "*" ? list : spelled(list));
  return {
    ...chat,
    allow: everybody(chat.allow),
    read: everybody(chat.read),
    shell_allow: spelled(chat.shell_allow),
  };
}

/**
 * Names of people in these lists that nobody bears: a slip of the pen would let nobody in, silently. And what must still
 * hold when the lists are written: that the others are there.
 */
export async function namedPeople(
  hall: Pick<Hall, "store">,
  lists: Readonly<Record<string, Chat["allow"] | undefined>>,
): Promise<{ errors: FieldError[]; expect: Expectation[] }> {
  const errors: FieldError[] = [];
  const expect: Expectation[] = [];
  for (const [field, list] of Object.entries(lists)) {
    if (list === undefined || list === "*") continue;
    for (const [index, entry] of list.entries()) {
      const id = personOfRef(entry);
      if (id === null) continue;
      const person = await personById(hall, id);
      if (person) expect.push({ type: "person", id, was: person });
      else errors.push({ path: `${field}[${index}]`, reason: `there is no person "${id}"; add them first` });
    }
  }
  return { errors, expect };
}

type Kept = PersonResult | { status: "changed"; why: string };

/** Write a person who must be as they were: null for somebody new. */
async function keep(hall: Hall, given: Person, was: Person | null): Promise<Kept> {
  const { id } = given;
  const person = { ...given, senders: [...new Set([...given.senders, webSender(id)])] };
  const result = await hall.store.commit({
    expect: [{ type: "person", id, was }],
    facts: [{ type: "person", person }],
  });
  if (result.status === "committed") return { status: "ok", person };
  if (result.status !== "conflict")
    return { status: "conflict", why: `could not be written: ${result.status}` };
  return { status: result.expectation === null ? "conflict" : "changed", why: result.why };
}
