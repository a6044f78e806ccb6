import type { AiSdkBridge, AiSdkLanguageModel, AiSdkProviderOptions } from "./aiSdkBridge.js";
import type { Model, Price, Quirks } from "./codec.js";
import { quirksOf } from "./quirks.js";

export type AiSdkModelOptions = {
  /** As in `provider/model`; the language model's own words when not given. */
  provider?: string;
  id?: string;
  window?: number | null;
  price?: Price | null;
  /** Of these, `images`, `audio`, `toolCallIds`, `midSystem` and `finishReason` matter here. */
  quirks?: Partial<Quirks>;
  /** Part of every request, and so of every receipt: no place for a secret. */
  providerOptions?: AiSdkProviderOptions;
  /** Which addresses of images it fetches itself, where `supportedUrls` of the language model does not tell. */
  imageUrls?: readonly RegExp[];
  /** Its provider can spell images inside a tool's result. Known for Anthropic; many others would send them as text. */
  resultImages?: boolean;
};

/** Any language model of the AI SDK as a model. Throws on a version of its interface that we do not speak. */
export function aiSdkModel(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const version: string = languageModel.specificationVersion;
  if (version !== "v2" && version !== "v3")
    throw new TypeError(`languageModel.specificationVersion is "${version}": it must be "v2" or "v3"`);
  const { provider = languageModel.provider, id = languageModel.modelId } = options;
  return {
    provider,
    api: "ai-sdk",
    id,
    baseUrl: AI_SDK,
    apiKey: null,
    window: options.window ?? null,
    quirks: quirksOf(AI_SDK, id, { ...quirksOfProvider(languageModel.provider), ...options.quirks }),
    price: options.price ?? null,
    delayMs: 0,
    aiSdk: bridgeTo(languageModel, options),
  };
}

function bridgeTo(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions): AiSdkBridge {
  const { specificationVersion, provider } = languageModel;
  const { imageUrls = imageUrlsOf(languageModel), resultImages = ANTHROPIC.test(provider) } = options;
  const providerOptions = options.providerOptions ?? null;
  const known = { specificationVersion, imageUrls: imageUrls.map(String), resultImages, providerOptions };
  return { languageModel, imageUrls, resultImages, providerOptions, toJSON: () => known };
}

/** What stands for an address: the model is in this process. */
export const AI_SDK = "ai-sdk:";

/** Anthropic's own provider, and those that lead to its models elsewhere. */
const ANTHROPIC = /(^|\.)anthropic(\.|$)/i;

function quirksOfProvider(provider: string): Partial<Quirks> {
  return /(^|\.)mistral(\.|$)/i.test(provider) ? { toolCallIds: "exactly9" } : {};
}

/** A promise tells nothing in time: encoding never waits. */
function imageUrlsOf({ supportedUrls }: AiSdkLanguageModel): RegExp[] {
  if (supportedUrls === undefined || isPromise(supportedUrls)) return [];
  return Object.entries(supportedUrls).flatMap(([type, patterns]) =>
    /^(\*|\*\/\*|image\/.+)$/.test(type) ? patterns : [],
  );
}

function isPromise<T>(value: PromiseLike<T> | object): value is PromiseLike<T> {
  return "then" in value && typeof value.then === "function";
}
