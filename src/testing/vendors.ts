import {
  anthropicStream,
  callBlock,
  messageEnd,
  messageStart,
  signed,
  startAnthropicServer,
  textBlock,
  thinkingBlock,
} from "./anthropicServer.js";
import {
  begins,
  called,
  ends,
  redacted,
  startBedrockServer,
  streaming,
  texts,
  thoughts,
} from "./bedrockServer.js";
import { chunk, eventStream, startChatCompletionsServer } from "./chatCompletionsServer.js";
import { geminiChunk, geminiStream, startGeminiServer } from "./geminiServer.js";
import type { ModelServer, ServerLimits } from "./modelServer.js";
import { eventsOf, responseStream, startOpenaiResponsesServer, USAGE } from "./openaiResponsesServer.js";
import type { ReceivedRequest, ServerScript } from "./scriptedServer.js";

/** What a model does with a request: some thinking, then tools, or words. */
export type Wish = { thinks: boolean; tools: number; words: string };
/** Each answer of a run has a number, so that no two ids are alike; `tokens` is what the request is told to be. */
type Asked = Wish & { number: number; tokens: number };

/** One vendor's server, as strict as the vendor's, and the model it is asked for. */
export type Vendor = { model: string; server: ModelServer };

const THOUGHT = "What did they mean?";

/**
 * A server of each vendor whose API we speak. They keep every byte they are sent, refuse what the vendor would refuse,
 * and otherwise do what `wish` says.
 */
export async function startVendors(
  wish: (body: string) => Wish,
  limits: ServerLimits,
): Promise<{ vendors: Vendor[]; env: Record<string, string>; close(): Promise<void> }> {
  const anthropic = await startAnthropicServer({
    ...limits,
    verify: (thinking, signature) => signed(thinking) === signature,
  });
  const responses = await startOpenaiResponsesServer({ ...limits, reasons: true });
  const gemini = await startGeminiServer({ ...limits, third: true });
  const chat = await startChatCompletionsServer({ ...limits, systemOnlyFirst: true });
  const bedrock = await startBedrockServer(limits);
  const vendors: (Vendor & { spell: (asked: Asked) => ServerScript })[] = [
    { model: "anthropic/claude-opus-5", server: anthropic, spell: spellAnthropic },
    { model: "openai-responses/gpt-5", server: responses, spell: spellResponses },
    { model: "google/gemini-3-pro", server: gemini, spell: spellGemini },
    { model: "ollama/local", server: chat, spell: spellChat },
    { model: "bedrock/anthropic.claude-opus-5", server: bedrock, spell: spellBedrock },
  ];
  let number = 0;
  for (const { server, spell } of vendors) {
    answering(server, ({ body }) => {
      number++;
      return spell({ ...wish(body.toString("utf8")), number, tokens: Math.ceil(body.length / 4) });
    });
  }
  return {
    vendors,
    env: {
      ANTHROPIC_BASE_URL: anthropic.baseUrl,
      OPENAI_BASE_URL: responses.baseUrl,
      GEMINI_BASE_URL: gemini.baseUrl,
      OLLAMA_BASE_URL: chat.baseUrl,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: bedrock.baseUrl,
      AWS_BEARER_TOKEN_BEDROCK: "any",
      AWS_REGION: "us-east-1",
    },
    close: async () => {
      await Promise.all(vendors.map(({ server }) => server.close()));
    },
  };
}

/** From now on the server looks at what it is asked. */
function answering(server: ModelServer, answer: (request: ReceivedRequest) => ServerScript): void {
  Object.defineProperty(server, "script", {
    get: () => {
      const last = server.requests.at(-1);
      if (!last) throw new Error("nothing was asked");
      return answer(last);
    },
  });
}

function toolIds({ tools, number }: Asked): string[] {
  return Array.from({ length: tools }, (_, index) => `${number}_${index}`);
}

