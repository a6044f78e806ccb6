/** How somebody wants a message placed while a turn runs. */
export type Prefix = "btw" | "todo";

const PREFIX = /^\s*(btw|todo)\s/i;

/** The prefix of a message, read behind its trigger; null when it has none. */
export function readPrefix(words: string): Prefix | null {
  switch (PREFIX.exec(words)?.[1]?.toLowerCase()) {
    case "btw":
      return "btw";
    case "todo":
      return "todo";
    default:
      return null;
  }
}
