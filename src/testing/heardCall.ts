import type { AssistantMessage } from "../message/index.js";
import type { ModelEvent } from "../provider/codec.js";

/** All that came of a call. */
export type Heard = { events: ModelEvent[]; message: AssistantMessage; retryAfterMs: number | null };

/** Listens to a call until its last event, which has to be `done`, and the only one that is. */
export async function hear(stream: AsyncIterable<ModelEvent>): Promise<Heard> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const last = events.at(-1);
  const ends = events.filter((event) => event.type === "done").length;
  if (last?.type !== "done" || ends !== 1) throw new Error("the stream did not end with one done");
  return { events, message: last.message, retryAfterMs: last.retryAfterMs };
}

/** The words of one kind, as they streamed. */
export function wordsOf(events: readonly ModelEvent[], type: "text" | "thinking" = "text"): string {
  return events.flatMap((event) => (event.type === type ? [event.delta] : [])).join("");
}
