export * from "./clock.js";
export * from "./run.js";
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