function spellAnthropic(asked: Asked): ServerScript {
  const { thinks, tools, words, tokens, number } = asked;
  const first = thinks ? 1 : 0;
  const calls = toolIds(asked).flatMap((id, index) =>
    callBlock(first + 1 + index, `toolu_${id}`, "clock", "{}"),
  );
  const events = [
    messageStart({ input_tokens: tokens, output_tokens: 1 }),
    ...(thinks ? thinkingBlock(0, THOUGHT, ` ${number}`) : []),
    ...textBlock(first, ...inWords(words)),
    ...calls,
    ...messageEnd(tools > 0 ? "tool_use" : "end_turn"),
  ];
  return { body: anthropicStream(events) };
}

function spellResponses(asked: Asked): ServerScript {
  const { thinks, tools, words, number, tokens } = asked;
  const reasoning = {
    type: "reasoning",
    id: `rs_${number}`,
    summary: [{ type: "summary_text", text: THOUGHT }],
    encrypted_content: Buffer.from(`sealed ${number}`).toString("base64"),
  };
  const calls = toolIds(asked).map((id) => ({
    type: "function_call",
    id: `fc_${id}`,
    call_id: `call_${id}`,
    name: "clock",
    arguments: "{}",
    status: "completed",
  }));
  const message = {
    type: "message",
    id: `msg_${number}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: words, annotations: [] }],
  };
  const output = [...(thinks ? [reasoning] : []), ...(tools > 0 ? calls : [message])];
  const usage = { ...USAGE, input_tokens: tokens, total_tokens: tokens + 40 };
  return { body: responseStream(eventsOf(output, { usage })) };
}

function spellGemini(asked: Asked): ServerScript {
  const { thinks, tools, words, number, tokens } = asked;
  const thoughtSignature = Buffer.from(`signed ${number}`).toString("base64");
  const calls = toolIds(asked).map((id, index) => ({
    functionCall: { id, name: "clock", args: {} },
    ...(index === 0 ? { thoughtSignature } : {}),
  }));
  const usage = { promptTokenCount: tokens, candidatesTokenCount: 4, totalTokenCount: tokens + 4 };
  const chunks = [
    ...(thinks ? [geminiChunk([{ text: THOUGHT, thought: true }])] : []),
    ...(tools > 0 ? [geminiChunk(calls)] : inWords(words).map((text) => geminiChunk([{ text }]))),
    geminiChunk([], "STOP", usage),
  ];
  return { body: geminiStream(chunks) };
}

function spellChat(asked: Asked): ServerScript {
  const { thinks, tools, words, tokens } = asked;
  const calls = toolIds(asked).map((id, index) => ({
    index,
    id: `call_${id}`,
    type: "function",
    function: { name: "clock", arguments: "{}" },
  }));
  const usage = { prompt_tokens: tokens, completion_tokens: 4, total_tokens: tokens + 4 };
  return {
    body: eventStream([
      ...(thinks ? [chunk({ reasoning_content: THOUGHT })] : []),
      ...(tools > 0 ? [chunk({ tool_calls: calls })] : inWords(words).map((content) => chunk({ content }))),
      chunk({}, tools > 0 ? "tool_calls" : "stop"),
      { choices: [], usage },
    ]),
  };
}

function spellBedrock(asked: Asked): ServerScript {
  const { thinks, tools, words, number, tokens } = asked;
  const first = thinks ? 2 : 0;
  const calls = toolIds(asked).flatMap((id, index) => called(first + index, `tooluse_${id}`, "clock", "{}"));
  const usage = { inputTokens: tokens, outputTokens: 4, totalTokens: tokens + 4 };
  return streaming([
    begins,
    ...(thinks ? [...thoughts(0, THOUGHT, ` ${number}`), ...redacted(1, `sealed ${number}`)] : []),
    ...(tools > 0 ? calls : texts(first, ...inWords(words))),
    ...ends(tools > 0 ? "tool_use" : "end_turn", usage),
  ]);
}

function inWords(words: string): string[] {
  return words.split(/(?<= )/);
}
