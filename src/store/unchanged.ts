import { isDeepStrictEqual } from "node:util";
import type { Chat, Person } from "../message/index.js";
import type { Expectation } from "./store.js";

/** Why a chat is not as it was when it was read, or null when it is. */
export function chatChange(was: Chat, is: Chat | null): string | null {
  if (!is) return `chat ${was.jid} is not registered`;
  return isDeepStrictEqual(is, JSON.parse(JSON.stringify(was)))
    ? null
    : `chat ${was.jid} was changed meanwhile`;
}

/** Why a person is not as they were when they were read, or null when they are. */
export function personChange(
  { id, was }: Extract<Expectation, { type: "person" }>,
  is: Person | null,
  isFormer: boolean,
): string | null {
  if (was === null) return is ? `there is already a person ${id}` : isFormer ? formerPerson(id) : null;
  if (!is) return `there is no person ${id}`;
  return isDeepStrictEqual(is, was) ? null : `person ${id} was changed meanwhile`;
}

export function formerPerson(id: string): string {
  return `${id} was the id of a person who was removed, and is not given again`;
}
