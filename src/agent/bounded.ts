import { createContext, Script } from "node:vm";

type Work = { run: () => unknown };

const place: Work = { run: () => null };
const context = createContext(place);
const script = new Script("run()");

/**
 * Does something that never waits, and breaks it off when it takes longer: a stranger's pattern may need years for forty
 * characters, and all chats would wait with it. Null: it was broken off. Takes a tenth of a millisecond itself.
 */
export function bounded<T>(run: () => T, limitMs: number): { value: T } | null {
  let done: { value: T } | null = null;
  place.run = () => {
    done = { value: run() };
  };
  try {
    script.runInContext(context, { timeout: limitMs });
    return done;
  } catch (error) {
    if (isTimeout(error)) return null;
    throw error;
  } finally {
    place.run = () => null;
  }
}

/** By its code: the error is made in the script's own realm, where `Error` is another. */
function isTimeout(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
