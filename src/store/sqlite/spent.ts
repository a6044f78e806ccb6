import { NOTHING_SPENT } from "../spending.js";
import type { Fact, Spending } from "../store.js";
import { spendingOf } from "../rows/columns.js";
import type { Prepare } from "./driver.js";

/** Adds to what the account spent that day. */
export function spend(prepare: Prepare, { account, day, spending }: Extract<Fact, { type: "spent" }>): null {
  prepare(
    `INSERT INTO spent (account, day, calls, unpriced, input_tokens, output_tokens, cache_read_tokens,
       cache_write_tokens, usd)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (account, day) DO UPDATE SET
       calls = calls + excluded.calls,
       unpriced = unpriced + excluded.unpriced,
       input_tokens = input_tokens + excluded.input_tokens,
       output_tokens = output_tokens + excluded.output_tokens,
       cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
       cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
       usd = usd + excluded.usd`,
  ).run(
    account,
    day,
    spending.calls,
    spending.unpriced,
    spending.input_tokens,
    spending.output_tokens,
    spending.cache_read_tokens,
    spending.cache_write_tokens,
    spending.usd,
  );
  return null;
}

export function spentOn(prepare: Prepare, account: string, day: string): Spending {
  const row = prepare("SELECT * FROM spent WHERE account = ? AND day = ?").get(account, day);
  return row ? spendingOf(row) : NOTHING_SPENT;
}
