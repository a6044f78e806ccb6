import type { Person } from "../../message/index.js";
import type { Fact } from "../store.js";
import { addSpending, NOTHING_SPENT } from "../spending.js";
import { type Context, conflict, type Refusal } from "./apply.js";
import type { State } from "./state.js";

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** Add a person or change one. When they came stays as it was. */
export function keepPerson({ state, journal }: Context, person: Person): Refusal | null {
  const { id, name, senders, created_at } = person;
  const mine = new Set(senders);
  for (const sender of mine) {
    const other = personOf(state, sender);
    if (other && other.id !== id) return conflict(`sender ${sender} belongs to person ${other.id}`);
  }
  const earlier = state.people.get(id);
  journal.set(state.people, id, {
    id,
    name,
    senders: [...mine],
    created_at: earlier?.created_at ?? created_at,
  });
  return null;
}

export function personOf(state: State, sender: string): Person | null {
  return [...state.people.values()].find(({ senders }) => senders.includes(sender)) ?? null;
}

/** Adds to what the account spent that day. */
export function spend({ state, journal }: Context, { account, day, spending }: Of<"spent">): Refusal | null {
  const days = new Map(state.spent.get(account));
  days.set(day, addSpending(days.get(day) ?? NOTHING_SPENT, spending));
  journal.set(state.spent, account, days);
  return null;
}
