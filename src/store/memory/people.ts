import type { Person } from "../../message/index.js";
import type { Fact } from "../store.js";
import { addSpending, NOTHING_SPENT } from "../spending.js";
import { formerPerson } from "../unchanged.js";
import { type Context, conflict, type Refusal } from "./apply.js";
import { plain, type State } from "./state.js";

type Of<T extends Fact["type"]> = Extract<Fact, { type: T }>;

/** Add a person or change one. When they came stays as it was. */
export function keepPerson({ state, journal }: Context, person: Person): Refusal | null {
  const { id, name, senders, created_at } = person;
  if (state.formerPeople.has(id)) return conflict(formerPerson(id));
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

/** What was theirs goes with them; their id stays taken. */
export function removePerson({ state, journal }: Context, id: string): null {
  for (const token of [...state.tokens.values()]) {
    if (token.person_id === id) journal.remove(state.tokens, token.id);
  }
  for (const code of [...state.loginCodes.values()]) {
    if (code.person_id === id) journal.remove(state.loginCodes, code.sha256);
  }
  if (!state.people.has(id)) return null;
  journal.remove(state.people, id);
  journal.set(state.formerPeople, id, true);
  return null;
}

export function keepToken({ state, journal }: Context, { token }: Of<"token">): Refusal | null {
  const taken = [...state.tokens.values()].some(
    ({ id, sha256 }) => id === token.id || sha256 === token.sha256,
  );
  if (taken) return conflict(`there is already a token ${token.id}, or one with the same secret`);
  journal.set(state.tokens, token.id, plain(token));
  return null;
}

/** Adds a code, and forgets those whose time is over. */
export function keepLoginCode({ state, journal }: Context, { code, now }: Of<"login_code">): Refusal | null {
  for (const { sha256, expires_at } of [...state.loginCodes.values()]) {
    if (expires_at <= now) journal.remove(state.loginCodes, sha256);
  }
  if (state.loginCodes.has(code.sha256)) return conflict("there is already such a login code");
  journal.set(state.loginCodes, code.sha256, { ...code });
  return null;
}

export function useLoginCode({ state, journal }: Context, sha256: string): Refusal | null {
  if (!state.loginCodes.has(sha256)) return conflict("there is no such login code, or it was used");
  journal.remove(state.loginCodes, sha256);
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
