import { z } from "zod";
import { wellFormed } from "./ingest.js";

const senders = z.array(wellFormed.min(1).max(320)).max(1000);

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
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "expected small letters, digits, - and _, such as olivia")
    .optional(),
  name: wellFormed.min(1).max(255),
  senders: senders.default([]),
});
export type NewPerson = z.infer<typeof NewPerson>;

export const PersonPatch = z.strictObject({ name: wellFormed.min(1).max(255), senders }).partial();
export type PersonPatch = z.infer<typeof PersonPatch>;

/** How `allow` and `read` name a person, among sender ids. */
export function personRef(person: Pick<Person, "id">): string {
  return `person:${person.id}`;
}
