import { expect, test } from "vitest";
import { defineTool } from "../agent/index.js";
import { model } from "../provider/index.js";
import { startAnthropicServer } from "../testing/anthropicServer.js";
import { startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { startGeminiServer } from "../testing/geminiServer.js";
import { openHome, useHeldModel } from "../testing/heldHome.js";
import { startOpenaiResponsesServer } from "../testing/openaiResponsesServer.js";

useHeldModel();

const WINDOW = 2400;
const VENDORS = {
  anthropic: { start: startAnthropicServer, id: "claude-opus-5" },
  "openai-chat": { start: startChatCompletionsServer, id: "local" },
  "openai-responses": { start: startOpenaiResponsesServer, id: "gpt-5" },
  gemini: { start: startGeminiServer, id: "gemini-3-pro" },
} as const;

const look = defineTool({
  name: "look",
  description: "looks",
  parameters: { type: "object", properties: {} },
  repeatable: true,
  run: async () => "what it saw ".repeat(60),
});

test.each(Object.keys(VENDORS) as (keyof typeof VENDORS)[])(
  "%s: a long chat with tools stays within a small window, and its strict server refuses nothing",
  async (api) => {
    const { start, id: modelId } = VENDORS[api];
    const server = await start({ window: WINDOW });
    try {
      const { home, store, gateway } = await openHome(
        {},
        {
          resolveModel: () => ({
            ok: true,
            model: model({ api, id: modelId, baseUrl: server.baseUrl, apiKey: "k", window: WINDOW }),
          }),
          tools: [look],
        },
      );
      for (let turn = 0; turn < 12; turn++) {
        const wantsTools = turn % 3 === 1;
        if (wantsTools) server.next({ do: "call", name: "look", id: `call_${turn}` });
        const id = await home.say(`${turn}: ${"lorem ipsum ".repeat(60)}`);
        expect(await home.outcome(id), (await home.news()).at(-1)).toBe("answered");
      }
      const calls = await store.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 500 });
      expect(calls.map(({ status }) => status)).toEqual(calls.map(() => "ok"));
      expect(calls).toHaveLength(server.requests.length);
      const compactions = (await store.read.entries("home", 500)).filter(({ kind }) => kind === "compaction");
      expect(compactions.length).toBeGreaterThan(1);
      for (const [index, { id, request_sha256 }] of calls.entries()) {
        expect(Buffer.from((await gateway.request(id)) as Uint8Array), request_sha256).toEqual(
          server.requests[index]?.body,
        );
      }
    } finally {
      await server.close();
    }
  },
);
