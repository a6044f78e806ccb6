import { calls } from "./contract/calls.js";
import { chats } from "./contract/chats.js";
import { edits } from "./contract/edits.js";
import { erasure } from "./contract/erasure.js";
import { lanes } from "./contract/lanes.js";
import { log } from "./contract/log.js";
import { messages } from "./contract/messages.js";
import { once } from "./contract/once.js";
import { outcomes } from "./contract/outcomes.js";
import { people } from "./contract/people.js";
import type { Check } from "./contract/sample.js";
import { retention } from "./contract/retention.js";
import { search } from "./contract/search.js";
import { spending } from "./contract/spending.js";
import { closing } from "./contract/closing.js";
import { tree } from "./contract/tree.js";
import type { Store } from "./store.js";

const ROOMS: [string, Check[]][] = [
  ["messages", messages],
  ["once", once],
  ["outcomes and revisions", outcomes],
  ["edits", edits],
  ["work", lanes],
  ["tree", tree],
  ["calls", calls],
  ["log and outbox", log],
  ["chats", chats],
  ["people", people],
  ["spending", spending],
  ["search", search],
  ["erasure", erasure],
  ["retention", retention],
  ["closing", closing],
];

export type ContractCase = { name: string; run(): Promise<void> };

/**
 * What every store must do, as cases for any test framework. `open` gives a new, empty store each time.
 * A case rejects with an `AssertionError` that says what was expected.
 *
 * @example
 * for (const { name, run } of storeContract(() => openMyStore(newFile()))) test(name, run);
 */
export function storeContract(open: () => Promise<Store>): ContractCase[] {
  return ROOMS.flatMap(([room, checks]) =>
    checks.map(({ name, check }) => ({
      name: `${room}: ${name}`,
      async run() {
        const store = await open();
        try {
          await check(store);
        } finally {
          await store.close();
        }
      },
    })),
  );
}
