// A program that only talks to models: nothing of Longhand but its words and its providers.
//   OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=llama3.2 node examples/alone.mjs
import { setTimeout } from "node:timers/promises";
import { AssistantMessage, UserMessage } from "longhand/message";
import { call, isRetryable, model } from "longhand/provider";

/**
 * One answer: its words as they come, then the whole message. An answer that failed is a message too.
 * @param {import("longhand/provider").Model} on
 * @param {import("longhand/message").LLMMessage[]} messages
 * @param {AbortSignal} signal
 */
async function ask(on, messages, signal) {
  for (let attempt = 1; ; attempt++) {
    for await (const event of call(on, { system: "Be brief.", messages }, { signal })) {
      if (event.type === "text") process.stdout.write(event.delta);
      if (event.type !== "done") continue;
      const { stopReason, errorKind, error } = event.message;
      process.stdout.write(
        `\n  ${on.provider}: ${stopReason}${errorKind ? ` (${errorKind}: ${error})` : ""}\n`,
      );
      if (attempt === 3 || !errorKind || !isRetryable(errorKind)) return event.message;
      await setTimeout(event.retryAfterMs ?? 1000 * attempt, null, { signal });
    }
  }
}

const {
  OPENAI_BASE_URL = "http://127.0.0.1:11434/v1",
  OPENAI_MODEL = "llama3.2",
  ANTHROPIC_BASE_URL,
} = process.env;
const first = model({ api: "openai-chat", id: OPENAI_MODEL, baseUrl: OPENAI_BASE_URL });
const second = ANTHROPIC_BASE_URL
  ? model({ api: "anthropic", id: "claude-sonnet-5", baseUrl: ANTHROPIC_BASE_URL, apiKey: "any" })
  : first;

// A minute for everything; whoever stops a call gets what had come, as an answer that was `aborted`.
const signal = AbortSignal.timeout(60_000);
const history = [UserMessage.text("What is the capital of France?")];
const answer = await ask(first, history, signal);

// The same history, for another model: it is made to fit, whoever wrote it.
const rest = await ask(second, [...history, answer, UserMessage.text("And of Spain?")], signal);
console.log(`${AssistantMessage.textContent(rest).length} characters, ${rest.usage.outputTokens} tokens`);
