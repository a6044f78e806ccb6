import type { UsageLine } from "../message/index.js";
import { addSpending, NOTHING_SPENT, type Store } from "../store/store.js";

export type UsageQuery = {
  by: "chat" | "person" | "model" | "day";
  from?: string | undefined;
  to?: string | undefined;
};

/** Which accounts tell what; whoever nobody linked to a person is known by the sender id. */
const ACCOUNTS = {
  chat: ["chat:"],
  person: ["person:", "sender:"],
  model: ["model:"],
  day: ["server"],
} as const;

/** What was used from one day to another, inclusive, summed up by chat, person, model or day. */
export async function usageOf(read: Store["read"], query: UsageQuery): Promise<UsageLine[]> {
  const { by, from = "0000-01-01", to = "9999-12-31" } = query;
  const lines = new Map<string, UsageLine>();
  for (const under of ACCOUNTS[by]) {
    for (const { account, day, spending } of await read.spent({ accounts: { under }, from, to })) {
      const key = by === "day" ? day : nameOf(account);
      lines.set(key, { key, ...addSpending(lines.get(key) ?? NOTHING_SPENT, spending) });
    }
  }
  return [...lines.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** People keep their prefix, so that nobody passes for one; chats and models are known by their own names. */
function nameOf(account: string): string {
  return account.replace(/^(?:chat|model):/, "");
}
