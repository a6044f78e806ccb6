import type { Quirks } from "./codec.js";
import { hostOf, OPENAI_HOST } from "./host.js";
import { factsByName } from "./modelFacts.js";

/** What most servers that imitate Chat Completions take; some of their templates refuse a second system message. */
const COMPATIBLE: Quirks = {
  maxTokensField: "max_tokens",
  systemRole: "system",
  midSystem: "user",
  streamUsage: true,
  images: true,
  audio: false,
  toolCallIds: "upTo40",
  replayReasoning: "none",
  effort: "none",
  toolResultName: false,
  assistantAfterTools: false,
  finishReason: "sent",
};

const OPENAI: Partial<Quirks> = {
  maxTokensField: "max_completion_tokens",
  midSystem: "system",
  effort: "reasoning_effort",
};

/** Servers known by their address. */
const BY_HOST: readonly { host: RegExp; quirks: Partial<Quirks> }[] = [
  { host: OPENAI_HOST, quirks: OPENAI },
  { host: /(^|\.)openrouter\.ai$/, quirks: { midSystem: "system", effort: "reasoning" } },
  { host: /(^|\.)deepseek\.com$/, quirks: { images: false, replayReasoning: "reasoning_content" } },
  {
    host: /(^|\.)mistral\.ai$/,
    quirks: { toolCallIds: "exactly9", toolResultName: true, assistantAfterTools: true },
  },
  { host: /(^|\.)snowflakecomputing\.com$/, quirks: { finishReason: "absent" } },
];

/** Models known by their id, whoever serves them. */
const BY_MODEL: readonly { id: RegExp; quirks: Partial<Quirks> }[] = [
  { id: /^(o1-mini|o1-preview)/, quirks: { systemRole: "user", midSystem: "user" } },
];

/** What is known about a model at an address; anything said outright goes before it. */
export function quirksOf(baseUrl: string, modelId: string, said: Partial<Quirks> = {}): Quirks {
  const host = hostOf(baseUrl);
  let quirks = COMPATIBLE;
  for (const more of [
    ...BY_HOST.filter((entry) => entry.host.test(host)).map((entry) => entry.quirks),
    ...BY_MODEL.filter((entry) => entry.id.test(modelId)).map((entry) => entry.quirks),
    factsByName(modelId),
    said,
  ]) {
    quirks = { ...quirks, ...more };
  }
  return quirks;
}
