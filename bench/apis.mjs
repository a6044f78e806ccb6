import { model } from "../dist/provider/index.js";

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
