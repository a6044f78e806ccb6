import { havePeers, peer } from "./peers.mjs";

/**
 * The same conversation in the words of each other package, made before the clock starts, and how each is asked to send
 * it to Anthropic. Thinking goes back signed where a package can do that.
 */

/**
 * @param {{ system: string, messages: any[], tools: any[] }} request
 * @param {{ id: string }} model
 * @param {(step: string) => void} progress
 * @returns {Promise<{ name: string, ask: (fetch: typeof globalThis.fetch) => unknown }[]>}
 */
export async function encodePeers(request, model, progress) {
  if (!havePeers(progress)) return [];
  return [await aiSdk(request, model), await piAi(request, model), await langChain(request, model)];
}

const textOf = (contents) => contents.map((one) => one.content ?? "").join("");

async function aiSdk({ system, messages, tools }, { id }) {
  const { createAnthropic } = await peer("@ai-sdk/anthropic");
  const names = namesOf(messages);
  const said = (one) => {
    switch (one.type) {
      case "text":
        return { type: "text", text: one.content };
      case "image":
        return { type: "file", mediaType: "image/png", data: new URL(one.images[0]) };
      case "thinking":
        return {
          type: "reasoning",
          text: one.content,
          providerOptions: { anthropic: { signature: one.signature } },
        };
      case "tool_call":
        return { type: "tool-call", toolCallId: one.id, toolName: one.name, input: one.args };
      case "tool_result":
        return {
          type: "tool-result",
          toolCallId: one.id,
          toolName: names.get(one.id),
          output: { type: one.isError ? "error-text" : "text", value: one.content },
        };
    }
  };
  const prompt = [
    { role: "system", content: system },
    ...messages.map(({ role, contents }) => ({ role, content: contents.map(said) })),
  ];
  const listed = tools.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    inputSchema: parameters,
  }));
  return {
    name: "AI SDK",
    ask: (fetch) =>
      createAnthropic({ apiKey: "none", fetch })(id)
        .doStream({ prompt, tools: listed, maxOutputTokens: 32_000 })
        .catch(() => undefined),
  };
}

async function piAi({ system, messages, tools }, { id }) {
  const { normalizeContext } = await peer("@earendil-works/pi-ai");
  const { stream } = await peer("@earendil-works/pi-ai/api/anthropic-messages");
  const names = namesOf(messages);
  const none = {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  const said = (one) => {
    switch (one.type) {
      case "thinking":
        return { type: "thinking", thinking: one.content, thinkingSignature: one.signature };
      case "tool_call":
        return { type: "toolCall", id: one.id, name: one.name, arguments: one.args };
      default:
        return { type: "text", text: one.content };
    }
  };
  const theirs = messages.flatMap((message) => {
    switch (message.role) {
      case "user":
        return [{ role: "user", content: textOf(message.contents), timestamp: 0 }];
      case "assistant": {
        const stopReason = message.stopReason === "tool_use" ? "toolUse" : "stop";
        const content = message.contents.map(said);
        return [
          {
            role: "assistant",
            content,
            api: "anthropic-messages",
            provider: "anthropic",
            model: id,
            usage: none,
            stopReason,
            timestamp: 0,
          },
        ];
      }
      default:
        return message.contents.map((one) => ({
          role: "toolResult",
          toolCallId: one.id,
          toolName: names.get(one.id),
          content: [{ type: "text", text: one.content }],
          isError: one.isError,
          timestamp: 0,
        }));
    }
  });
  const model = {
    id,
    name: id,
    api: "anthropic-messages",
    provider: "anthropic",
    baseUrl: "https://api.anthropic.com",
    reasoning: true,
    input: ["text", "image"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 32_000,
  };
  const context = { systemPrompt: system, messages: theirs, tools };
  return {
    name: "pi-ai",
    ask: (fetch) => void stream(model, normalizeContext(context), { apiKey: "none", fetch, maxRetries: 0 }),
  };
}

async function langChain({ system, messages, tools }, { id }) {
  const { ChatAnthropic } = await peer("@langchain/anthropic");
  const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = await peer("@langchain/core/messages");
  const said = (one) =>
    one.type === "thinking"
      ? { type: "thinking", thinking: one.content, signature: one.signature }
      : { type: "text", text: one.content };
  const theirs = messages.flatMap(({ role, contents }) => {
    switch (role) {
      case "user":
        return [new HumanMessage(textOf(contents))];
      case "assistant": {
        const calls = contents.filter(({ type }) => type === "tool_call");
        const content = contents.filter(({ type }) => type !== "tool_call").map(said);
        return [
          new AIMessage({
            content,
            tool_calls: calls.map((call) => ({
              id: call.id,
              name: call.name,
              args: call.args,
              type: "tool_call",
            })),
          }),
        ];
      }
      default:
        return contents.map(
          (one) =>
            new ToolMessage({
              content: one.content,
              tool_call_id: one.id,
              status: one.isError ? "error" : "success",
            }),
        );
    }
  });
  const listed = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  const all = [new SystemMessage(system), ...theirs];
  return {
    name: "LangChain.js",
    ask: (fetch) =>
      new ChatAnthropic({
        apiKey: "none",
        model: id,
        maxTokens: 32_000,
        maxRetries: 0,
        clientOptions: { fetch, maxRetries: 0 },
      })
        .bindTools(listed)
        .stream(all)
        .catch(() => undefined),
  };
}

function namesOf(messages) {
  return new Map(
    messages.flatMap(({ contents }) =>
      contents.filter(({ type }) => type === "tool_call").map(({ id, name }) => [id, name]),
    ),
  );
}
