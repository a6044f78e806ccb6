import type { UsageLine } from "../message/index.js";
import type { Spending, Store } from "../store/store.js";

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
      lines.set(key, sum(lines.get(key) ?? { key, ...NOTHING }, spending));
    }
  }
  return [...lines.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

const NOTHING: Spending = {
  calls: 0,
  unpriced: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  usd: 0,
};

/** People keep their prefix, so that nobody passes for one; chats and models are known by their own names. */
function nameOf(account: string): string {
  return account.replace(/^(?:chat|model):/, "");
}

function sum(line: UsageLine, spending: Spending): UsageLine {
  return {
    key: line.key,
    calls: line.calls + spending.calls,
    unpriced: line.unpriced + spending.unpriced,
    input_tokens: line.input_tokens + spending.input_tokens,
    output_tokens: line.output_tokens + spending.output_tokens,
    cache_read_tokens: line.cache_read_tokens + spending.cache_read_tokens,
    cache_write_tokens: line.cache_write_tokens + spending.cache_write_tokens,
    usd: line.usd + spending.usd,
  };
}
