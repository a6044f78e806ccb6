import { createHash } from "node:crypto";

/** Which tool-call ids an API takes, and how one is made that it does. */
export type IdRule = { fits: RegExp; make(digest: string): string };

/** The letters of the ids that servers give themselves; the dots and colons are Kimi's, whose templates read them. */
export const UP_TO_40: IdRule = {
  fits: /^[A-Za-z0-9_.:-]{1,40}$/,
  make: (digest) => `call_${digest.slice(0, 32)}`,
};

export const EXACTLY_9: IdRule = { fits: /^[A-Za-z0-9]{9}$/, make: (digest) => digest.slice(0, 9) };

/** Gives ids, and takes back those it gave last. */
export type IdGiver = {
  give(id: string): string;
  /** How many it has given. */
  count(): number;
  /** As if only so many had been given. */
  rewind(count: number): void;
};

/**
 * Gives every call of a history an id of its own that the API takes, in order of appearance. An id that fits stays
 * as it is; two calls never share one, also when they came with the same. Later calls never change earlier ids, so
 * that a request still begins with the bytes of the one before it.
 */
export function idGiver(rule: IdRule): IdGiver {
  const log: { id: string; given: string; use: number }[] = [];
  const taken = new Set<string>();
  const uses = new Map<string, number>();
  return {
    give(id) {
      let use = uses.get(id) ?? 0;
      let given = rule.fits.test(id) ? id : rule.make(digestOf(id, use));
      while (taken.has(given)) given = rule.make(digestOf(id, ++use));
      uses.set(id, use + 1);
      taken.add(given);
      log.push({ id, given, use });
      return given;
    },
    count: () => log.length,
    rewind(count) {
      for (const { id, given } of log.splice(count)) {
        taken.delete(given);
        uses.delete(id);
      }
      if (uses.size === log.length) return;
      for (const { id, use } of log) uses.set(id, use + 1);
    },
  };
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** A tool's name in letters every API takes; a name that has other ones is told apart by a digest. */
export function wireToolName(name: string): string {
  if (NAME.test(name)) return name;
  const readable = name.replace(/[^a-zA-Z0-9_-]+/g, "_").slice(0, 50);
  return `${readable}_${digestOf(name, 0).slice(0, 12)}`;
}

/** JSON keeps lone surrogates apart that UTF-8 would make equal. */
function digestOf(text: string, use: number): string {
  return createHash("sha256")
    .update(JSON.stringify([text, use]))
    .digest("hex");
}
