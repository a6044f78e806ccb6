import { model } from "../dist/provider/index.js";
import { interleaved } from "./measure.mjs";

/** The APIs that are measured, each with a model of it. */
export const MODELS = [
  model({ api: "anthropic", id: "claude-sonnet-5", apiKey: "none" }),
  model({ api: "openai-chat", id: "gpt-4.1", baseUrl: "https://api.openai.com/v1", apiKey: "none" }),
  model({ api: "openai-responses", id: "gpt-5.1", apiKey: "none" }),
  model({ api: "gemini", id: "gemini-3-flash", apiKey: "none" }),
];

/** Milliseconds that something takes. @param {() => unknown} run */
export function timed(run) {
  const before = performance.now();
  run();
  return performance.now() - before;
}

const ROUNDS = 80;
const WARM_UP = 40;

/** Both sides in turns, once they are warm. @param {() => unknown} ours @param {() => unknown} reference */
export async function besides(ours, reference) {
  const sides = { ours: async () => ours(), reference: async () => reference() };
  const pairs = await interleaved(WARM_UP + ROUNDS, sides, () => {});
  return pairs.slice(WARM_UP);
}
