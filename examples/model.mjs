// One call to a model, without chats or a store: what would be sent, then the answer as it comes.
import { UserMessage } from "longhand/message";
import { call, encode, model } from "longhand/provider";

// Another server: model({ api: "openai-chat", id: "llama3.2", baseUrl: "http://127.0.0.1:11434/v1" })
const demo = model({ api: "demo", id: "demo", delayMs: 0 });
const request = {
  system: "You answer in one sentence.",
  messages: [UserMessage.text("[Olivia]: are we still on for tomorrow?")],
};

// Pure: the same request gives the same bytes. The blocks, put together, are the body.
const { body, blocks } = encode(demo, request);
console.log(`${body.length} characters in ${blocks.length} blocks`);
for (const { kind, text } of blocks) if (kind !== "frame") console.log(`  ${kind}: ${text}`);

// Never throws: an answer that failed is a message too, with `stopReason` and `errorKind`.
for await (const event of call(demo, request)) {
  if (event.type === "text") process.stdout.write(event.delta);
  if (event.type === "done")
    console.log(`\n${event.message.stopReason}, ${event.message.usage.outputTokens} tokens`);
}
