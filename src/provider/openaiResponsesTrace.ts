import type { Native } from "../message/index.js";
import { isRecord } from "./json.js";

/**
 * What an answer keeps of the output item a content came from. The API takes an item back only beside its neighbours,
 * so the place it had is kept with it.
 */
export type Trace = {
  /** Its place among the items of its answer, from 0. */
  at: number;
  id?: string;
  /** Whether a text was meant as a remark on the way or as the answer. */
  phase?: string;
  /** Of reasoning: the item itself. What is encrypted in it is the thinking's signature. */
  item?: Record<string, unknown>;
};

/** What a content keeps, as this API wrote it; null when it did not, or somebody changed it. */
export function readTrace(native: Native | null | undefined, api: string): Trace | null {
  if (native?.api !== api || !isRecord(native.data)) return null;
  const { at, id, phase, item } = native.data;
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) return null;
  return {
    at,
    ...(typeof id === "string" ? { id } : {}),
    ...(typeof phase === "string" ? { phase } : {}),
    ...(isRecord(item) ? { item } : {}),
  };
}
