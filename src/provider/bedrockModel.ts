import { type Claude, claudeOf } from "./anthropicModel.js";
import type { ModelRequest, Quirks } from "./codec.js";
import { EXACTLY_9, type IdRule } from "./toolCallId.js";

/** What is known about a model behind Bedrock, from its id alone. An ARN of one's own tells nothing. */
export type BedrockModel = {
  claude: Claude | null;
  /** Whether its signed thinking may go back. Others refuse their own; of a model nobody knows, a signature tells. */
  takesThinking: boolean;
  /** Whether answers come as a stream also when there are tools. */
  streamsTools: boolean;
  /** Where it takes cache markers. */
  cache: readonly ("tools" | "system" | "messages")[];
  /** Whether a tool result may say that it failed, and hold images. */
  richResults: boolean;
  /** How it is asked to think, unless it is a Claude. */
  effort: "none" | "nova" | "gpt-oss";
  /** The most tokens it can answer with; null when that is not known. */
  maxOutput: number | null;
  ids: IdRule;
};

const VENDOR =
  /(?:^|[./])(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|writer|zai)\./;

const IDS: IdRule = {
  fits: /^[A-Za-z0-9_-]{1,64}$/,
  make: (digest) => `tooluse_${digest.slice(0, 32)}`,
};
/** The API takes dots and colons, too; Kimi's template reads its own ids, which have them. */
const DOTTED_IDS: IdRule = { ...IDS, fits: /^[A-Za-z0-9_.:-]{1,64}$/ };

/** AWS answers "doesn't support tool use in streaming mode" for the models of these. */
const WHOLE_WITH_TOOLS = new Set(["meta", "mistral", "deepseek", "writer"]);

const MAX_OUTPUT: readonly [RegExp, number][] = [
  [/amazon\.nova-2-/, 65_000],
  [/amazon\.nova-/, 10_000],
  [/meta\.llama|mistral\.mistral-large-24/, 8192],
];

/** Who made a model; null when its id does not tell. */
function vendorOf(id: string): string | null {
  return VENDOR.exec(id)?.[1] ?? null;
}

/** What a model of this id takes. */
export function bedrockModelOf(id: string): BedrockModel {
  const vendor = vendorOf(id);
  const claude = vendor === "anthropic" ? claudeOf(id) : null;
  const nova = /amazon\.nova-/.test(id);
  return {
    claude,
    takesThinking: claude !== null || vendor === null,
    streamsTools: vendor === null || !WHOLE_WITH_TOOLS.has(vendor),
    cache: claude && cachesClaude(id) ? ["tools", "system", "messages"] : nova ? ["system", "messages"] : [],
    richResults: claude !== null || nova,
    effort: /amazon\.nova-2-/.test(id) ? "nova" : /openai\.gpt-oss/.test(id) ? "gpt-oss" : "none",
    maxOutput: claude ? claude.maxOutput : (MAX_OUTPUT.find(([known]) => known.test(id))?.[1] ?? null),
    ids: vendor === "mistral" ? EXACTLY_9 : vendor?.startsWith("moonshot") ? DOTTED_IDS : IDS,
  };
}

/** Claude 3.5 Haiku, and every Claude since 3.7. */
function cachesClaude(id: string): boolean {
  return !/claude-(v2|instant|3-(opus|sonnet|haiku)|3-5-sonnet)/.test(id);
}

const SEES =
  /claude-(?!v2|instant|3-5-haiku)|amazon\.nova-(?!micro)|llama3-2-(11|90)b|llama4|pixtral|mistral-large-(3|25)|ministral|magistral|gemma|-vl|kimi-k2[.-]5/;

/** How a model behind this API differs from what most take. */
export function bedrockQuirks(id: string): Partial<Quirks> {
  const vendor = vendorOf(id);
  return {
    images: vendor === null || SEES.test(id),
    // Which models take the API's own system role in mid-conversation is nowhere said; the marked text all take.
    midSystem: "user",
    assistantAfterTools: vendor === "meta" || vendor === "mistral",
  };
}

/** The fields of a body that ask a model other than Claude to think. It thinks as it likes when nobody says. */
export function effortFields(
  { effort }: BedrockModel,
  asked: ModelRequest["thinking"],
): Record<string, unknown> {
  if (asked === undefined || (asked === "off" && effort !== "gpt-oss")) return {};
  switch (effort) {
    case "none":
      return {};
    case "nova":
      return { reasoningConfig: { type: "enabled", maxReasoningEffort: asked } };
    case "gpt-oss":
      return { reasoning_effort: asked === "off" ? "low" : asked };
  }
}
