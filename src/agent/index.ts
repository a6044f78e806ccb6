export * from "./clock.js";
export * from "./container.js";
export { CONTAINER_LIMITS, type ContainerLimits } from "./containerLines.js";
export * from "./containerProtocol.js";
export { type ReadContainers, readContainers } from "./containerSettings.js";
export { startDeadline } from "./deadline.js";
export * from "./defineTool.js";
export * from "./host.js";
export { ISOLATIONS, type Isolation, type Launch, launchOf, type Sandbox } from "./isolation.js";
export { findIsolation, type IsolationState } from "./isolationProbe.js";
export type { Used } from "./limitsLeft.js";
export * from "./mcp.js";
export { type AgentStart, runAgent } from "./run.js";
export { runShell, type ShellEnd, type ShellOptions } from "./shell.js";
export type { StandardSchema } from "./standardSchema.js";
export * from "./tool.js";
export { type EncodeMemory, encode, encodeMemory, isRetryable, send } from "../provider/call.js";
export { COMMON_IMAGE, type MediaLimits, mediaLimitsOf, takesAddress } from "../provider/mediaLimits.js";
export { ratesAt } from "../provider/price.js";
export type { Clip, Transcriber, Transcript, TranscriptUsage } from "../provider/transcribe.js";
export type {
  EncodedBlock,
  EncodedRequest,
  Fetch,
  Model,
  ModelDelta,
  ModelRequest,
  Price,
  ToolDefinition,
} from "../provider/codec.js";
