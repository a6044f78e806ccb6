import { createClient } from "../client/index.js";

/** What this browser remembers. Where storage is forbidden, the page remembers until it is closed. */
const memory = new Map<string, string>();

function recall(name: string): string | null {
  try {
    return localStorage.getItem(`longhand.${name}`) ?? memory.get(name) ?? null;
  } catch {
    return memory.get(name) ?? null;
  }
}

function remember(name: string, value: string | null): void {
  if (value === null) memory.delete(name);
  else memory.set(name, value);
  try {
    if (value === null) localStorage.removeItem(`longhand.${name}`);
    else localStorage.setItem(`longhand.${name}`, value);
  } catch {
    // Remembered above, for as long as the page lives.
  }
}

export const session = {
  token: (): string | null => recall("token"),
  keepToken: (token: string | null): void => remember("token", token),

  /** Who speaks from this browser: an id that stays, and a name one can change. */
  speaker: (): { id: string; name: string; isPerson: boolean } => {
    const person = recall("person");
    if (person !== null)
      return { id: `web:${person}`, name: recall("person name") ?? person, isPerson: true };
    const id = recall("me") ?? randomId();
    remember("me", id);
    return { id: `web:${id}`, name: recall("name") ?? "Me", isPerson: false };
  },
  /** Whose personal link opened this page; null for the operator's. */
  keepPerson: (person: { id: string; name: string } | null): void => {
    remember("person", person?.id ?? null);
    remember("person name", person?.name ?? null);
  },
  keepName: (name: string): void => remember("name", name),

  draft: (jid: string): string => recall(`draft ${jid}`) ?? "",
  keepDraft: (jid: string, text: string): void => remember(`draft ${jid}`, text === "" ? null : text),
};

/** An id nobody else has. `crypto.randomUUID` is missing on pages that are not served over a secure origin. */
export function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** The one-time code of a link such as `/#code=…`, taken out of the address bar so that it is not kept in a history. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** Changes a code into a token and keeps it. */
export async function enterWithCode(code: string): Promise<string> {
  const { token, person } = await createClient().login(code);
  session.keepToken(token);
  session.keepPerson(person);
  return token;
}
