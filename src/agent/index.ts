export * from "./clock.js";
export * from "./defineTool.js";
export * from "./host.js";
export * from "./mcp.js";
export { type AgentTask, runAgent } from "./run.js";
export type { StandardSchema } from "./standardSchema.js";
export * from "./tool.js";
export { encode } from "../provider/call.js";
export type {
  EncodedBlock,
  EncodedRequest,
  Model,
  ModelDelta,
  ModelRequest,
  ToolDefinition,
} from "../provider/codec.js";
