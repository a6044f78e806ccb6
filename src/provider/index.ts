export type { AiSdkLanguageModel, AiSdkProviderOptions } from "./aiSdkBridge.js";
export { type AiSdkModelOptions, aiSdkModel } from "./aiSdkModel.js";
export { type Catalogue, type CatalogueOptions, type ChosenModel, catalogue } from "./catalogue.js";
export {
  type CallOptions,
  call,
  type EncodeMemory,
  encode,
  encodeMemory,
  isRetryable,
  send,
} from "./call.js";
export * from "./codec.js";
export type { Timeouts, Timer } from "./exchange.js";
export type { Fitted, FittedHistory, FittedResult, Target } from "./fitted.js";
export { handoff } from "./handoff.js";
export { type AudioLimits, type ImageLimits, type MediaLimits, mediaLimitsOf } from "./mediaLimits.js";
export { type OwnFacts, type ReadModelFile, readModelFile } from "./modelFile.js";
export { defaultModelName, type ModelOptions, model, type ResolvedModel, resolveModel } from "./model.js";
export { type SseEvent, type SseReader, sseReader } from "./sse.js";
export {
  type Clip,
  type Transcriber,
  type TranscriberOptions,
  type Transcript,
  type TranscriptUsage,
  transcriber,
} from "./transcribe.js";
