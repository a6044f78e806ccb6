import { useEffect, useState } from "preact/hooks";
import type { UsageLine } from "../../../message/index.js";
import { counted, dollars, number, surface } from "../figures.js";
import { explain, type Page, type State } from "../state.js";

const KINDS = ["day", "chat", "model", "person"] as const;
type Kind = (typeof KINDS)[number];
type Read = { by: Kind; lines: UsageLine[] } | { by: Kind; why: string };

/** The days shown at first; older ones on demand. */
const DAYS = 30;

/** What was used, and what it cost: a ledger by day, chat, model or person. */
export function Usage({ page, state }: { page: Page; state: State }) {
  const [by, setBy] = useState<Kind>("day");
  const [all, setAll] = useState(false);
  const [read, setRead] = useState<Read | null>(null);

  useEffect(() => {
    const stop = new AbortController();
    page.client.usage({ by, signal: stop.signal, ...(all ? {} : { from: daysAgo(DAYS - 1) }) }).then(
      ({ usage }) => setRead({ by, lines: usage }),
      (error: unknown) => stop.signal.aborted || setRead({ by, why: explain(page, error) }),
    );
    return () => stop.abort();
  }, [page, by, all]);

  return (
    <main class="conversation">
      <header class="title">
        <button class="quiet back" type="button" onClick={() => page.set({ view: "chats" })}>
          ‹ chats
        </button>
        <h2>Usage</h2>
        <fieldset class="switch" aria-label="Add up by">
          {KINDS.map((kind) => (
            <button key={kind} type="button" aria-pressed={kind === by} onClick={() => setBy(kind)}>
              {kind}
            </button>
          ))}
        </fieldset>
      </header>
      <div class="letters">
        <p class="hint">
          {all ? "Since the beginning. " : `The last ${DAYS} days. `}
          <button class="quiet" type="button" onClick={() => setAll(!all)}>
            {all ? `only the last ${DAYS} days` : "since the beginning"}
          </button>
        </p>
        <Ledger read={read} state={state} />
      </div>
    </main>
  );
}

function Ledger({ read, state }: { read: Read | null; state: State }) {
  if (read === null) return <p class="hint">Adding up…</p>;
  if ("why" in read) {
    return (
      <p class="trouble" role="alert">
        {read.why}
      </p>
    );
  }
  const lines = inOrder(read);
  if (lines.length === 0) return <p class="hint">No model was called in this time.</p>;
  const total = lines.reduce(added);
  const most = Math.max(...lines.map(tokensOf));
  return (
    <>
      <table class="ledger">
        <thead>
          <tr>
            <th scope="col">{read.by}</th>
            <th scope="col" class="spare">
              calls
            </th>
            <th scope="col">tokens in</th>
            <th scope="col" class="spare">
              from the cache
            </th>
            <th scope="col">out</th>
            <th scope="col">money</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.key} line={line} name={nameOf(read.by, line.key, state)} most={most} />
          ))}
        </tbody>
        <tfoot>
          <Line line={total} name="together" most={0} />
        </tfoot>
      </table>
      {total.unpriced > 0 && (
        <p class="hint">{counted(total.unpriced, "call")} of unknown price not counted in the money.</p>
      )}
    </>
  );
}

function Line({ line, name, most }: { line: UsageLine; name: string; most: number }) {
  const share = most === 0 ? 0 : (100 * tokensOf(line)) / most;
  return (
    <tr>
      <th scope="row" title={line.key}>
        <bdi>{name}</bdi>
        <svg class="bar" aria-hidden="true" viewBox="0 0 100 1" preserveAspectRatio="none">
          <rect width={share} height="1" />
        </svg>
      </th>
      <td class="spare">{number(line.calls)}</td>
      <td>{number(tokensIn(line))}</td>
      <td class="spare">{number(line.cache_read_tokens)}</td>
      <td>{number(line.output_tokens)}</td>
      <td>
        {line.unpriced === line.calls && line.calls > 0 ? "price unknown" : dollars(line.usd)}
        {line.unpriced > 0 && line.unpriced < line.calls && <span class="source"> + ?</span>}
      </td>
    </tr>
  );
}

/** Days newest first, like a ledger read from its end; everything else by how much it took. */
function inOrder({ by, lines }: { by: Kind; lines: readonly UsageLine[] }): UsageLine[] {
  return by === "day" ? lines.toReversed() : lines.toSorted((a, b) => tokensOf(b) - tokensOf(a));
}

function nameOf(by: Kind, key: string, { chats }: State): string {
  if (by === "chat") return chats?.find(({ jid }) => jid === key)?.name ?? key;
  if (by !== "person") return key;
  const [kind, source = "", ...rest] = key.split(":");
  if (kind === "person") return [source, ...rest].join(":");
  return `somebody on ${surface(source)}, ${rest.join(":").slice(0, 12)}`;
}

function added(a: UsageLine, b: UsageLine): UsageLine {
  return {
    key: "",
    calls: a.calls + b.calls,
    unpriced: a.unpriced + b.unpriced,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    usd: a.usd + b.usd,
  };
}

function tokensIn(line: UsageLine): number {
  return line.input_tokens + line.cache_read_tokens + line.cache_write_tokens;
}

function tokensOf(line: UsageLine): number {
  return tokensIn(line) + line.output_tokens;
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
