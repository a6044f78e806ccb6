import type { Person } from "../../message/index.js";
import type { Prepare } from "./driver.js";
import { conflict } from "./facts.js";
import type { Refusal } from "./wire.js";

/** Add a person or change one. When they came stays as it was. */
export function keepPerson(prepare: Prepare, { id, name, senders, created_at }: Person): Refusal | null {
  prepare(
    `INSERT INTO people (id, name, created_at) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name`,
  ).run(id, name, created_at);
  prepare("DELETE FROM person_senders WHERE person_id = ?").run(id);
  for (const sender of new Set(senders)) {
    const { changes } = prepare(
      "INSERT INTO person_senders (sender, person_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
    ).run(sender, id);
    if (changes === 0) return belongsTo(prepare, sender);
  }
  return null;
}

function belongsTo(prepare: Prepare, sender: string): Refusal {
  const row = prepare("SELECT person_id FROM person_senders WHERE sender = ?").get(sender);
  return conflict(`sender ${sender} belongs to person ${row?.person_id}`);
}

export function removePerson(prepare: Prepare, id: string): null {
  prepare("DELETE FROM person_senders WHERE person_id = ?").run(id);
  prepare("DELETE FROM people WHERE id = ?").run(id);
  return null;
}
