export {
  type AnthropicServerOptions,
  startAnthropicServer,
} from "./anthropicServer.js";
export {
  type ChatCompletionsServerOptions,
  startChatCompletionsServer,
} from "./chatCompletionsServer.js";
export { type GeminiServerOptions, startGeminiServer } from "./geminiServer.js";
export type { Behaviour, ModelServer, ServerLimits } from "./modelServer.js";
export {
  type OpenaiResponsesServerOptions,
  startOpenaiResponsesServer,
} from "./openaiResponsesServer.js";
export type { ReceivedRequest, ServerScript } from "./scriptedServer.js";
