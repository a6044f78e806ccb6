import { aiSdk } from "./aiSdk.js";
import { anthropic } from "./anthropic.js";
import { bedrock } from "./bedrock.js";
import type { Api, Codec } from "./codec.js";
import { container } from "./container.js";
import { demo } from "./demo.js";
import { gemini } from "./gemini.js";
import { openaiChat } from "./openaiChat.js";
import { openaiResponses } from "./openaiResponses.js";

const CODECS: Readonly<Record<Api, Codec>> = {
  "openai-chat": openaiChat,
  "openai-responses": openaiResponses,
  anthropic,
  gemini,
  bedrock,
  "ai-sdk": aiSdk,
  demo,
  container,
};

/** How an API is spoken. A new one does not compile until it stands here. */
export function codecOf(api: Api): Codec {
  return CODECS[api];
}
