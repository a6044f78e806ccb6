import type { Entry, Expectation, Fact, PathEntry, Turn, Work } from "../store/store.js";
import { iso } from "./clock.js";
import type { Hall } from "./hall.js";

/** Messages that are not read again, in a thread. */
export type LeftOutOfThread = {
  chatJid: string;
  threadId: string;
  works: readonly Work[];
  left: Turn | null;
};

/**
 * The facts that leave messages out of a thread from now on: whatever they did to the turn that read them, they would do
 * to the next one too. What others said meanwhile stays; what the turn itself said goes with it, onto a branch of its own.
 */
export async function leaveOut(
  hall: Hall,
  { chatJid, threadId, works, left }: LeftOutOfThread,
): Promise<{ facts: Fact[]; expect: Expectation[] }> {
  const { read } = hall.store;
  const head = await read.head(chatJid, threadId);
  const untaken = await read.untaken(chatJid, threadId, hall.limits.window);
  const gone = new Set(works.map(({ ref }) => ref));
  const at = iso(hall.clock.now());
  const place = { chat_jid: chatJid, thread_id: threadId, at };
  const aside = untaken
    .filter((row) => gone.has(row.id))
    .map(
      (row): Entry => ({ ...place, ...NO_TURN, id: hall.clock.newId(), parent: head, message_id: row.id }),
    );
  const path = left && head !== null ? await read.path(chatJid, head, hall.limits.window) : [];
  const first = path.findIndex(({ turn_id }) => turn_id !== null && turn_id === left?.id);
  const facts = aside.map((entry): Fact => ({ type: "entry", entry }));
  const expect: Expectation[] = [{ type: "head", chat_jid: chatJid, thread_id: threadId, entry_id: head }];
  if (first === -1) return { facts, expect };
  let parent = path[first]?.parent ?? null;
  for (const { message: _, ...entry } of path.slice(first).filter((entry) => isOthers(entry, gone, left))) {
    const copy: Entry = { ...entry, id: hall.clock.newId(), parent, at };
    facts.push({ type: "entry", entry: copy });
    parent = copy.id;
  }
  return { facts: [...facts, { ...place, type: "head", entry_id: parent, reason: "set aside" }], expect };
}

const NO_TURN = { kind: "message", turn_id: null, data: {} } as const;

/** Was it said by somebody else, neither among what is left out nor by the turn that read it? */
function isOthers({ message_id, message }: PathEntry, gone: ReadonlySet<string>, left: Turn | null): boolean {
  if (message_id !== null && gone.has(message_id)) return false;
  return message === null || message.turn_id === null || message.turn_id !== left?.id;
}
