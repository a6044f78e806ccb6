import {
  type Chat,
  errorsOf,
  type FieldError,
  NewPerson,
  type Person,
  PersonPatch,
  personOfRef,
  slug,
} from "../message/index.js";
import type { CommitResult, Fact } from "../store/store.js";
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

/** Add a person: a name, and the sender ids that are theirs. */
export async function addPerson(hall: Hall, body: unknown): Promise<PersonResult> {
  const parsed = NewPerson.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const { name, senders } = parsed.data;
  const id = parsed.data.id ?? (await freeId(hall, slug(name, "person")));
  if (await personById(hall, id)) return { status: "conflict", why: `There is a person ${id} already.` };
  return keep(hall, { id, name, senders, created_at: iso(hall.clock.now()) });
}

/** Change a person's name, or which sender ids are theirs: a list given takes the place of the one before. */
export async function changePerson(hall: Hall, id: string, body: unknown): Promise<PersonResult> {
  const parsed = PersonPatch.safeParse(body);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "", body) };
  const before = await personById(hall, id);
  if (!before) return { status: "unknown" };
  const { name = before.name, senders = before.senders } = parsed.data;
  return keep(hall, { ...before, name, senders });
}

/** Forget that these sender ids are one person, and take their links back. What they said stays. */
export async function removePerson(hall: Hall, id: string): Promise<boolean> {
  if (!(await personById(hall, id))) return false;
  const tokens = (await hall.store.read.tokens()).filter((token) => token.person_id === id);
  const facts: Fact[] = [
    { type: "person_removed", id },
    ...tokens.map((token): Fact => ({ type: "token_removed", id: token.id })),
  ];
  return (await hall.store.commit({ facts })).status === "committed";
}

/**
 * The chat with everybody's sender ids in the place of people: for whoever asks about a sender without looking
 * anybody up, such as the assembler.
 */
export async function withPeople(hall: Pick<Hall, "store">, chat: Chat): Promise<Chat> {
  const lists = [chat.allow, chat.read, chat.shell_allow];
  if (!lists.some((list) => list !== "*" && list.some((entry) => personOfRef(entry) !== null))) return chat;
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

/** Names of people in these lists that nobody bears: a slip of the pen would let nobody in, silently. */
export async function unknownPeople(
  hall: Pick<Hall, "store">,
  lists: Readonly<Record<string, Chat["allow"] | undefined>>,
): Promise<FieldError[]> {
  const errors: FieldError[] = [];
  for (const [field, list] of Object.entries(lists)) {
    if (list === undefined || list === "*") continue;
    for (const [index, entry] of list.entries()) {
      const id = personOfRef(entry);
      if (id === null || (await personById(hall, id))) continue;
      errors.push({ path: `${field}[${index}]`, reason: `there is no person "${id}"; add them first` });
    }
  }
  return errors;
}

async function keep(hall: Hall, given: Person): Promise<PersonResult> {
  const person = { ...given, senders: [...new Set([...given.senders, webSender(given.id)])] };
  return written(person, await hall.store.commit({ facts: [{ type: "person", person }] }));
}

function written(person: Person, result: CommitResult): PersonResult {
  if (result.status === "committed") return { status: "ok", person };
  if (result.status === "conflict") return { status: "conflict", why: result.why };
  return { status: "conflict", why: `could not be written: ${result.status}` };
}

/** Two people of one name are two people. */
async function freeId(hall: Hall, wanted: string): Promise<string> {
  for (let count = 1; ; count++) {
    const id = count === 1 ? wanted : `${wanted.slice(0, 56)}-${count}`;
    if (!(await hall.store.read.personOf(webSender(id)))) return id;
  }
}
