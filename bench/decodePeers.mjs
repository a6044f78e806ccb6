import { havePeers, peer } from "./peers.mjs";

/** How others read a streamed answer, from the response to the finished message: the vendor's own SDK, and the AI SDK. */

const VENDOR = { atLeast: 2 };
const AI_SDK = { atLeast: 5 };
const ASKED = [{ role: "user", content: "Write the table." }];
const PROMPT = [{ role: "user", content: [{ type: "text", text: "Write the table." }] }];

/**
 * @param {{ api: string, id: string }} model
 * @param {(step: string) => void} progress
 * @returns {Promise<{ name: string, read: (response: () => Response) => Promise<unknown>, target: object }[]>}
 */
export async function decodePeers({ api, id }, progress) {
  if (!havePeers(progress)) return [];
  switch (api) {
    case "anthropic": {
      const { default: Anthropic } = await peer("@anthropic-ai/sdk");
      const { createAnthropic } = await peer("@ai-sdk/anthropic");
      const client = (fetch) => new Anthropic({ apiKey: "none", maxRetries: 0, fetch });
      const read = (response) =>
        client(async () => response())
          .messages.stream({ model: id, max_tokens: 4096, messages: ASKED })
          .finalMessage();
      return [
        vendor("@anthropic-ai/sdk", read),
        aiSdk((fetch) => createAnthropic({ apiKey: "none", fetch })(id)),
      ];
    }
    case "openai-chat": {
      const { default: OpenAI } = await peer("openai");
      const { createOpenAI } = await peer("@ai-sdk/openai");
      const read = (response) =>
        new OpenAI({ apiKey: "none", maxRetries: 0, fetch: async () => response() }).chat.completions
          .stream({ model: id, messages: ASKED })
          .finalChatCompletion();
      return [vendor("openai", read), aiSdk((fetch) => createOpenAI({ apiKey: "none", fetch }).chat(id))];
    }
    case "openai-responses": {
      const { default: OpenAI } = await peer("openai");
      const { createOpenAI } = await peer("@ai-sdk/openai");
      const read = (response) =>
        new OpenAI({ apiKey: "none", maxRetries: 0, fetch: async () => response() }).responses
          .stream({ model: id, input: "Write the table." })
          .finalResponse();
      return [
        vendor("openai", read),
        aiSdk((fetch) => createOpenAI({ apiKey: "none", fetch }).responses(id)),
      ];
    }
    case "gemini": {
      const { GoogleGenAI } = await peer("@google/genai");
      const { createGoogleGenerativeAI } = await peer("@ai-sdk/google");
      const read = (response) =>
        withFetch(
          async () => response(),
          async () => {
            const ai = new GoogleGenAI({ apiKey: "none" });
            let chunks = 0;
            for await (const _ of await ai.models.generateContentStream({
              model: id,
              contents: "Write the table.",
            }))
              chunks++;
            if (chunks < 1000) throw new Error(`${chunks} chunks`);
          },
        );
      return [
        vendor("@google/genai", read),
        aiSdk((fetch) => createGoogleGenerativeAI({ apiKey: "none", fetch })(id)),
      ];
    }
    default:
      return [];
  }
}

function vendor(name, read) {
  return { name: `${name}, the vendor's`, read, target: VENDOR };
}

function aiSdk(modelWith) {
  const read = async (response) => {
    const { stream } = await modelWith(async () => response()).doStream({ prompt: PROMPT });
    let parts = 0;
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (value.type === "error") throw value.error;
      parts++;
    }
    if (parts < 1000) throw new Error(`${parts} parts`);
  };
  return { name: "AI SDK", read, target: AI_SDK };
}

/** Google's SDK takes no fetch of one's own. */
async function withFetch(fetch, run) {
  const own = globalThis.fetch;
  globalThis.fetch = fetch;
  try {
    await run();
  } finally {
    globalThis.fetch = own;
  }
}
