// A program that talks to a running server: say something, and follow what happens until it is answered.
import { createClient } from "longhand/client";

if (!process.env.LONGHAND_TOKEN) {
  console.error(
    "Set the token of the server first: LONGHAND_TOKEN=$(cat data/token) node examples/client.mjs",
  );
  process.exit(2);
}

const client = createClient({
  baseUrl: process.env.LONGHAND_URL ?? "http://127.0.0.1:7483",
  token: process.env.LONGHAND_TOKEN,
});

const answer = await client.submit("home", {
  content: "hello",
  msg_metadata: {
    source: "example",
    sender_id: "example:olivia",
    sender_display_name: "Olivia",
    sender_type: "human",
  },
});
console.log(`${answer.message_id} is number ${answer.seq}: ${answer.admission}`);

// From the beginning ("0"), across lost connections, every stored event once.
for await (const event of client.events({ chat: "home", after: "0" })) {
  if (event.type === "message" && event.message?.sender === "bot") console.log(event.message.content);
  if (event.type === "outcome" && event.message_id === answer.message_id) break;
}

const { outcome, call_ids } = await client.outcome("home", answer.message_id);
console.log(`${outcome} with ${call_ids.length} calls`);
