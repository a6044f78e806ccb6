// A whole gateway in one file: a store in memory, the offline demo model, one question, one answer.
import { createGateway } from "longhand";
import { resolveModel } from "longhand/provider";
import { openMemory } from "longhand/store/memory";

const store = openMemory();
const gateway = createGateway({
  store,
  resolveModel: (name) => resolveModel(name, process.env),
  defaultModel: "demo/demo",
});
await gateway.start();

// `home` is there from the start. The answer comes once the message is durable.
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

// Follow the log from its beginning until our message has an outcome.
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

// Every call left a receipt with the exact bytes that were sent.
for (const call of await gateway.read.calls({ chat_jid: "home", turn_id: null, after: null, limit: 10 })) {
  const body = await gateway.request(call.id);
  console.log(`call ${call.status}: ${body?.length} bytes, sha256 ${call.request_sha256.slice(0, 12)}…`);
}

// Nothing runs any more, so there is nothing to wait for.
await gateway.stop(0);
await store.close();
