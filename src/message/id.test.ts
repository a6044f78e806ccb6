import { expect, test } from "vitest";
import { newId } from "./index.js";

test("a hundred thousand ids of one millisecond are unique and in order", () => {
  const ids = Array.from({ length: 100_000 }, () => newId(1_731_663_000_000));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ""))).toBe(true);
});

test("ids follow a clock that stands, crawls and jumps ahead", () => {
  let now = 1_731_663_000_000;
  let last = "";
  for (let round = 0; round < 20_000; round++) {
    now += [0, 0, 1, 0.25, 977][round % 5] ?? 0;
    const id = newId(now);
    if (id <= last) expect.fail(`${id} is not after ${last}`);
    last = id;
  }
});

test("ids stay unique when the clock runs backwards, again and again", () => {
  const ids = new Set<string>();
  for (let round = 0; round < 1000; round++) {
    for (let now = 110; now > 100; now--) ids.add(newId(now));
  }
  expect(ids.size).toBe(10_000);
});

test("an id tells the millisecond it was made in, and is a version 7 UUID", () => {
  const id = newId(1_731_663_000_123);
  expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(1_731_663_000_123);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("an impossible time still gives an id", () => {
  for (const now of [Number.NaN, -5, Number.POSITIVE_INFINITY]) {
    expect(newId(now)).toMatch(/^[0-9a-f-]{36}$/);
  }
});
