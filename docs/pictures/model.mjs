import { createServer } from "node:http";

/** What the stand-in says to the last thing it reads; the last line fits everything. */
const ANSWERS = [
  [
    /Summarise|summary of|summaris/i,
    "Olivia and Ash are planning a weekend at the lake. Saturday, by train at 9:40. They want a cabin with a stove. Ash brings the tent poles.",
  ],
  [/book a table/, "Done: a table for **four**, Friday at 19:00, at Lotta's."],
  [
    /what should we eat/i,
    "Pancakes over the fire, then. I'd bring:\n\n- flour, eggs and milk\n- butter\n- a jar of jam",
  ],
  [/something warm/i, "A bean stew keeps well and warms everybody. Two tins of beans, an onion, paprika."],
  [/cabin/, "There are two with a stove by the north shore; the smaller one is free that weekend."],
  [/train/, "The 9:40 gets you there at 11:15, with one change."],
  [/./s, "Noted."],
];

/** A stand-in for Anthropic's server, enough of it for pictures. */
export async function startModel() {
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(404).end();
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces).toString();
    const { messages, model } = JSON.parse(body);
    const said = JSON.stringify(messages.at(-1));
    const text = ANSWERS.find(([asked]) => asked.test(said))?.[1] ?? "";
    const answer = model.includes("haiku") ? text.replace(/^(.*?[.:]).*$/s, "$1") : text;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of eventsOf(answer, model, Math.round(body.length / 3.6))) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function eventsOf(text, model, tokens) {
  const output_tokens = Math.round(text.length / 4);
  const usage = { input_tokens: tokens, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], usage };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { output_tokens },
    },
    { type: "message_stop" },
  ];
}
