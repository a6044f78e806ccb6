import { expect, test } from "vitest";
import type { Model } from "../client/index.js";
import { factsOf } from "./modelFacts.js";

const rates = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const model: Model = {
  name: "anthropic/claude",
  default: false,
  available: true,
  note: null,
  window: 200_000,
  max_output: null,
  images: true,
  audio: false,
  pdf: null,
  thinking: true,
  tools: true,
  price: { ...rates, above: [{ ...rates, tokens: 200_000, input: 6 }] },
};

test("a model tells its window, its price and what it takes", () => {
  expect(factsOf(model)).toBe("window 200k · $3 / $15, $6 / $15 above 200k · images, tools, thinking");
});

test("what nobody said is unknown, not nothing; what is free is said to be", () => {
  const bare = { ...model, window: null, price: null, images: null, tools: null, thinking: null };
  expect(factsOf(bare)).toBe("window unknown · price unknown");
  const free = { input: 0, output: 0, cache_read: 0, cache_write: 0, above: [] };
  expect(factsOf({ ...model, window: 1_050_000, price: free })).toMatch(/^window 1.1M · free/);
});
