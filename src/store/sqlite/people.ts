import type { Person } from "../../message/index.js";
import { text } from "../rows/columns.js";
import { formerPerson } from "../unchanged.js";
import type { Prepare } from "./driver.js";
import { conflict } from "./facts.js";
import type { Refusal } from "./wire.js";

/** Add a person or change one. When they came stays as it was. */
export function keepPerson(prepare: Prepare, { id, name, senders, created_at }: Person): Refusal | null {
  if (isFormer(prepare, id)) return conflict(formerPerson(id));
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

/** What was theirs goes with them; their id stays taken. */
export function removePerson(prepare: Prepare, id: string): null {
  prepare("DELETE FROM person_senders WHERE person_id = ?").run(id);
  prepare("DELETE FROM tokens WHERE person_id = ?").run(id);
  prepare("DELETE FROM login_codes WHERE person_id = ?").run(id);
  prepare("UPDATE people SET removed = 1, name = '' WHERE id = ?").run(id);
  return null;
}

export function personNow(prepare: Prepare, id: string): Person | null {
  const row = prepare("SELECT name, created_at FROM people WHERE id = ? AND removed = 0").get(id);
  if (!row) return null;
  const senders = prepare("SELECT sender FROM person_senders WHERE person_id = ? ORDER BY rowid").all(id);
  return {
    id,
    name: text(row.name),
    senders: senders.map(({ sender }) => text(sender ?? null)),
    created_at: text(row.created_at),
  };
}

export function isFormer(prepare: Prepare, id: string): boolean {
  return prepare("SELECT 1 AS found FROM people WHERE id = ? AND removed = 1").get(id) !== undefined;
}
