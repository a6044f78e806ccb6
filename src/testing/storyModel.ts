import { setTimeout } from "node:timers/promises";
import { chunk } from "./chatCompletionsServer.js";
import { brokenRules } from "./chatCompletionsRules.js";

type WireMessage = { role: string; content: unknown };

const HOLD_MS = 100;

/**
 * A model for stories about crashes. It answers the last thing a person said, with that person's words in it, so that
 * an answer given twice is found; `plan` makes it call two tools first, `slowly` makes it pause in the middle, `length` makes it run out of room in a call.
 */
export class StoryModel {
  readonly bodies: string[] = [];

  /** What no request may look like, of all requests so far. */
  problems(): string[] {
    return this.bodies.flatMap((body) => [...brokenRules(body), ...askedAgain(messagesOf(body))]);
  }

  /** The lines of a stream, piece by piece. */
  async *answer(body: string, signal?: AbortSignal): AsyncGenerator<string> {
    this.bodies.push(body);
    const messages = messagesOf(body);
    for await (const piece of pieces(messages, signal)) yield `data: ${JSON.stringify(piece)}\n\n`;
    yield "data: [DONE]\n\n";
  }

  /** The model without a network between. */
  readonly fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const lines = this.answer(String(init.body), init.signal ?? undefined);
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const next = await lines.next();
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(next.value));
        // A turn of the event loop between two pieces, as a network has it.
        await setTimeout(1);
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

function messagesOf(body: string): WireMessage[] {
  return (JSON.parse(body) as { messages: WireMessage[] }).messages;
}

/** A request that ends with an answer asks for the same answer once more. */
function askedAgain(messages: readonly WireMessage[]): string[] {
  const last = messages.at(-1)?.role ?? "nobody";
  return last === "user" || last === "tool" ? [] : [`the last word of a request is ${last}'s`];
}

/** What a person said last, without the lines that say who speaks and when. */
function lastWords(messages: readonly WireMessage[]): string {
  const text = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? "");
  return /\]: ([^"\\]*)[^\]]*$/.exec(text)?.[1] ?? text;
}

async function* pieces(messages: readonly WireMessage[], signal?: AbortSignal): AsyncGenerator<unknown> {
  const words = lastWords(messages);
  if (words.includes("plan") && messages.at(-1)?.role === "user") {
    yield* ["Let me ", "look into ", "that. "].map((content) => chunk({ content }));
    yield chunk({ tool_calls: [toolCall(0, "look", messages.length), toolCall(1, "book", messages.length)] });
    yield chunk({}, "tool_calls");
  } else {
    yield* ["The answer ", "to "].map((content) => chunk({ content }));
    if (words.includes("slowly")) await setTimeout(HOLD_MS, null, signal ? { signal } : {}).catch(() => null);
    yield chunk({ content: `${words} is yes.` });
    if (words.includes("length"))
      yield chunk({ tool_calls: [toolCall(0, "book", messages.length)] }, "length");
    else yield chunk({}, "stop");
  }
  yield { choices: [], usage: { prompt_tokens: 10 * messages.length, completion_tokens: 7 } };
}

function toolCall(index: number, name: string, count: number): Record<string, unknown> {
  return { index, id: `${name}_${count}`, type: "function", function: { name, arguments: "{}" } };
}
