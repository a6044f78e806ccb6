import { type EncodeMemory, encodeMemory } from "../agent/index.js";

/** So many threads are remembered; who speaks again is asked about soonest. */
const MOST_THREADS = 16;
/** What is longer is remembered within its turn at most: a memory holds the request's text and messages. */
const MOST_CHARACTERS = 2 * 1024 * 1024;

const memories = new WeakMap<object, Map<string, EncodeMemory>>();

/**
 * What the last request of a thread left behind in this process. Messages are read from the store anew for every
 * request and compared word for word, so a memory is never wrong, only of more or less use.
 */
export function memoryOf(hall: object, chatJid: string, threadId: string): EncodeMemory {
  const all = memories.get(hall) ?? new Map<string, EncodeMemory>();
  memories.set(hall, all);
  const key = JSON.stringify([chatJid, threadId]);
  const memory = all.get(key) ?? encodeMemory();
  all.delete(key);
  const threads = [...all.keys()];
  const [oldest, newest] = [threads[0], threads.at(-1)];
  // Only the one that was used last can have grown.
  if (newest !== undefined && isLong(all.get(newest))) all.delete(newest);
  if (oldest !== undefined && all.size >= MOST_THREADS) all.delete(oldest);
  all.set(key, memory);
  return memory;
}

function isLong(memory: EncodeMemory | undefined): boolean {
  const texts = memory?.spelled.texts ?? [];
  return texts.reduce((sum, text) => sum + text.length, 0) > MOST_CHARACTERS;
}
