import fc from "fast-check";
import { expect, test } from "vitest";
import { type SseEvent, sseReader } from "./sse.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function read(...chunks: Uint8Array[]): SseEvent[] {
  const reader = sseReader();
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
}

const STREAM =
  "﻿: hello\ndata: one — ☃ 🎈\n\nevent: error\ndata: two\ndata:three\ndata\n\nid: 7\nretry: 10\n\ndata: four\n\n";
const EVENTS: SseEvent[] = [
  { event: "message", data: "one — ☃ 🎈" },
  { event: "error", data: "two\nthree\n" },
  { event: "message", data: "four" },
];

test.each([
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
])("events read the same with %s line ends, cut into two pieces at any byte", (_, newline) => {
  const all = bytes(STREAM.replaceAll("\n", newline));
  for (let at = 0; at <= all.length; at++)
    expect(read(all.subarray(0, at), all.subarray(at))).toEqual(EVENTS);
});

test("events read the same however the bytes arrive, whatever the mix of line ends", () => {
  const line = fc.constantFrom(
    "data: a",
    "data: ü🎈",
    "data:",
    "data",
    ": note",
    "event: x",
    "",
    "",
    "id: 1",
    "nonsense",
  );
  const lines = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 });
  fc.assert(
    fc.property(lines, fc.array(fc.nat(200), { maxLength: 8 }), (given, cuts) => {
      const text = given.map(([line, end]) => line + end).join("");
      const all = bytes(text);
      const at = [0, ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b), all.length];
      const pieces = at.slice(1).map((end, index) => all.subarray(at[index], end));
      expect(read(...pieces)).toEqual(read(all));
      expect(read(...pieces)).toEqual(plainReading(text));
    }),
    { numRuns: 2000 },
  );
});

/** The format read line by line, without bytes, to compare with. */
function plainReading(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  let data: string[] = [];
  let event = "message";
  for (const line of [...text.split(/\r\n|\n|\r/), ""]) {
    if (line === "") {
      if (data.length > 0) events.push({ event, data: data.join("\n") });
      data = [];
      event = "message";
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "data") data.push(value ?? "");
    if (field === "event") event = value || "message";
  }
  return events;
}

test("an event without its closing blank line is still given when the bytes end", () => {
  expect(read(bytes("data: [DONE]"))).toEqual([{ event: "message", data: "[DONE]" }]);
});

test("a line that arrives byte by byte is joined once", () => {
  const reader = sseReader();
  const long = bytes(`data: ${"x".repeat(200_000)}\n\n`);
  const events = Array.from(long, (byte) => reader.push(Uint8Array.of(byte))).flat();
  expect(events).toEqual([{ event: "message", data: "x".repeat(200_000) }]);
});
