import type { Model, ModelRequest } from "./codec.js";
import { toJson } from "./json.js";

/** What differs between the models of this API, told by their names. An unknown name is taken for a new one. */
export type Generation = {
  /** Refuses a step whose first call bears no signature. */
  wantsSignatures: boolean;
  /** Takes images and documents inside a tool's result. */
  resultMedia: boolean;
  /** Fetches an image by its address. */
  imageUrls: boolean;
  thinking: "level" | "budget" | "none";
};

const OLD: Generation = { wantsSignatures: false, resultMedia: false, imageUrls: false, thinking: "none" };
const SECOND: Generation = { ...OLD, imageUrls: true, thinking: "budget" };
const THIRD: Generation = { wantsSignatures: true, resultMedia: true, imageUrls: true, thinking: "level" };

/** The generation a model is of. */
export function generationOf(modelId: string): Generation {
  if (/gemini-(1|2\.0)\b|gemini-(1|2)-|gemma|learnlm/i.test(modelId)) return OLD;
  return /gemini-2\.5/i.test(modelId) ? SECOND : THIRD;
}

/** The parameters of a request, as the inside of a JSON object. The model itself is named in the address. */
export function paramsOf({ id }: Model, { temperature, maxTokens, thinking }: ModelRequest): string {
  const thinkingConfig = thinking === undefined ? undefined : thinkingOf(id, thinking);
  const generationConfig = {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
    ...(thinkingConfig ? { thinkingConfig } : {}),
  };
  return toJson({ generationConfig }).slice(1, -1);
}

type Effort = NonNullable<ModelRequest["thinking"]>;

const BUDGETS: Readonly<Record<Effort, number>> = { off: 0, low: 1024, medium: 8192, high: 24_576 };
/** The least that the models which cannot leave it take. */
const LEAST_BUDGET = 128;
/** The third generation cannot leave it either; its first Pro knows no medium. */
const LEVELS: Readonly<Record<Effort, string>> = { off: "LOW", low: "LOW", medium: "MEDIUM", high: "HIGH" };

function thinkingOf(id: string, effort: Effort): Record<string, unknown> | undefined {
  const includeThoughts = effort !== "off";
  switch (generationOf(id).thinking) {
    case "none":
      return undefined;
    case "budget": {
      const least = /pro/i.test(id) ? LEAST_BUDGET : 0;
      return { includeThoughts, thinkingBudget: Math.max(BUDGETS[effort], least) };
    }
    case "level": {
      const onlyTwo = effort === "medium" && /gemini-3-pro/i.test(id);
      return { includeThoughts, thinkingLevel: onlyTwo ? "HIGH" : LEVELS[effort] };
    }
  }
}
