import type { BedrockServerOptions } from "./bedrockServer.js";
import type { ModelServer } from "./modelServer.js";

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

/** A server of Amazon Bedrock's Converse for tests. Needs `@smithy/eventstream-codec`, which only this one loads. */
export async function startBedrockServer(options: BedrockServerOptions = {}): Promise<ModelServer> {
  const { startBedrockServer: start } = await import("./bedrockServer.js");
  return start(options);
}

export type { BedrockServerOptions };
