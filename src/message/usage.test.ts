import { expect, test } from "vitest";
import { callUsageOf, Usage, usageOfCall } from "./index.js";

const cost = { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 0.25, total: 3.75 };
const used: Usage = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 40, cost };

test("the size of a context is the sum of all four classes, reasoning being part of output", () => {
  expect(Usage.contextSize({ ...used, reasoningTokens: 15 })).toBe(100);
});

test("usage adds up class by class, money too", () => {
  expect(Usage.add(used, used)).toEqual({
    inputTokens: 20,
    outputTokens: 40,
    cacheReadTokens: 60,
    cacheWriteTokens: 80,
    cost: { input: 2, output: 4, cacheRead: 1, cacheWrite: 0.5, total: 7.5 },
  });
});

test("reasoning is told as soon as one side tells it", () => {
  expect(Usage.add({ ...used, reasoningTokens: 5 }, used).reasoningTokens).toBe(5);
  expect(Usage.add({ ...used, reasoningTokens: 5 }, { ...used, reasoningTokens: 7 }).reasoningTokens).toBe(
    12,
  );
  expect("reasoningTokens" in Usage.add(used, used)).toBe(false);
});

test("an unknown price makes the sum unknown, never free", () => {
  expect(Usage.add(used, { ...used, cost: null }).cost).toBeNull();
  expect(Usage.add({ ...used, cost: null }, used).cost).toBeNull();
});

test("a sum may start from nothing", () => {
  expect([used, used].reduce(Usage.add, Usage.none()).cost).toEqual({
    input: 2,
    output: 4,
    cacheRead: 1,
    cacheWrite: 0.5,
    total: 7.5,
  });
  expect(Usage.add(used, Usage.none())).toEqual(used);
  expect(Usage.none().cost).toBeNull();
});

test("a receipt spells usage its own way and gives it back", () => {
  const withReasoning = { ...used, reasoningTokens: 0 };
  expect(callUsageOf(withReasoning)).toEqual({
    usage: {
      input_tokens: 10,
      output_tokens: 20,
      cache_read_tokens: 30,
      cache_write_tokens: 40,
      reasoning_tokens: 0,
    },
    cost: { input: 1, output: 2, cache_read: 0.5, cache_write: 0.25, total: 3.75 },
  });
  for (const usage of [used, withReasoning, { ...used, cost: null }, Usage.none()]) {
    expect(usageOfCall(callUsageOf(usage))).toStrictEqual(usage);
  }
});

test("a call that reported no usage used nothing we know of", () => {
  expect(usageOfCall({ usage: null, cost: null })).toEqual(Usage.none());
});
