import { afterEach, expect, it } from "vitest";
import type { Tool } from "../agent/index.js";
import { model } from "../provider/index.js";
import { openMemory } from "../store/memory.js";
import {
  anthropicStream,
  callBlock,
  messageEnd,
  messageStart,
  signed,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "../testing/anthropicServer.js";
import {
  begins,
  called,
  converseStream,
  ends,
  redacted,
  startBedrockServer,
  texts,
  thoughts,
} from "../testing/bedrockServer.js";
import { chunk, eventStream, startChatCompletionsServer } from "../testing/chatCompletionsServer.js";
import { geminiChunk, geminiStream, startGeminiServer } from "../testing/geminiServer.js";
import { eventsOf, responseStream, startOpenaiResponsesServer } from "../testing/openaiResponsesServer.js";
import type { ScriptedServer } from "../testing/scriptedServer.js";
import { Talk } from "../testing/talk.js";
import { createGateway, type Gateway } from "./gateway.js";

/** One pixel. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const THOUGHT = "The user wants two things.";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** First two tools at once, after some thinking, then words: spelled for each API. */
const PLAYS = {
  anthropic: [
    anthropicStream([
      messageStart(),
      ...thinkingBlock(0, THOUGHT),
      ...callBlock(1, "toolu_1", "look", "{}"),
      ...callBlock(2, "toolu_2", "look", "{}"),
      ...messageEnd("tool_use"),
    ]),
    anthropicStream([messageStart(), ...textBlock(0, "Anthropic says so."), ...messageEnd("end_turn")]),
  ],
  responses: [
    responseStream(
      eventsOf([
        {
          type: "reasoning",
          id: "rs_1",
          summary: [{ type: "summary_text", text: "two things" }],
          encrypted_content: "c2VhbGVk",
        },
        call("fc_1", "call_1"),
        call("fc_2", "call_2"),
      ]),
    ),
    responseStream(
      eventsOf([
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Responses says so.", annotations: [] }],
        },
      ]),
    ),
  ],
  gemini: [
    geminiStream([
      geminiChunk([{ text: "two things", thought: true }]),
      geminiChunk([
        { functionCall: { name: "look", args: {} }, thoughtSignature: "c2lnbmVk" },
        { functionCall: { name: "look", args: {} } },
      ]),
      geminiChunk([], "STOP"),
    ]),
    geminiStream([geminiChunk([{ text: "Gemini says so." }]), geminiChunk([], "STOP")]),
  ],
  chat: [
    eventStream([
      chunk({ reasoning_content: "two things" }),
      chunk({
        tool_calls: ["a", "b"].map((id, index) => ({
          index,
          id: `call_${id}`,
          type: "function",
          function: { name: "look", arguments: "{}" },
        })),
      }),
      chunk({}, "tool_calls"),
    ]),
    eventStream([chunk({ content: "Chat Completions says so." }), chunk({}, "stop")]),
  ],
  bedrock: [
    converseStream([
      begins,
      ...thoughts(0, THOUGHT),
      ...redacted(1, "sealed"),
      ...called(2, "tooluse_1", "look", "{}"),
      ...called(3, "tooluse_2", "look", "{}"),
      ...ends("tool_use"),
    ]),
    converseStream([begins, ...texts(0, "Bedrock says so."), ...ends("end_turn")]),
  ],
};

function call(id: string, call_id: string) {
  return { type: "function_call", id, call_id, name: "look", arguments: "{}", status: "completed" };
}

/** The server plays these answers, one after another. */
function play(server: ScriptedServer, answers: readonly (string | Uint8Array)[]): void {
  const left = [...answers];
  Object.defineProperty(server, "script", {
    configurable: true,
    get: () => ({ body: left.shift() ?? "" }),
  });
}

it("a conversation goes from one vendor's model to the next and back, with thinking, tools and pictures; nobody refuses it", async () => {
  const servers = {
    anthropic: await startAnthropicServer(),
    responses: await startOpenaiResponsesServer(),
    gemini: await startGeminiServer(),
    chat: await startChatCompletionsServer(),
    bedrock: await startBedrockServer(),
  };
  for (const server of Object.values(servers)) closing.push(() => server.close());
  const models = {
    anthropic: model({ api: "anthropic", id: "claude-opus-5", baseUrl: servers.anthropic.baseUrl }),
    responses: model({ api: "openai-responses", id: "gpt-5", baseUrl: servers.responses.baseUrl }),
    gemini: model({ api: "gemini", id: "gemini-3-pro", baseUrl: `${servers.gemini.origin}/v1beta` }),
    chat: model({ api: "openai-chat", id: "local", baseUrl: servers.chat.baseUrl }),
    bedrock: model({ api: "bedrock", id: "anthropic.claude-opus-5", baseUrl: servers.bedrock.baseUrl }),
  };
  type Name = keyof typeof models;
  const isName = (name: string): name is Name => Object.hasOwn(models, name);
  const look: Tool = {
    name: "look",
    description: "Looks.",
    parameters: { type: "object", properties: {} },
    repeatable: true,
    run: async () => "seen",
  };
  const gateway: Gateway = createGateway({
    store: openMemory(),
    resolveModel: (name) =>
      isName(name) ? { ok: true, model: models[name] } : { ok: false, why: `no ${name} here` },
    defaultModel: "anthropic",
    tools: [look],
  });
  closing.push(() => gateway.stop(0));
  await gateway.start();
  const home = new Talk(gateway, "home");
  const path: Name[] = ["anthropic", "responses", "gemini", "chat", "bedrock", "anthropic"];
  for (const [turn, name] of path.entries()) {
    play(servers[name], PLAYS[name]);
    expect(await home.command(`model ${name}`)).toContain(name);
    const result = await gateway.submitChat("home", {
      content: `what is in picture ${turn}?`,
      msg_metadata: {
        source: "slack",
        sender_id: "slack:U1",
        sender_type: "human",
        sender_display_name: "Olivia",
      },
      attachments: [{ name: "p.png", mime_type: "image/png", data: PICTURE }],
    });
    if (result.status !== "stored") throw new Error(JSON.stringify(result));
    expect(await home.ended(result.answer.message_id), name).toMatchObject({ outcome: "answered" });
  }
  expect(await home.answers()).toHaveLength(path.length);
  const back = servers.anthropic.requests.at(-1)?.body.toString() ?? "";
  expect(back).toContain(JSON.stringify(signed(THOUGHT)));
  expect(back).toContain("Gemini says so.");
  expect(back).toContain("Bedrock says so.");
  expect(back).not.toContain("c2VhbGVk");
  expect(back).not.toContain("c2lnbmVk");
  const asked = Object.values(servers).reduce((sum, server) => sum + server.requests.length, 0);
  expect(asked).toBe(2 * path.length);
}, 30_000);
