// Rows stored and read directly, as an importer or a command runner would, and what a model would read of them.
import { createGateway } from "longhand";
import { formatMessagesForSdk } from "longhand/context";
import { resolveModel } from "longhand/provider";
import { openMemory } from "longhand/store/memory";

// Never started, so nothing is answered: this only writes and reads.
const gateway = createGateway({
  store: openMemory(),
  resolveModel: (name) => resolveModel(name, process.env),
  defaultModel: "demo/demo",
});
await gateway.registerChat({ jid: "family" });

const chat_jid = "family";
const timestamp = "2026-11-15T09:12:00.000Z";
await gateway.storeMessageDirect({
  id: "host-123",
  chat_jid,
  sender: "host",
  sender_name: "host",
  content: "The assistant was restarted",
  timestamp,
  message_type: "host",
});
await gateway.storeMessageDirect({
  id: "cmd-123",
  chat_jid,
  sender: "command_output",
  sender_name: "command",
  content: "3 files changed",
  timestamp,
  message_type: "tool_result",
  metadata: { exit_code: 0 },
});

const rows = await gateway.getMessagesSince("family", 0);
console.log(`stored: ${rows.map(({ seq, id }) => `${seq} ${id}`).join(", ")}`);
for (const { role, contents } of formatMessagesForSdk(rows)) console.log(role, contents);
