// A tool and a notice of one's own. The tool's result ends the turn, so the model is called once.
import { createGateway } from "longhand";
import { resolveModel } from "longhand/provider";
import { openMemory } from "longhand/store/memory";

/** @type {import("longhand/agent").Tool} */
const bell = {
  name: "ring_bell",
  description: "Rings the bell in the kitchen.",
  parameters: { type: "object", properties: {}, additionalProperties: false },
  // A tool that is not repeatable never runs twice for one call, not even after a crash.
  repeatable: false,
  async run(_args, { chat_jid }) {
    return { content: `the bell rang for ${chat_jid}`, terminate: true };
  },
};

const store = openMemory();
const gateway = createGateway({
  store,
  resolveModel: (name) => resolveModel(name, process.env),
  defaultModel: "demo/demo",
  tools: [bell],
  // Asked at the start of each turn; seen by the model in that turn only, and never a message.
  notices: async () => [{ id: "oven", text: "The oven is on." }],
});
await gateway.start();

const result = await gateway.submitChat("home", {
  content: "call everybody to dinner",
  msg_metadata: {
    source: "example",
    sender_id: "example:olivia",
    sender_display_name: "Olivia",
    sender_type: "human",
  },
});
if (result.status !== "stored") throw new Error(`not stored: ${result.status}`);

let outcome = await gateway.outcome("home", result.answer.message_id);
while (outcome?.outcome === "pending") {
  await new Promise((resolve) => setTimeout(resolve, 10));
  outcome = await gateway.outcome("home", result.answer.message_id);
}
for (const { sender, content } of await gateway.getMessagesSince("home", 0))
  console.log(`${sender}: ${content}`);

const body = Buffer.from((await gateway.request(outcome?.call_ids[0] ?? "")) ?? "").toString();
console.log(
  `${outcome?.outcome} with ${outcome?.call_ids.length} call; notice seen: ${body.includes("The oven is on.")}`,
);

await gateway.stop(0);
await store.close();
