import type { Codec, Fetch } from "./codec.js";
import { demoAnswer } from "./demoAnswer.js";
import { openaiChat } from "./openaiChat.js";

/**
 * The demo model: offline, free, the same answer for the same request. It thinks, asks a tool (a `clock`, if there
 * is one), and then tells what it was sent. Its requests are spelled like Chat Completions, its answers too, and it
 * reads nothing but the bytes of the request.
 *
 * For tests and the curious: `/fail` in the last message makes it fail as an overloaded server would, `/long` makes
 * it talk for a while.
 */
export const demo: Codec = {
  encode: (model, request) => ({ ...openaiChat.encode(model, request), url: "demo:" }),
  decoder: openaiChat.decoder,
  decodeWhole: openaiChat.decodeWhole,
  transport: (model, { fetch }) => fetch ?? demoServer(model.delayMs),
};

/** The demo as a server one can fetch from. */
function demoServer(delayMs: number): Fetch {
  return async (_url, init) => {
    const answer = demoAnswer(String(init.body));
    if (answer.status !== 200) return Response.json(answer.body, { status: answer.status });
    const events = [...answer.chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"];
    return new Response(streamOf(events, delayMs), { headers: { "content-type": "text/event-stream" } });
  };
}

function streamOf(events: readonly string[], delayMs: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      const event = events[next++];
      if (event === undefined) controller.close();
      else controller.enqueue(encoder.encode(`data: ${event}\n\n`));
    },
  });
}
