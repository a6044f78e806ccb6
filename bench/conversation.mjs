/** Somebody asks, and a model without a network between answers: for rows that need a chat that has really happened. */

const QUESTION =
  "I looked at the figures again, and the ones from the north still do not add up. Can you tell me what you make of it? ";
const ANSWER =
  "The northern figures leave out the two weeks of the strike, so the sums differ by about four percent. Add them, and it fits. ";

/** One question, of a length that differs from turn to turn, until it is answered. */
export async function ask(gateway, jid, turn) {
  const result = await gateway.submitChat(jid, {
    content: `${turn}: ${QUESTION.repeat(1 + (turn % 3))}`,
    msg_metadata: {
      source: "slack",
      sender_id: `slack:U${turn % 5}`,
      sender_display_name: `Person ${turn % 5}`,
      sender_type: "human",
    },
  });
  if (result.status !== "stored") throw new Error(`the message was answered ${JSON.stringify(result)}`);
  for (;;) {
    const { outcome } = await gateway.read.inbound(jid, result.answer.message_id);
    if (outcome === "answered") return;
    if (outcome !== "pending") throw new Error(`the turn ended ${outcome}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A model that calls the clock now and then, and how often it was asked. @param {number} toolEvery */
export function answering(toolEvery) {
  let calls = 0;
  return {
    model: { api: "openai-chat", id: "bench", baseUrl: "http://127.0.0.1:1/v1" },
    calls: () => calls,
    /** @param {string} _url @param {{ body: string }} request */
    fetch: async (_url, request) => {
      calls++;
      const isSummary = request.body.includes("You write summaries");
      const usesTool = !isSummary && calls % (toolEvery + 1) === 0;
      const words = `${calls}: ${ANSWER.repeat(1 + (calls % 3))}`;
      const body = chatEvents(usesTool ? null : words, `call_${calls}`);
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  };
}

function chatEvents(words, id) {
  const chunk = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
  const call = { index: 0, id, type: "function", function: { name: "clock", arguments: "{}" } };
  const chunks =
    words === null
      ? [chunk({ tool_calls: [call] }), chunk({}, "tool_calls")]
      : [chunk({ content: words }), chunk({}, "stop")];
  const usage = { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 40 } };
  return `${[...chunks, usage].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")}data: [DONE]\n\n`;
}
