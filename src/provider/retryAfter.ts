/**
 * How long a server asks us to wait. A date is measured against the server's own clock where it tells it, so that
 * ours may be wrong; without either clock a date says nothing.
 */
export function retryAfterMs(headers: Headers, now: (() => number) | undefined): number | null {
  const exact = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(exact)) return Math.max(0, Math.round(exact));
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(asked)) return Math.round(Number.parseFloat(asked) * 1000);
  const until = Date.parse(asked);
  const serverNow = Date.parse(headers.get("date") ?? "");
  const from = Number.isNaN(serverNow) ? now?.() : serverNow;
  return Number.isNaN(until) || from === undefined ? null : Math.max(0, until - from);
}
