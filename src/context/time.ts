import { timeMarker } from "./markers.js";

const LONG_PAUSE_MS = 3 * 60 * 60 * 1000;
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

/**
 * One line with the local date and time, when there is something to tell: the day changed, hours have passed, or
 * nothing came before. Otherwise null.
 *
 * @example timeLine(null, "2026-11-15T14:18:00Z", "Europe/Copenhagen") === "[Time: Sunday, 15 November 2026, 15:18, Europe/Copenhagen]"
 */
export function timeLine(previousAt: string | null, at: string, timeZone: string): string | null {
  const now = Date.parse(at);
  const clock = clockOf(timeZone);
  if (Number.isNaN(now) || clock === null) return null;
  const local = clock(now);
  if (previousAt !== null && !isWorthTelling(Date.parse(previousAt), now, local, clock)) return null;
  const weekday = DAYS[new Date(Date.UTC(local.year, local.month - 1, local.day)).getUTCDay()];
  const date = `${weekday}, ${local.day} ${MONTHS[local.month - 1]} ${local.year}`;
  return timeMarker(`${date}, ${two(local.hour)}:${two(local.minute)}, ${timeZone}`);
}

type Local = { year: number; month: number; day: number; hour: number; minute: number };
type Clock = (moment: number) => Local;

function isWorthTelling(previous: number, now: number, local: Local, clock: Clock): boolean {
  if (Number.isNaN(previous)) return true;
  if (now - previous >= LONG_PAUSE_MS) return true;
  const before = clock(previous);
  return before.day !== local.day || before.month !== local.month || before.year !== local.year;
}

const clocks = new Map<string, Clock | null>();

/** Making a formatter is slow, so each zone's is made once. Null for a zone this machine does not know. */
function clockOf(timeZone: string): Clock | null {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const made = makeClock(timeZone);
  if (clocks.size < 1000) clocks.set(timeZone, made);
  return made;
}

const MINUTE_MS = 60_000;
/** Since then, zones are set, and put forward and back, by full quarters of an hour. */
const IN_QUARTERS = Date.UTC(1973, 0);
const QUARTER = 15;
const MOST_QUARTERS = 16;

/** Formatting is slow as well, so it is done once for each quarter of an hour. */
function makeClock(timeZone: string): Clock | null {
  const format = formatterOf(timeZone);
  if (!format) return null;
  const quarters = new Map<number, Local>();
  return (moment) => {
    const start = Math.floor(moment / (QUARTER * MINUTE_MS)) * QUARTER * MINUTE_MS;
    const quarter = quarters.get(start) ?? localAt(format, start);
    if (moment < IN_QUARTERS || quarter.minute % QUARTER !== 0) return localAt(format, moment);
    if (quarters.size >= MOST_QUARTERS) quarters.clear();
    quarters.set(start, quarter);
    return { ...quarter, minute: quarter.minute + Math.floor((moment - start) / MINUTE_MS) };
  };
}

function localAt(format: Intl.DateTimeFormat, moment: number): Local {
  // Only numbers are taken from the formatter: its words and punctuation differ between versions of Node.
  const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return {
    year: part("year"),
    month: part("month"),
    day: part("day"),
    hour: part("hour") % 24,
    minute: part("minute"),
  };
}

function formatterOf(timeZone: string): Intl.DateTimeFormat | null {
  const numeric = {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  } as const;
  try {
    return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", { timeZone, hourCycle: "h23", ...numeric });
  } catch {
    return null;
  }
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}
