import type { Client } from "../client/index.js";
import { BLANK, type Page, type State } from "./state.js";

/** The page's state and whoever draws it. */
export type Notebook = Page & {
  /** Told after each change. Returns how to stop. */
  subscribe(listener: (state: State) => void): () => void;
};

export function createNotebook(client: Client): Notebook {
  let state = BLANK;
  const listeners = new Set<(state: State) => void>();
  return {
    client,
    state: () => state,
    set: (change) => {
      state = { ...state, ...change };
      for (const listener of listeners) listener(state);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
