import { z } from "zod";
import { SenderId, wellFormed } from "./ingest.js";

const senders = z.array(SenderId).max(1000);
const PERSON_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const REF = "person:";

/** One human behind several sender ids: for permissions, budgets and erasure. */
export const Person = z.object({
  id: z.string(),
  name: z.string(),
  senders: z.array(z.string()),
  created_at: z.string(),
});
export type Person = z.infer<typeof Person>;

/** The body that adds a person. Without an `id`, a slug of the name is taken. */
export const NewPerson = z.strictObject({
  id: z.string().regex(PERSON_ID, "expected small letters, digits, - and _, such as olivia").optional(),
  name: wellFormed.min(1).max(255),
  senders: senders.default([]),
});
export type NewPerson = z.infer<typeof NewPerson>;

export const PersonPatch = z.strictObject({ name: wellFormed.min(1).max(255), senders }).partial();
export type PersonPatch = z.infer<typeof PersonPatch>;

/** How `allow` and `read` name a person, among sender ids. */
export function personRef(person: Pick<Person, "id">): string {
  return `${REF}${person.id}`;
}

/** The id of the person an entry of `allow` or `read` names; null when it is a sender id. */
export function personOfRef(entry: string): string | null {
  return entry.startsWith(REF) ? entry.slice(REF.length) : null;
}

/** An entry of a list of who may: a sender id, or a person. */
export const SenderOrPerson = z.string().check((context) => {
  const entry = context.value;
  const id = personOfRef(entry);
  if (id === null ? SenderId.safeParse(entry).success : PERSON_ID.test(id)) return;
  const message = 'expected a sender id such as "slack:U06STGBF4Q0", or a person such as "person:olivia"';
  context.issues.push({ code: "custom", input: entry, message });
});
