import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { timeLine } from "./time.js";

const zone = "Europe/Copenhagen";

describe("the time is told", () => {
  test("when nothing came before", () => {
    expect(timeLine(null, "2026-11-15T14:18:00Z", zone)).toBe(
      "[Time: Sunday, 15 November 2026, 15:18, Europe/Copenhagen]",
    );
  });

  test("when the local day changed, though it is the same day in UTC", () => {
    expect(timeLine("2026-11-15T22:59:00Z", "2026-11-15T23:01:00Z", zone)).toBe(
      "[Time: Monday, 16 November 2026, 00:01, Europe/Copenhagen]",
    );
  });

  test("after a pause of three hours", () => {
    expect(timeLine("2026-11-15T08:00:00Z", "2026-11-15T11:00:00Z", zone)).toMatch(/12:00/);
  });

  test("when a clock went back to another day", () => {
    expect(timeLine("2026-11-16T08:00:00Z", "2026-11-15T11:00:00Z", zone)).toMatch(/Sunday, 15 November/);
  });
});

test("nothing is told within the same day and hours", () => {
  expect(timeLine("2026-11-15T08:00:00Z", "2026-11-15T10:59:59Z", zone)).toBeNull();
  // In UTC the day changes between these; in Copenhagen it does not.
  expect(timeLine("2026-11-14T23:30:00Z", "2026-11-15T00:30:00Z", zone)).toBeNull();
});

test("every zone tells its own time, at midnight and across summer time too", () => {
  expect(timeLine(null, "2026-03-29T00:59:00Z", zone)).toMatch(/01:59/);
  expect(timeLine(null, "2026-03-29T01:00:00Z", zone)).toMatch(/03:00/);
  expect(timeLine(null, "2026-11-15T23:00:00Z", zone)).toMatch(/Monday, 16 November 2026, 00:00/);
  expect(timeLine(null, "2024-02-29T12:00:00Z", "Asia/Kathmandu")).toBe(
    "[Time: Thursday, 29 February 2024, 17:45, Asia/Kathmandu]",
  );
  expect(timeLine(null, "2026-01-01T00:00:00Z", "UTC")).toBe("[Time: Thursday, 1 January 2026, 00:00, UTC]");
});

test("a time or a zone that is none tells nothing", () => {
  expect(timeLine(null, "yesterday", zone)).toBeNull();
  expect(timeLine(null, "2026-11-15T14:18:00Z", "Mars/Olympus")).toBeNull();
  expect(timeLine("whenever", "2026-11-15T14:18:00Z", zone)).not.toBeNull();
});

test("the time told is the zone's own, at any moment since clocks were set by railways", () => {
  const zones = [
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Africa/Monrovia",
    "Europe/Dublin",
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.array(fc.integer({ min: Date.UTC(1890, 0), max: Date.UTC(2100, 0) }), {
        minLength: 1,
        maxLength: 40,
      }),
      (timeZone, moments) => {
        const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
        for (const moment of moments) {
          const told = timeLine(null, new Date(moment).toISOString(), timeZone);
          expect(told).toContain(`, ${format.format(moment)}, ${timeZone}]`);
        }
      },
    ),
  );
});
