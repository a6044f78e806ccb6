import type { Tool } from "../agent/index.js";
import { until } from "./talk.js";

/** A tool that runs until a test lets it end. */
export function heldTool(more: Partial<Tool> = {}) {
  const ended: (() => void)[] = [];
  const runs: string[] = [];
  const tool: Tool = {
    name: "dig",
    description: "Digs.",
    parameters: { type: "object" },
    repeatable: false,
    run: async (_args, { call_id, signal }) => {
      runs.push(call_id);
      await new Promise<void>((resolve) => {
        ended.push(resolve);
        signal.addEventListener("abort", () => resolve());
      });
      return "found a coin";
    },
    ...more,
  };
  const started = (count = 1) => until(() => runs.length >= count);
  const end = () => {
    for (const resolve of ended.splice(0)) resolve();
  };
  return { tool, runs, started, end };
}
