/** How the page spells times, sizes and money. */

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const longDay = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const count = new Intl.NumberFormat(undefined);

export function timeOf(at: string): string {
  return spell(clock, at);
}

/** The day and the second, for whoever hovers a time. */
export function momentOf(at: string): string {
  return spell(moment, at);
}

export function dayOf(at: string, now: Date = new Date()): string {
  const year = new Date(at).getFullYear();
  return spell(year === now.getFullYear() ? weekday : longDay, at);
}

export function number(value: number): string {
  return count.format(value);
}

/** "1 message", "3 messages". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function bytes(size: number): string {
  if (size < 10_000) return `${number(size)} B`;
  if (size < 10_000_000) return `${number(Math.round(size / 1000))} kB`;
  return `${number(Math.round(size / 1_000_000))} MB`;
}

/** A window, or a count of tokens, as people say it: 200k, 1M. */
export function roughly(tokens: number): string {
  if (tokens >= 1_000_000) return `${number(Math.round(tokens / 100_000) / 10)}M`;
  return tokens >= 1000 ? `${number(Math.round(tokens / 1000))}k` : number(tokens);
}

/** No tokenizer of ours is exact for every model; four bytes to a token is right in the median. */
export function aboutTokens(size: number): string {
  return `≈ ${number(Math.max(1, Math.round(size / 4)))} tok`;
}

export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** An unknown price is said to be unknown: it is not free. */
export function dollars(amount: number | null): string {
  if (amount === null) return "price unknown";
  if (amount === 0) return "$0";
  return amount < 0.01 ? `$${amount.toPrecision(2)}` : `$${amount.toFixed(2)}`;
}

const SURFACES: Readonly<Record<string, string>> = {
  slack: "Slack",
  discord: "Discord",
  whatsapp: "WhatsApp",
  telegram: "Telegram",
  imessage: "iMessage",
  bluebubbles: "iMessage",
  web: "web page",
  tui: "terminal",
  terminal: "terminal",
  http: "HTTP",
};

/** The name people know a channel by. */
export function surface(source: string): string {
  return SURFACES[source] ?? source;
}

function spell(format: Intl.DateTimeFormat, at: string): string {
  const time = Date.parse(at);
  return Number.isNaN(time) ? at : format.format(time);
}
