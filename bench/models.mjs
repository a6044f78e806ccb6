import { createServer } from "node:http";

/**
 * A model server in a process of its own. `quick` answers at once, `slow` after a while, `digger` asks for a tool that
 * never ends, `failing` fails and `hanging` says nothing. It also takes webhooks: `/hook` at once, `/dead` never.
 */

const SLOW_MS = 200;

const server = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  if (request.url === "/dead") return;
  if (request.url === "/hook") return response.end("{}");
  const { model } = JSON.parse(Buffer.concat(pieces).toString("utf8"));
  switch (model) {
    case "quick":
      return stream(response, words("Yes, I have read it."));
    case "slow":
      return setTimeout(() => stream(response, words("After a while: yes.")), SLOW_MS);
    case "digger":
      return stream(response, [
        chunk({ tool_calls: [{ index: 0, id: "call_1", function: { name: "dig", arguments: "{}" } }] }),
        chunk({}, "tool_calls"),
      ]);
    case "failing":
      response.statusCode = 500;
      return response.end('{"error":{"message":"out of order"}}');
    case "hanging":
      return;
  }
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
process.on("SIGTERM", () => process.exit(0));

const words = (text) => [chunk({ role: "assistant", content: text }), chunk({}, "stop")];

function chunk(delta, finish_reason = null) {
  return { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] };
}

function stream(response, chunks) {
  response.setHeader("content-type", "text/event-stream");
  const events = chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`);
  response.end(`${events.join("")}data: [DONE]\n\n`);
}
