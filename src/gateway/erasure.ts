import { type Erasure, errorsOf, type FieldError, personOfRef, SenderOrPerson } from "../message/index.js";
import type { Erasing, Fact } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";
import { personById, strikeOut } from "./people.js";

export type ErasureResult =
  | { status: "erased"; erasure: Erasure }
  | { status: "unknown" }
  | { status: "invalid"; errors: FieldError[] };

/** How long we wait for a store to take the traces from its disk, and how often we look. */
const SCRUB_MS = 60_000;
const LOOK_MS = 20;

/**
 * Erase a person: what they said, were called and attached, wherever it is kept. `whom` is a sender id, with which all
 * others go that are the same person's, or `person:<id>`. One commit: a crash leaves everything or nothing.
 */
export async function eraseSender(hall: Hall, whom: string): Promise<ErasureResult> {
  const parsed = SenderOrPerson.safeParse(whom);
  if (!parsed.success) return { status: "invalid", errors: errorsOf(parsed.error, "id", whom) };
  for (;;) {
    const personId = personOfRef(whom);
    const person =
      personId === null ? await hall.store.read.personOf(whom) : await personById(hall, personId);
    if (personId !== null && !person) return { status: "unknown" };
    const senders = person?.senders ?? [whom];
    const accounts = senders.map((sender) => `sender:${sender}`);
    const erasing: Erasing = {
      id: hall.clock.newId(),
      senders,
      names: person ? [person.name] : [],
      accounts: person ? [...accounts, `person:${person.id}`] : accounts,
      at: iso(hall.clock.now()),
    };
    const facts: Fact[] = [{ type: "senders_erased", erasing }];
    const refs = person ? [`person:${person.id}`, ...senders] : senders;
    if (person) facts.push({ type: "person_removed", id: person.id });
    const unchanged = person ? [{ type: "person", id: person.id, was: person } as const] : [];
    if (!(await strikeOut(hall, refs, unchanged, facts))) continue;
    hall.chats.forget();
    const erasure = await scrubbed(hall, erasing.id);
    if (!erasure || (erasure.messages === 0 && !person)) return { status: "unknown" };
    // Not who it was: the log is kept.
    const { id: _id, at: _at, ...counts } = erasure;
    hall.log("info", "senders.erased", { erasure: erasing.id, ...counts, scrubbed: String(counts.scrubbed) });
    return { status: "erased", erasure };
  }
}

/** The erasure, once its traces are gone, or after a while as it is then: the store goes on with it. */
async function scrubbed(hall: Hall, id: string): Promise<Erasure | null> {
  for (let waited = 0; ; waited += LOOK_MS) {
    const erasure = await hall.store.read.erasure(id);
    if (!erasure || erasure.scrubbed || waited >= SCRUB_MS) return erasure;
    await hall.clock.sleep(LOOK_MS);
  }
}
