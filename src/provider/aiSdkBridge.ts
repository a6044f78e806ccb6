/**
 * What is asked of an AI SDK language model: `LanguageModelV2` and `LanguageModelV3` of `@ai-sdk/provider` both are
 * one. Spelled out here, so that nobody needs that package who has no such model.
 */
export type AiSdkLanguageModel = {
  readonly specificationVersion: "v2" | "v3";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls?: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  doStream(options: AiSdkCallOptions): PromiseLike<AiSdkAnswer>;
};

/** What a language model is called with: our request, parsed, and how to stop it. */
export type AiSdkCallOptions = { prompt: unknown[]; abortSignal?: AbortSignal | undefined };

export type AiSdkAnswer = { stream: ReadableStream<unknown> };

/** A language model in this process, and what must be known of it before it is called. */
export type AiSdkBridge = {
  languageModel: AiSdkLanguageModel;
  /** Which addresses of images it fetches itself. */
  imageUrls: readonly RegExp[];
  /** Images of a tool's result stay inside it; otherwise they come in a message after it. */
  resultImages: boolean;
  /** Goes with every request. */
  providerOptions: AiSdkProviderOptions | null;
  /** What of it decides how a request is spelled: a model is data that may be written down, a language model is not. */
  toJSON(): unknown;
};

/** Settings of one provider, by its name: `{ openai: { reasoningEffort: "low" } }`. */
export type AiSdkProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
