import { workIn } from "./lane.js";
import { report } from "./report.js";
import type { Fact, News, WorkKind } from "./store.js";

type Listener = (news: News) => void;

export type Newsroom = {
  subscribe(listener: Listener): () => void;
  tell(news: News): void;
};

/** Tells everyone who asked to look again. A listener that throws is a bug of its own; the others are told all the same. */
export function newsroom(): Newsroom {
  const listeners = new Set<Listener>();
  return {
    subscribe(listener) {
      const one: Listener = (news) => listener(news);
      listeners.add(one);
      return () => void listeners.delete(one);
    },
    tell(news) {
      if (news.work.length === 0 && !news.events && !news.settings) return;
      for (const listener of listeners) {
        try {
          listener(news);
        } catch (error) {
          report(error);
        }
      }
    },
  };
}

/** Kinds of work that facts bring. */
export function kindsIn(facts: readonly Fact[]): WorkKind[] {
  const kinds = new Set<WorkKind>();
  for (const fact of facts) {
    const work = workIn(fact);
    if (work) kinds.add(work.kind);
    // Lanes whose holders lose them are free at once.
    if (fact.type === "senders_erased") kinds.add("turn");
  }
  return [...kinds];
}

const SETTINGS: ReadonlySet<Fact["type"]> = new Set([
  "chat",
  "chat_removed",
  "person",
  "person_removed",
  "senders_erased",
  "token",
  "token_removed",
]);

/** Do these facts change what an operator set: chats, people, tokens? */
export function changesSettings(facts: readonly Fact[]): boolean {
  return facts.some(({ type }) => SETTINGS.has(type));
}
