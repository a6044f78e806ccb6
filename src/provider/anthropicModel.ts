import type { ModelFacts, Price, Quirks } from "./codec.js";
import { hostOf } from "./host.js";

/** What is known about a model that speaks Anthropic Messages, from its id alone. */
export type Claude = {
  /** How it is asked to think: not at all, with a budget of tokens, or as it sees fit. */
  thinking: "none" | "budget" | "adaptive";
  /** What it does when nobody mentions thinking. One that always thinks refuses to be told otherwise. */
  unasked: "off" | "on" | "always";
  /** Whether its thinking is left out of the answer unless it is asked for. */
  hidesThinking: boolean;
  /** Whether a tool loop that began with thinking must go on with it, and the other way round. */
  strictLoops: boolean;
  temperature: boolean;
  /** The most tokens it can answer with; null when that is not known. */
  maxOutput: number | null;
  midSystem: boolean;
};

/** Other models behind this API: servers imitate its older form, and what they refuse is unknown. */
const UNKNOWN: Claude = {
  thinking: "budget",
  unasked: "always",
  hidesThinking: false,
  strictLoops: false,
  temperature: true,
  maxOutput: null,
  midSystem: false,
};

const NEW_NAME = /claude-(opus|sonnet|haiku|fable|mythos)(?:-(\d{1,2})(?:-(\d{1,2}))?(?!\d))?/;
const OLD_NAME = /claude-(\d)(?:-(\d))?-(opus|sonnet|haiku)/;

/** Families that think whatever they are told; of Opus, since 5.5. */
const ALWAYS = new Set(["fable", "mythos"]);

/** A model without a version in its id is read as the newest, which asks for the least that could be refused. */
const UNTOLD = 99;

/** The line and the version that an id names; null for other models. */
function nameOf(id: string): { family: string; version: number } | null {
  const old = OLD_NAME.exec(id);
  const named = old ? null : NEW_NAME.exec(id);
  if (!old && !named) return null;
  const family = old?.[3] ?? named?.[1] ?? "";
  const [major, minor] = old ? [old[1], old[2]] : [named?.[2], named?.[3]];
  return { family, version: major === undefined ? UNTOLD : Number(major) + Number(minor ?? 0) / 100 };
}

/** What a model of this id takes. */
export function claudeOf(id: string): Claude {
  const named = nameOf(id);
  if (!named) return UNKNOWN;
  const { family, version } = named;
  const always = ALWAYS.has(family) || (family === "opus" && version >= 5.05) || version > 5.05;
  return {
    thinking: version < 3.07 ? "none" : version < 4.06 ? "budget" : "adaptive",
    unasked: always ? "always" : version >= 5 ? "on" : "off",
    hidesThinking: version >= 4.07,
    strictLoops: version < 4.06,
    temperature: version < 4.07,
    maxOutput: maxOutputOf(family, version),
    midSystem: version < UNTOLD && version >= (ALWAYS.has(family) ? 5 : 4.08) && !/sonnet|haiku/.test(family),
  };
}

function maxOutputOf(family: string, version: number): number {
  if (version < 3.05) return 4096;
  if (version < 3.07) return 8192;
  if (family === "opus" && version >= 4 && version < 4.05) return 32_000;
  return version < 4.06 ? 64_000 : 128_000;
}

/** US dollars where the price list does not know the model yet. Past 100,000 tokens it costs five times as much. */
const HAIKU_5_5: Price = {
  ...{ input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125, longCacheWrite: 0.2 },
  above: [
    { tokens: 100_000, input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625, longCacheWrite: 1 },
  ],
};

/** What is known of a Claude beside how it is asked. */
export function claudeFacts(id: string): Partial<ModelFacts> {
  const named = nameOf(id);
  if (!named) return {};
  const { family, version } = named;
  return {
    window: version < 4.06 ? 200_000 : 1_000_000,
    maxOutput: maxOutputOf(family, version),
    images: true,
    audio: false,
    pdf: version >= 3.05,
    thinking: version >= 3.07,
    tools: true,
    price: family === "haiku" && version === 5.05 ? HAIKU_5_5 : null,
  };
}

/** Is it one of Anthropic's own servers? What others take of the newer parts of the API is not known. */
export function isAnthropicHost(baseUrl: string): boolean {
  return /(^|\.)anthropic\.com$/.test(hostOf(baseUrl));
}

/** How a model behind this API differs from what most servers take. */
export function anthropicQuirks(baseUrl: string, id: string): Partial<Quirks> {
  return { midSystem: isAnthropicHost(baseUrl) && claudeOf(id).midSystem ? "system" : "user" };
}
