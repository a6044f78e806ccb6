import type { AgentLimits } from "./host.js";

/** What a run took before it was cut short: it is not given that again. */
export type Used = { steps: number; timeMs: number; usd: number };

/** How far a run may still go. */
export function limitsLeft(limits: AgentLimits, used: Used | null | undefined): AgentLimits {
  if (!used) return limits;
  return {
    ...limits,
    steps: Math.max(0, limits.steps - used.steps),
    timeMs: Math.max(0, limits.timeMs - used.timeMs),
    usd: limits.usd === null ? null : Math.max(0, limits.usd - used.usd),
  };
}
