// A chat whose model is a language model of the AI SDK. Any of its providers will do; this one asks a strict server of
// `longhand/testing`, so that the example needs no key and no network.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createGateway } from "longhand";
import { aiSdkModel, resolveModel } from "longhand/provider";
import { openMemory } from "longhand/store/memory";
import { startChatCompletionsServer } from "longhand/testing";

const server = await startChatCompletionsServer();
server.next({ do: "call", name: "clock" }, { do: "say", text: "It is late." });

// Once, where the program starts: names that begin with `local/` mean models of this provider.
const local = createOpenAICompatible({ name: "local", baseURL: server.baseUrl, includeUsage: true });
const store = openMemory();
const gateway = createGateway({
  store,
  defaultModel: "local/any",
  resolveModel: (name) =>
    name.startsWith("local/")
      ? { ok: true, model: aiSdkModel(local(name.slice("local/".length)), { provider: "local" }) }
      : resolveModel(name, process.env),
});
await gateway.start();

const result = await gateway.submitChat("home", {
  content: "what time is it?",
  msg_metadata: {
    source: "example",
    sender_id: "example:olivia",
    sender_display_name: "Olivia",
    sender_type: "human",
  },
});
if (result.status !== "stored") throw new Error(`not stored: ${result.status}`);

const answered = new AbortController();
await gateway.events.stream({
  after: null,
  chatJid: "home",
  signal: answered.signal,
  drained: async () => {},
  push({ type, data }) {
    const event = JSON.parse(data);
    if (type === "message") console.log(`${event.message.sender}: ${event.message.content}`);
    if (type === "outcome" && event.message_id === result.answer.message_id) answered.abort();
  },
});

// The receipt shows what the language model was handed, word for word.
for (const call of await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 10 })) {
  const { prompt } = JSON.parse(String(await gateway.request(call.id)));
  const roles = prompt.map((/** @type {{ role: string }} */ { role }) => role);
  console.log(`${call.provider}, ${call.api}: ${roles.join(" ")}`);
}

await gateway.stop(0);
await store.close();
await server.close();
