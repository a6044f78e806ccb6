import { claudeFacts, isAnthropicHost } from "./anthropicModel.js";
import type { Api, ModelFacts } from "./codec.js";
import { hostOf, OPENAI_HOST } from "./host.js";

/** Where a model is asked, and by which id. */
export type ModelPlace = { api: Api; baseUrl: string; id: string };

export const UNKNOWN_FACTS: ModelFacts = {
  window: null,
  maxOutput: null,
  images: null,
  audio: null,
  pdf: null,
  thinking: null,
  tools: null,
  price: null,
};

type Row<Facts = Partial<ModelFacts>> = { id: RegExp; facts: Facts };

/** Whoever serves them: a name that says what the model takes. */
const BY_NAME: readonly Row<{ images?: boolean; audio?: boolean }>[] = [
  { id: /audio|omni(?!-moderation)|voxtral|ultravox/i, facts: { audio: true } },
  { id: /^(gpt-3\.5|o1-mini|o1-preview|o3-mini)/, facts: { images: false } },
];

/**
 * OpenAI's, at its own address: elsewhere anything may bear these names. Later rows go before earlier ones. A window is
 * exact or not said: an answer to more than fits is taken for a failure.
 */
const OPENAI: readonly Row[] = [
  { id: /^(gpt|chatgpt|codex)-|^o\d/, facts: { images: true, audio: false, pdf: true, tools: true } },
  { id: /^(gpt|chatgpt)-/, facts: { thinking: false } },
  { id: /^(gpt-3\.5|gpt-4-|gpt-4$)/, facts: { pdf: false, maxOutput: 4096 } },
  { id: /^(gpt|chatgpt)-4o/, facts: { window: 128_000, maxOutput: 16_384 } },
  { id: /^gpt-4\.1/, facts: { window: 1_047_576, maxOutput: 32_768 } },
  { id: /^o\d/, facts: { window: 200_000, maxOutput: 100_000, thinking: true } },
  { id: /^gpt-[56]/, facts: { maxOutput: 128_000, thinking: true } },
  { id: /^gpt-5(\.[12])?(?![.\d])/, facts: { window: 400_000 } },
  { id: /^gpt-5.*-chat/, facts: { window: 128_000, maxOutput: 16_384, thinking: false } },
];

const GEMINI: readonly Row[] = [
  {
    id: /^(models\/)?gemini-/,
    facts: {
      window: 1_048_576,
      maxOutput: 65_536,
      images: true,
      audio: true,
      pdf: true,
      thinking: true,
      tools: true,
    },
  },
  { id: /gemini-(1|2\.0)/, facts: { maxOutput: 8192, thinking: false } },
];

/** What is built in about a model, from where it is asked and by which id. */
export function builtInFacts({ api, baseUrl, id }: ModelPlace): ModelFacts {
  return mergedFacts([factsByName(id), vendorFacts(api, baseUrl, id)]);
}

/** What a name alone tells, whoever serves it. */
export function factsByName(id: string): { images?: boolean; audio?: boolean } {
  return rowsOf(BY_NAME, id);
}

/** Those that are known go before; what is null or absent says nothing. Later ones go before earlier ones. */
export function mergedFacts(layers: readonly Partial<ModelFacts>[]): ModelFacts {
  const known = layers.map((facts) => Object.entries(facts).filter(([, value]) => value !== null));
  return Object.assign({}, UNKNOWN_FACTS, ...known.map((entries) => Object.fromEntries(entries)));
}

function vendorFacts(api: Api, baseUrl: string, id: string): Partial<ModelFacts> {
  if (OPENAI_HOST.test(hostOf(baseUrl))) return rowsOf(OPENAI, id);
  if (api === "gemini") return rowsOf(GEMINI, id);
  if (api === "demo") return { images: false, audio: false, pdf: false, thinking: true, tools: true };
  // Chat Completions is spoken by servers that lend any name to any model; Claude's own APIs are not.
  if (api === "openai-chat" || api === "openai-responses") return {};
  // Whoever else serves a model sets a price of their own.
  return isAnthropicHost(baseUrl) ? claudeFacts(id) : { ...claudeFacts(id), price: null };
}

function rowsOf<Facts>(rows: readonly Row<Facts>[], id: string): Facts {
  return Object.assign({}, ...rows.filter((row) => row.id.test(id)).map((row) => row.facts));
}
