import type { Model, ModelRequest } from "./codec.js";
import { toJson } from "./json.js";

const OPENAI_HOST = /(^|\.)api\.openai\.com$|\.openai\.azure\.com$/;

/** Is it OpenAI itself, rather than a server that speaks its API? */
export function isAtOpenai(baseUrl: string): boolean {
  return OPENAI_HOST.test(new URL(baseUrl).hostname);
}

/** Models that answer without thinking first. They refuse every word about reasoning; the others refuse a temperature. */
const NEVER_REASONS = /^(ft:)?(gpt-3|gpt-4|chatgpt-4o|gpt-5(\.\d+)?-chat)/;

/**
 * Does this model think before it answers? One we have not heard of does: all newer ones do. Where a deployment has a
 * name of its own, `effort: "none"` among the quirks says that it does not.
 */
function reasons({ id, baseUrl, quirks }: Model): boolean {
  if (isAtOpenai(baseUrl) && quirks.effort === "none") return false;
  return !NEVER_REASONS.test(id.slice(id.lastIndexOf("/") + 1));
}

/** The API refuses a smaller limit. */
const LEAST_TOKENS = 16;

/** What a request says besides the conversation, as the inside of an object. Nothing is kept at the server. */
export function paramsOf(model: Model, { temperature, maxTokens, thinking }: ModelRequest): string {
  const params = {
    model: model.id,
    stream: true,
    store: false,
    ...(reasons(model) ? reasoningParams(thinking) : temperatureParam(temperature)),
    ...(maxTokens === undefined ? {} : { max_output_tokens: Math.max(LEAST_TOKENS, maxTokens) }),
  };
  return toJson(params).slice(1, -1);
}

/** What is not kept at the server has to come back to it, so it is asked for in a form that can. */
function reasoningParams(thinking: ModelRequest["thinking"]): Record<string, unknown> {
  const asked = thinking !== undefined && thinking !== "off";
  return {
    include: ["reasoning.encrypted_content"],
    ...(asked ? { reasoning: { effort: thinking, summary: "auto" } } : {}),
  };
}

function temperatureParam(temperature: number | undefined): Record<string, unknown> {
  return temperature === undefined ? {} : { temperature };
}
